//! One transcript line read into a typed, borrowed row. Finding lines in a file is left to `scan`, judging
//! rows against each other to `winner`.

use super::json::{Cost, Line, Text};
use super::usage::Usage;
use jiff::Timestamp;
use serde::Deserialize;
use std::borrow::Cow;
use std::io::Read;

/// The model name of rows that Claude Code made up itself, such as API errors.
const SYNTHETIC: &str = "<synthetic>";

/// What a line turned out to be.
#[derive(Debug)]
pub enum Kind<'a> {
    /// An answer of a model, with what it used.
    Message(Row<'a>),
    /// What a process counted for its whole session.
    Cost(CostState<'a>),
    /// Harness text in the shape of an answer.
    Synthetic,
    /// A whole row that says nothing about tokens.
    Other,
    /// No whole JSON object, or one with impossible counts.
    Junk,
}

/// An assistant row with usage.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    /// `message.id`, the key of the message.
    pub id: Option<Cow<'a, str>>,
    /// The model that answered.
    pub model: Cow<'a, str>,
    /// The request the row belongs to; copies of the row keep it.
    pub request_ref: Option<Cow<'a, str>>,
    /// The session the request was made in, where the row names one.
    pub session: Option<Cow<'a, str>>,
    /// The session whose file holds this copy of a row of another session.
    pub forked: Option<Cow<'a, str>>,
    /// The working directory.
    pub cwd: Option<Cow<'a, str>>,
    /// The row's own id.
    pub uuid: Option<Cow<'a, str>>,
    /// Milliseconds since 1970, 0 where there is no readable time.
    pub at: i64,
    /// Off the main chain: a subagent or a side question.
    pub sidechain: bool,
    /// The row carries a stop reason.
    pub finished: bool,
    /// What the response used so far.
    pub usage: Usage,
}

/// A `cost-state` row: cumulative for its session, carried on by resume and by fork.
#[derive(Debug, Clone)]
pub struct CostState<'a> {
    /// The session it speaks of.
    pub session: Cow<'a, str>,
    /// All its models together.
    pub usage: Usage,
}

/// Reads lines, reusing its buffers from line to line.
#[derive(Default)]
pub struct Reader {
    copy: Vec<u8>,
    buffers: simd_json::Buffers,
}

impl Reader {
    /// Reads one line. simd-json works on a copy; what it refuses (such as a lone surrogate in text that
    /// nobody reads) is decided by serde_json on the line itself.
    pub fn read<'a>(&'a mut self, line: &'a [u8]) -> Kind<'a> {
        if line.trim_ascii_start().first() != Some(&b'{') {
            return Kind::Junk;
        }
        self.copy.clear();
        self.copy.extend_from_slice(line);
        match simd_json::serde::from_slice_with_buffers::<Line<'a>>(&mut self.copy, &mut self.buffers) {
            Ok(line) => kind(line),
            Err(_) => match serde_json::from_slice::<Line<'a>>(line) {
                Ok(line) => kind(line),
                // Bytes that are no text in a field that is read: read as every lenient reader shows them.
                Err(_) if std::str::from_utf8(line).is_err() => {
                    read_long(String::from_utf8_lossy(line).as_bytes())
                }
                Err(_) => Kind::Junk,
            },
        }
    }
}

/// Reads a line too long to be held, in bounded memory: strings that nobody reads are skipped as they come.
pub fn read_long(mut line: impl Read) -> Kind<'static> {
    let mut first = [b' '];
    while first.as_slice().trim_ascii().is_empty() {
        if line.read_exact(&mut first).is_err() {
            return Kind::Junk;
        }
    }
    if first != [b'{'] {
        return Kind::Junk;
    }
    let mut deserializer = serde_json::Deserializer::from_reader(first.as_slice().chain(line));
    let row = Line::<'static>::deserialize(&mut deserializer);
    match row.and_then(|row| deserializer.end().map(|()| row)) {
        Ok(row) => kind(row),
        Err(_) => Kind::Junk,
    }
}

