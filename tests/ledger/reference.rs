//! The slow, obvious counter: all rows of all files in memory, judged against each other by the rules as
//! they are written down. It shares no code with the ledger.

use crate::json::{Json, read};
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// A transcript: its path below the home, whose it is, and its bytes.
#[derive(Debug, Clone, Default)]
pub struct File {
    pub path: String,
    pub worker: String,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq)]
struct Row {
    id: Option<String>,
    reference: Option<String>,
    output: u64,
    input: u64,
    cache_creation: u64,
    one_hour: u64,
    cache_read: u64,
    sidechain: bool,
    at: i64,
    uuid: String,
    session: String,
    model: String,
    project: String,
}

/// A count, or nothing where the row is broken.
fn count(value: Option<&Json>) -> Option<u64> {
    match value {
        None | Some(Json::Null) => Some(0),
        Some(Json::Number(text)) => {
            let number = text.parse::<u64>().ok().or_else(|| {
                let float: f64 = text.parse().ok()?;
                (float >= 0.0 && float.fract() == 0.0 && float < 2e18).then_some(float as u64)
            })?;
            (number < 1 << 40).then_some(number)
        }
        Some(_) => None,
    }
}

fn row(line: &[u8], file: &File) -> Option<Row> {
    let line = read(line)?;
    if line.get("type")?.text()? != "assistant" {
        return None;
    }
    let message = line.get("message")?;
    let usage = message.get("usage")?;
    let names = ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    if names.iter().all(|name| matches!(usage.get(name), None | Some(Json::Null))) {
        return None;
    }
    let [input, output, cache_creation, cache_read] = names.map(|name| count(usage.get(name)));
    let one_hour = match usage.get("cache_creation") {
        Some(breakdown @ Json::Object(_)) => count(breakdown.get("ephemeral_1h_input_tokens"))?,
        _ => 0,
    };
    let model = message.get("model").and_then(Json::text).unwrap_or_default().to_owned();
    let text = |name: &str| line.get(name).and_then(Json::text).map(str::to_owned);
    let parts: Vec<&str> = file.path.split('/').collect();
    let folder = match parts.iter().position(|part| *part == "subagents") {
        Some(at) => parts[at - 1].to_owned(),
        None => parts[parts.len() - 1].trim_end_matches(".jsonl").to_owned(),
    };
    let projects = parts.iter().position(|part| *part == "projects")?;
    let time = text("timestamp").and_then(|text| text.parse::<jiff::Timestamp>().ok());
    let row = Row {
        id: message.get("id").and_then(Json::text).map(str::to_owned),
        reference: text("requestRef"),
        output: output?,
        input: input?,
        cache_creation: cache_creation?,
        one_hour,
        cache_read: cache_read?,
        sidechain: line.get("isSidechain") == Some(&Json::Bool(true)),
        at: time.map_or(0, jiff::Timestamp::as_millisecond),
        uuid: text("uuid").unwrap_or_default(),
        session: text("requestSessionId").or_else(|| text("sessionId")).unwrap_or(folder),
        model,
        project: text("cwd").unwrap_or_else(|| parts[projects + 1].to_owned()),
    };
    (row.model != "<synthetic>").then_some(row)
}

/// `Less` when `a` wins.
fn rank(a: &Row, b: &Row) -> Ordering {
    let known = |at: i64| if at == 0 { i64::MAX } else { at };
    // The ledger keeps sixteen letters of a uuid that is not spelled like one.
    let uuid = |row: &Row| {
        let usual = row.uuid.len() == 36
            && row.uuid.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            });
        let length = if usual { 36 } else { 16.min(row.uuid.len()) };
        row.uuid.as_bytes()[..length].to_vec()
    };
    let numbers = |row: &Row| (row.input, row.output, row.cache_creation, row.one_hour, row.cache_read);
    let texts = |row: &Row| (row.session.clone(), row.model.clone(), row.project.clone());
    (b.output.cmp(&a.output))
        .then(a.sidechain.cmp(&b.sidechain))
        .then(known(a.at).cmp(&known(b.at)))
        .then(uuid(a).cmp(&uuid(b)))
        .then(numbers(a).cmp(&numbers(b)))
        .then(texts(a).cmp(&texts(b)))
}

fn best<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Option<&'a Row> {
    rows.into_iter().min_by(|a, b| rank(a, b))
}

/// The messages behind one id: the winner of each.
fn messages(rows: &[Row]) -> Vec<Row> {
    let mut parts: BTreeMap<(Option<&str>, u64), Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let input = if row.reference.is_some() { 0 } else { row.input };
        parts.entry((row.reference.as_deref(), input)).or_default().push(row);
    }
    let mut parts: Vec<Part<'_>> = parts.into_values().map(Part::of).collect();
    parts.sort_by_key(|part| (part.winner.at, part.winner.input));
    let kind = |on_main: bool, with_request: bool| {
        parts
            .iter()
            .filter(move |part| part.on_main == on_main && part.winner.reference.is_some() == with_request)
    };
    // Each request on the main chain is a message; a row without one belongs to the nearest that fits.
    let mut groups: Vec<Vec<&Part<'_>>> = kind(true, true).map(|part| vec![part]).collect();
    kind(true, false).for_each(|part| join(&mut groups, part));
    let is_constant = groups.len() > 1;
    for part in kind(false, true).chain(kind(false, false)) {
        if !is_constant && !groups.is_empty() {
            groups[0].push(part);
        } else if part.winner.reference.is_some() {
            groups.push(vec![part]);
        } else {
            join(&mut groups, part);
        }
    }
    groups.iter().filter_map(|group| best(group.iter().map(|part| part.winner)).cloned()).collect()
}

