//! `mo-proxy audit`: what was asked of whom: shown, exported, verified. It reads the files; no gateway need run.

use std::path::PathBuf;

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use shared::args::{Flag, Matches};
use shared::audit_line::AuditLine;
use shared::clock::rfc3339;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::json_text;
use shared::table;
use shared::world::World;

use crate::observe::audit::query::{Query, each};
use crate::observe::audit::verify::verify;

/// The flags.
pub const FLAGS: &[Flag] = &[
    Flag { long: "json", value: "", about: "print JSON, one line a request" },
    Flag { long: "format", value: "FORMAT", about: "of an export: jsonl (default) or csv" },
    Flag { long: "last", value: "N", about: "the last N requests (default 20, 0: all)" },
    Flag { long: "since", value: "TIME", about: "from this day (2026-11-01) or time on" },
    Flag { long: "model", value: "M", about: "this model alone, asked for or used" },
    Flag { long: "session", value: "ID", about: "this session alone" },
    Flag { long: "agent", value: "ID|NAME", about: "this subagent alone, by its id or its agent's name" },
    Flag { long: "role", value: "ROLE", about: "this role alone" },
    Flag { long: "upstream", value: "NAME", about: "this upstream alone" },
    Flag { long: "failed", value: "", about: "only what did not end well" },
    Flag { long: "head", value: "HASH", about: "verify: this line, noted earlier, must still be there" },
];

/// How many requests are shown.
const LAST: usize = 20;
/// The longest cell.
const LONGEST: usize = 40;
/// The columns of a CSV export.
const COLUMNS: &str = "ts,request_id,session_id,agent_id,role,upstream,worker,model_asked,model_used,status,input,output,cache_creation,cache_read,cost_usd,cost_basis,ttfb_ms,ms,error,agent,model_named,model_sent\n";

/// Shows, exports or verifies.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let what = if matches.operands().is_empty() { "show" } else { matches.operand(0)? };
    match what {
        "show" => show(world, matches),
        "export" => export(world, matches),
        "verify" => check(world, matches),
        _ => Err(Error::new(Exit::Usage, format!("there is no `audit {}`", flatten(what, LONGEST)))
            .hint("`mo-proxy audit` shows, `audit export` writes, `audit verify` checks")),
    }
}

/// Where the audit lies.
pub fn folder(world: &World) -> Result<PathBuf> {
    Ok(world.paths.proxy()?.join("audit"))
}

fn query(matches: &Matches) -> Result<Query> {
    let text = |flag: &str| matches.value(flag).map(str::to_owned);
    Ok(Query {
        since: matches.value("since").map(since).transpose()?,
        model: text("model"),
        session: text("session"),
        agent: text("agent"),
        role: text("role"),
        provider: text("upstream"),
        failed: matches.has("failed"),
    })
}

/// A day, which begins as the audit's times say, in UTC; or a time.
fn since(typed: &str) -> Result<String> {
    let day = typed.parse::<Date>().ok().filter(|_| !typed.contains(['T', 't', ' ']));
    let day = day.and_then(|day| TimeZone::UTC.to_timestamp(day.to_datetime(Time::midnight())).ok());
    day.or_else(|| typed.parse::<Timestamp>().ok()).map(rfc3339).ok_or_else(|| {
        Error::new(Exit::Usage, format!("--since `{}` is neither a day nor a time", flatten(typed, LONGEST)))
            .hint("write a day like 2026-11-01, or a time like 2026-11-01T08:00:00Z")
    })
}

