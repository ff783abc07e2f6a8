//! `mo-ledger count`: a filter over transcripts, without the store.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use shared::args::Matches;
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::ledger::count::Counter;
use shared::ledger::publish::Sum;
use shared::ledger::usage::Total;
use shared::table;
use shared::world::World;

/// Counts the operands, or what standard input holds: rows, or names of files.
pub fn run(world: &World, matches: &Matches) -> Result<Exit> {
    let mut counter = Counter::default();
    let operands = matches.operands();
    if operands.is_empty() {
        input(&mut counter)?;
    }
    for operand in operands {
        if operand == "-" {
            input(&mut counter)?;
        } else {
            file(&mut counter, Path::new(operand))?;
        }
    }
    show(world, &counter, matches.has("json"))
}

fn file(counter: &mut Counter, path: &Path) -> Result<()> {
    let failed = |error| Error::io("cannot read", path, &error);
    counter.read(&File::open(path).map_err(failed)?, path).map_err(failed)
}

/// Rows begin with a brace; anything else is a list of names.
fn input(counter: &mut Counter) -> Result<()> {
    let failed = |error: io::Error| Error::new(Exit::Io, "cannot read standard input").because(&error);
    let mut input = BufReader::new(io::stdin().lock());
    let head = input.fill_buf().map_err(failed)?;
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    if head.first().is_none_or(|first| *first == b'{') {
        // Through a file, so that a line of any length needs no memory.
        let mut spool = tempfile::tempfile().map_err(failed)?;
        io::copy(&mut input, &mut spool).map_err(failed)?;
        spool.flush().and_then(|()| spool.rewind()).map_err(failed)?;
        return counter.read(&spool, Path::new("-")).map_err(failed);
    }
    for line in input.split(b'\n') {
        let line = line.map_err(failed)?;
        let name = line.strip_suffix(b"\r").unwrap_or(&line);
        if !name.is_empty() {
            file(counter, &path(name))?;
        }
    }
    Ok(())
}

fn path(name: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(name))
}

fn show(world: &World, counter: &Counter, json: bool) -> Result<Exit> {
    let (mut totals, mut no_id, mut incomplete) = (Total::default(), Total::default(), 0_u64);
    let (mut models, mut sessions) = (BTreeMap::<_, Total>::new(), BTreeMap::<_, Total>::new());
    for fact in counter.facts() {
        if fact.without_id {
            no_id.add(fact.usage);
            continue;
        }
        totals.add(fact.usage);
        incomplete += u64::from(fact.incomplete);
        models.entry(fact.model.to_string()).or_default().add(fact.usage);
        sessions.entry(fact.session.to_string()).or_default().add(fact.usage);
    }
    if json {
        let sums = |sums: BTreeMap<String, Total>| -> BTreeMap<String, Sum> {
            sums.into_iter().map(|(name, total)| (name, Sum::of(total, None))).collect()
        };
        let document = json!({
            "version": 1,
            "totals": Sum::of(totals, None),
            "by_model": sums(models),
            "by_session": sums(sessions),
            "no_id": Sum::of(no_id, None),
            "incomplete": incomplete,
            "rows": counter.rows(),
            "skipped_lines": counter.skipped_lines(),
        });
        return world.say.line(&document.to_string()).map(|()| Exit::Done);
    }
    let heading = ["MODEL", "MESSAGES", "FRESH", "INPUT", "CACHE WRITES", "OUTPUT", "CACHE READS"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(models.iter().map(|(model, total)| row(model, *total)));
    rows.push(row("all", totals));
    if no_id.messages > 0 {
        rows.push(row("without an id", no_id));
    }
    world.say.out(&table::columns(&rows, world.colour()))?;
    if counter.skipped_lines() > 0 {
        world.say.note(&format!("{} lines could not be read", counter.skipped_lines()));
    }
    Ok(Exit::Done)
}

fn row(name: &str, total: Total) -> Vec<String> {
    let usage = total.usage;
    let counts =
        [total.messages, usage.fresh(), usage.input, usage.cache_creation, usage.output, usage.cache_read];
    std::iter::once(name.to_owned()).chain(counts.map(|count| count.to_string())).collect()
}