/// The rows of one id with one request, or without one and with the same input.
struct Part<'a> {
    winner: &'a Row,
    on_main: bool,
}

impl<'a> Part<'a> {
    fn of(rows: Vec<&'a Row>) -> Self {
        let on_main = rows.iter().any(|row| !row.sidechain);
        Self { winner: best(rows).expect("a part has a row"), on_main }
    }
}

fn join<'p, 'r>(groups: &mut Vec<Vec<&'p Part<'r>>>, part: &'p Part<'r>) {
    let mut nearest: Option<(i64, usize)> = None;
    for (at, group) in groups.iter().enumerate() {
        for other in group {
            let apart = (part.winner.at - other.winner.at).abs();
            if apart <= 180_000 || part.winner.input == other.winner.input {
                nearest = Some(nearest.map_or((apart, at), |near| near.min((apart, at))));
            }
        }
    }
    match nearest {
        Some((_, at)) => groups[at].push(part),
        None => groups.push(vec![part]),
    }
}

/// What is known of sessions and messages besides their transcripts.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The workers that the gateway's audit names for a session and a message's id.
    pub served: BTreeMap<(String, String), BTreeSet<String>>,
    /// The worker and the manager of a dispatched session.
    pub dispatched: BTreeMap<String, (String, String)>,
}

impl Known {
    /// Whose a message is: the dispatch record's word first, then the audit's if it names one worker, then the home's.
    fn worker(&self, row: &Row, home: String) -> (String, Option<String>) {
        if let Some((worker, manager)) = self.dispatched.get(&row.session) {
            return (worker.clone(), Some(manager.clone()));
        }
        let served = self.served.get(&(row.session.clone(), row.id.clone().unwrap_or_default()));
        match served.filter(|workers| workers.len() == 1).and_then(BTreeSet::first) {
            Some(worker) => (worker.clone(), Some(row.session.clone())),
            None => (home, None),
        }
    }
}

/// Counts everything there is in these files.
pub fn count_all(files: &[File]) -> Value {
    count_known(files, &Known::default())
}

/// The same with what is known besides.
pub fn count_known(files: &[File], known: &Known) -> Value {
    let mut ids: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut without: BTreeMap<String, Row> = BTreeMap::new();
    let mut holders: BTreeMap<String, String> = BTreeMap::new();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    // The manager before the workers, workers by name.
    let keep = |map: &mut BTreeMap<String, String>, session: &str, worker: &str| {
        let order = |worker: &str| (worker != "main", worker.to_owned());
        let old = map.entry(session.to_owned()).or_insert_with(|| worker.to_owned());
        if order(worker) < order(old) {
            worker.clone_into(old);
        }
    };
    for file in files {
        let parts: Vec<&str> = file.path.split('/').collect();
        let name = parts[parts.len() - 1].trim_end_matches(".jsonl");
        if parts[parts.len() - 3] == "projects" && !name.starts_with("agent-") {
            keep(&mut holders, name, &file.worker);
        }
        let bytes = file.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&file.bytes);
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        // What stands after the last line end is not written yet.
        lines.pop();
        for row in lines.into_iter().filter_map(|line| row(line, file)) {
            keep(&mut seen, &row.session, &file.worker);
            if let Some(id) = &row.id {
                ids.entry(id.clone()).or_default().push(row);
            } else {
                let old = without.entry(row.uuid.clone()).or_insert_with(|| row.clone());
                if rank(&row, old).is_lt() {
                    *old = row;
                }
            }
        }
    }
    let mut totals = [0; 6];
    let mut by: BTreeMap<&str, BTreeMap<String, u64>> = BTreeMap::new();
    for row in ids.values().flat_map(|rows| messages(rows)) {
        add(&mut totals, &row);
        let home = holders.get(&row.session).or_else(|| seen.get(&row.session)).cloned().unwrap_or_default();
        let (worker, manager) = known.worker(&row, home);
        let fresh = row.input + row.cache_creation + row.output;
        if let Some(manager) = manager {
            *by.entry("by_manager").or_default().entry(manager).or_default() += fresh;
        }
        let day = row.at.div_euclid(86_400_000).to_string();
        for (name, key) in [
            ("by_session", row.session),
            ("by_worker", worker),
            ("by_model", row.model),
            ("by_project", row.project),
            ("by_day", day),
        ] {
            *by.entry(name).or_default().entry(key).or_default() += fresh;
        }
    }
    let mut no_id = [0; 6];
    for row in without.values() {
        add(&mut no_id, row);
    }
    let mut all = json!({"totals": sum(totals), "no_id": sum(no_id)});
    for (name, sums) in by {
        all[name] = json!(sums);
    }
    all
}

fn add(total: &mut [u64; 6], row: &Row) {
    let counts = [1, row.input, row.output, row.cache_creation, row.cache_read];
    let fresh = row.input + row.output + row.cache_creation;
    for (sum, count) in total.iter_mut().zip(counts.into_iter().chain([fresh])) {
        *sum += count;
    }
}

fn sum([messages, input, output, cache_creation, cache_read, fresh]: [u64; 6]) -> Value {
    json!({
        "messages": messages, "input": input, "output": output, "cache_creation": cache_creation,
        "cache_read": cache_read, "fresh": fresh,
    })
}