fn show(world: &World, matches: &Matches) -> Result<Exit> {
    let last = matches.value("last").map_or(Ok(LAST), |typed| {
        typed.parse().map_err(|_| Error::new(Exit::Usage, "--last takes a number").hint("like --last 100"))
    })?;
    let mut lines = std::collections::VecDeque::new();
    each(&folder(world)?, &query(matches)?, |line| {
        lines.push_back(line);
        if last > 0 && lines.len() > last {
            lines.pop_front();
        }
        true
    });
    if matches.has("json") {
        for line in &lines {
            world.say.line(&json(line)?)?;
        }
        return Ok(Exit::Done);
    }
    if lines.is_empty() {
        world.say.note("the audit holds no such request");
        return Ok(Exit::Done);
    }
    let head = ["TIME", "UPSTREAM", "MODEL", "ROLE", "STATUS", "FRESH", "CACHE READ", "COST", "MS"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(lines.iter().map(row));
    world.say.out(&table::columns(&rows, world.colour()))?;
    Ok(Exit::Done)
}

fn row(line: &AuditLine) -> Vec<String> {
    let shown = |text: Option<&str>| flatten(text.unwrap_or("-"), LONGEST);
    let usage = line.usage.unwrap_or_default();
    let cost = match (line.cost_usd, line.cost_basis.as_deref()) {
        (Some(usd), Some("worth")) => format!("(${usd:.4})"),
        (Some(_), Some("flat")) => "flat".to_owned(),
        (Some(usd), _) => format!("${usd:.4}"),
        (None, Some(_)) => "?".to_owned(),
        (None, None) => "-".to_owned(),
    };
    vec![
        line.ts.get(..19).unwrap_or(&line.ts).replace('T', " "),
        shown(Some(&line.provider)),
        shown(line.model_used.as_deref().or(line.model_asked.as_deref())),
        shown(line.role.as_deref()),
        line.error.as_ref().map_or_else(
            || line.status.to_string(),
            |error| format!("{} {}", line.status, flatten(error, LONGEST)),
        ),
        usage.fresh().to_string(),
        usage.cache_read.to_string(),
        cost,
        line.ms.to_string(),
    ]
}

fn export(world: &World, matches: &Matches) -> Result<Exit> {
    let csv = match matches.value("format") {
        None | Some("jsonl") => false,
        Some("csv") => true,
        Some(_) => return Err(Error::new(Exit::Usage, "--format is jsonl or csv")),
    };
    if csv {
        world.say.out(COLUMNS)?;
    }
    let mut failure = None;
    each(&folder(world)?, &query(matches)?, |line| {
        let written = if csv {
            world.say.data(&as_csv(&line))
        } else {
            json(&line).and_then(|line| world.say.data(&format!("{line}\n")))
        };
        written.unwrap_or_else(|error| {
            failure = Some(error);
            false
        })
    });
    failure.map_or(Ok(Exit::Done), Err)
}

fn json(line: &AuditLine) -> Result<String> {
    serde_json::to_string(line).map_err(|error| Error::new(Exit::Bug, "cannot write JSON").caused_by(error))
}

fn as_csv(line: &AuditLine) -> String {
    let usage = line.usage;
    let number =
        |pick: fn(&shared::ledger::usage::Usage) -> u64| usage.as_ref().map(|usage| pick(usage).to_string());
    let cells = [
        Some(line.ts.clone()),
        Some(line.request_id.clone()),
        line.session_id.clone(),
        line.agent_id.clone(),
        line.role.clone(),
        Some(line.provider.clone()),
        line.worker.clone(),
        line.model_asked.clone(),
        line.model_used.clone(),
        Some(line.status.to_string()),
        number(|usage| usage.input),
        number(|usage| usage.output),
        number(|usage| usage.cache_creation),
        number(|usage| usage.cache_read),
        line.cost_usd.map(|usd| usd.to_string()),
        line.cost_basis.clone(),
        line.ttfb_ms.map(|ms| ms.to_string()),
        Some(line.ms.to_string()),
        line.error.clone(),
        line.agent.clone(),
        line.model_named.clone(),
        line.model_sent.clone(),
    ];
    let cells: Vec<String> = cells.into_iter().map(|cell| quoted(&cell.unwrap_or_default())).collect();
    format!("{}\n", cells.join(","))
}

/// A cell of CSV (RFC 4180); one that a spreadsheet would run as a formula is made text.
fn quoted(cell: &str) -> String {
    let flat = flatten(cell, 1000);
    let flat = if flat.starts_with(['=', '+', '-', '@']) { format!("'{flat}") } else { flat };
    if flat.contains([',', '"']) { format!("\"{}\"", flat.replace('"', "\"\"")) } else { flat }
}

fn check(world: &World, matches: &Matches) -> Result<Exit> {
    let known = matches.value("head");
    let finding = verify(&folder(world)?, known);
    if matches.has("json") {
        world.say.line(&json_text::pretty(&finding)?)?;
    }
    if let Some(broken) = &finding.broken {
        return Err(Error::new(
            Exit::Data,
            format!("the chain breaks in {}, line {}", broken.file, broken.line),
        )
        .caused_by(broken.why)
        .hint("everything before it holds; what comes after it is not proved"));
    }
    if let Some(known) = known.filter(|_| !finding.met) {
        return Err(Error::new(Exit::Data, "the line that was noted is not in the audit any more")
            .caused_by(flatten(known, 64))
            .hint("it was thinned out with its file, or the audit was written anew"));
    }
    if !matches.has("json") {
        let span = finding.from.as_deref().zip(finding.to.as_deref());
        let span = span.map(|(from, to)| format!(" from {from} to {to}")).unwrap_or_default();
        let lost =
            if finding.lost > 0 { format!(", {} lost on the way", finding.lost) } else { String::new() };
        let torn = if finding.torn { "; the last line is torn or being written" } else { "" };
        world
            .say
            .line(&format!("{} lines in {} files hold{span}{lost}{torn}", finding.lines, finding.files))?;
        if let Some(head) = &finding.head {
            world.say.line(&format!("head {head}"))?;
        }
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use shared::exit::Exit;

    use super::{quoted, since};

    #[test]
    fn what_is_no_time_is_refused() {
        assert_eq!(since("2026-11-01").as_deref(), Ok("2026-11-01T00:00:00.000Z"));
        assert_eq!(since("2026-11-01T08:00:00+01:00").as_deref(), Ok("2026-11-01T07:00:00.000Z"));
        for typed in ["foo", "", "2026-12-1", "01.12.2026", "2026-11-01T08"] {
            assert_eq!(since(typed).unwrap_err().exit(), Exit::Usage, "{typed}");
        }
    }

    #[test]
    fn no_cell_runs_or_ends_early() {
        assert_eq!(quoted("a,\"b\"\n"), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=1+1"), "'=1+1");
    }
}