/// Decides what a decoded line is.
fn kind(line: Line<'_>) -> Kind<'_> {
    match line.kind.0.as_deref() {
        Some("assistant") => message(line),
        Some("cost-state") => cost_state(line),
        _ => Kind::Other,
    }
}

fn message(line: Line<'_>) -> Kind<'_> {
    let tokens = line.message.usage;
    let known = [tokens.input.0, tokens.output.0, tokens.cache_creation.0, tokens.cache_read.0];
    if known.iter().all(Option::is_none) {
        return Kind::Other;
    }
    let model = line.message.model.0.unwrap_or_default();
    if model == SYNTHETIC {
        return Kind::Synthetic;
    }
    let usage = Usage {
        input: tokens.input.0.unwrap_or(0),
        output: tokens.output.0.unwrap_or(0),
        cache_creation: tokens.cache_creation.0.unwrap_or(0),
        cache_creation_1h: tokens.breakdown.one_hour.0.unwrap_or(0),
        cache_read: tokens.cache_read.0.unwrap_or(0),
    };
    let (own, request) = (filled(line.session), filled(line.request_session));
    let forked = own.clone().filter(|own| request.as_ref().is_some_and(|request| request != own));
    Kind::Message(Row {
        id: filled(line.message.id),
        model,
        request_ref: filled(line.request_ref),
        session: request.or(own),
        forked,
        cwd: filled(line.cwd),
        uuid: filled(line.uuid),
        at: line.timestamp.0.as_deref().map_or(0, milliseconds),
        sidechain: line.sidechain.0,
        finished: line.message.stop_reason.0,
        usage,
    })
}

fn cost_state(line: Line<'_>) -> Kind<'_> {
    let (Some(session), Some(Cost { input, output, cache_read, cache_creation, .. })) =
        (filled(line.session), line.model_usage.0)
    else {
        return Kind::Other;
    };
    let usage = Usage {
        input: input.0.unwrap_or(0),
        output: output.0.unwrap_or(0),
        cache_creation: cache_creation.0.unwrap_or(0),
        cache_creation_1h: 0,
        cache_read: cache_read.0.unwrap_or(0),
    };
    Kind::Cost(CostState { session, usage })
}

/// A text that says something.
fn filled(text: Text<'_>) -> Option<Cow<'_, str>> {
    text.0.filter(|text| !text.is_empty())
}

/// The time as a number; the usual spelling is read directly, every other one by the calendar library.
pub fn milliseconds(text: &str) -> i64 {
    usual(text.as_bytes())
        .or_else(|| text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond))
        .unwrap_or(0)
}

/// `2026-11-03T10:00:00.000Z`.
fn usual(text: &[u8]) -> Option<i64> {
    let [
        y0,
        y1,
        y2,
        y3,
        b'-',
        m0,
        m1,
        b'-',
        d0,
        d1,
        b'T',
        h0,
        h1,
        b':',
        n0,
        n1,
        b':',
        s0,
        s1,
        b'.',
        f0,
        f1,
        f2,
        b'Z',
    ] = text
    else {
        return None;
    };
    let number = |digits: &[&u8]| {
        digits.iter().try_fold(0_i64, |sum, digit| {
            digit.is_ascii_digit().then(|| sum * 10 + i64::from(**digit - b'0'))
        })
    };
    let (year, month, day) = (number(&[y0, y1, y2, y3])?, number(&[m0, m1])?, number(&[d0, d1])?);
    let (hour, minute, second) = (number(&[h0, h1])?, number(&[n0, n1])?, number(&[s0, s1])?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=28).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Days since 1970 with the year beginning in March, so that the leap day is its last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 719_469;
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + number(&[f0, f1, f2])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> String {
        let mut reader = Reader::default();
        let text = format!("{:?}", reader.read(line.as_bytes()));
        assert_eq!(text, format!("{:?}", read_long(line.as_bytes())), "the slow way differs");
        text
    }

    #[test]
    fn a_row_with_usage_is_a_message() {
        let text = read(
            r#"{"type":"assistant","message":{"id":"m","model":"x","stop_reason":null,"usage":{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":3,"cache_creation":{"ephemeral_1h_input_tokens":1}}},"sessionId":"s","requestSessionId":"r","timestamp":"1970-01-01T00:00:01.500Z"}"#,
        );
        assert!(text.starts_with("Message"), "{text}");
        assert!(text.contains(r#"session: Some("r")"#), "{text}");
        assert!(text.contains("at: 1500"), "{text}");
        assert!(text.contains("finished: false"), "{text}");
    }

    #[test]
    fn a_lone_surrogate_and_nulls_lose_nothing() {
        let text = read(
            r#"{"type":"assistant","message":{"id":"m","model":"x","content":[{"text":"cut \ud83d","input":{"id":null}}],"usage":{"output_tokens":2,"iterations":[{"model":null}]}}}"#,
        );
        assert!(text.contains("output: 2"), "{text}");
    }

    #[test]
    fn what_only_looks_like_a_message_is_none() {
        for (line, kind) in [
            (r#"{"type":"user","message":{"usage":{"output_tokens":2}}}"#, "Other"),
            (r#"{"type":"user","toolUseResult":{"usage":{"output_tokens":2}}}"#, "Other"),
            (r#"{"type":"assistant","message":{"usage":null}}"#, "Other"),
            (r#"{"type":"assistant","message":"usage"}"#, "Other"),
            (
                r#"{"type":"assistant","message":{"model":"<synthetic>","usage":{"output_tokens":0}}}"#,
                "Synthetic",
            ),
            (r#"[1,{"usage":{"input_tokens":5}}]"#, "Junk"),
            (r#"{"type":"assistant","message":{"usage":{"output_tokens":5"#, "Junk"),
            (r#"{"type":"assistant","message":{"usage":{"output_tokens":-5}}}"#, "Junk"),
            (r#"{"type":"assistant","message":{"usage":{"output_tokens":"5"}}}"#, "Junk"),
            (r#"{"type":"assistant","message":{"usage":{"output_tokens":99999999999999}}}"#, "Junk"),
            (r#"{"type":"assistant"}{"type":"user"}"#, "Junk"),
        ] {
            assert_eq!(read(line), kind, "{line}");
        }
    }

    #[test]
    fn a_cost_state_sums_its_models() {
        let text = read(
            r#"{"type":"cost-state","sessionId":"s","modelUsage":{"a":{"inputTokens":1,"outputTokens":2},"b":{"inputTokens":3,"cacheReadInputTokens":4,"costUSD":0.1}}}"#,
        );
        assert!(text.contains("input: 4, output: 2"), "{text}");
    }

    #[test]
    fn the_quick_clock_agrees_with_the_calendar() {
        for text in [
            "2026-11-03T10:00:00.000Z",
            "2024-02-28T23:59:59.999Z",
            "1970-01-01T00:00:00.000Z",
            "2100-03-01T00:00:00.001Z",
        ] {
            assert_eq!(
                usual(text.as_bytes()),
                Some(text.parse::<Timestamp>().unwrap().as_millisecond()),
                "{text}"
            );
        }
        assert_eq!(milliseconds("2024-02-29T00:00:00.000Z"), 1_709_164_800_000);
        assert_eq!(milliseconds("2024-02-29T01:00:00+01:00"), 1_709_164_800_000);
        assert_eq!(milliseconds("yesterday"), 0);
    }
}
