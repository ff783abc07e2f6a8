//! Old results of tools made shorter, where the user asked for it. A change in the history makes the provider's cache
//! buy everything behind it again, so the cut moves only every [`STEP`] messages, what is changed stays changed byte for
//! byte, and a step is taken only when what it saves until the next one is more than what it costs.

mod calls;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use calls::{Calls, Copy};

use crate::config::Compressing;
use crate::scan::edit::{Edits, quoted};
use crate::scan::{Body, Value};

/// The cut moves by so many messages at once.
const STEP: usize = 40;
/// So many requests come between two steps: each adds the model's message and the user's.
const TURNS: f64 = 20.0;
/// What a token costs that is read from the cache, and one that is written to it, in prices of a plain one.
const READ: f64 = 0.1;
const WRITE: f64 = 1.25;
/// So much of a result's beginning and of its end stays, in characters.
const SHOWN: usize = 400;
/// Stands for a reading of a file that a later one repeats.
const OLDER: &str = "[An older reading of this file was left out: a newer, whole one stands further down.]";

/// What a result becomes.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Short<'a> {
    content: Value<'a>,
    json: String,
    message: usize,
}

impl Short<'_> {
    fn saved(&self) -> usize {
        self.content.raw().len().saturating_sub(self.json.len())
    }
}

/// Shortens what pays; returns the bytes saved.
pub fn shorten(body: &Body<'_>, settings: Compressing, edits: &mut Edits) -> usize {
    let Some(messages) = body.get("messages") else { return 0 };
    let messages: Vec<Value<'_>> = messages.items().collect();
    let mut taken: BTreeMap<usize, Short<'_>> = BTreeMap::new();
    // Every step anew from the start: what it decides depends on nothing that comes later, so that the next request,
    // and a gateway that was started anew, decide alike.
    let mut cut = STEP;
    while cut + settings.keep <= messages.len() {
        step(&messages, cut, settings, &mut taken);
        cut += STEP;
    }
    let saved = taken.values().map(Short::saved).sum();
    for short in taken.into_values() {
        edits.replace(short.content, short.json);
    }
    saved
}

/// Takes one step, if it pays.
fn step<'a>(
    messages: &[Value<'a>],
    cut: usize,
    settings: Compressing,
    taken: &mut BTreeMap<usize, Short<'a>>,
) {
    let before = messages.get(..cut).unwrap_or_default();
    let fresh: Vec<Short<'a>> = shorter(before, settings.size)
        .filter(|short| !taken.contains_key(&short.content.range().start))
        .collect();
    let Some(first) = fresh.iter().map(|short| short.message).min() else { return };
    let saved: usize = fresh.iter().map(Short::saved).sum();
    // What stands behind the first change when the step is taken is bought again.
    let behind = messages.get(first..cut + settings.keep).unwrap_or_default();
    let bought: usize = behind.iter().map(|message| message.raw().len()).sum();
    let gone = taken.values().filter(|short| short.message >= first).map(Short::saved).sum::<usize>() + saved;
    let gain = saved as f64 * READ * TURNS;
    let price = bought.saturating_sub(gone) as f64 * (WRITE - READ);
    if gain > price {
        taken.extend(fresh.into_iter().map(|short| (short.content.range().start, short)));
    }
}

/// All results in these messages that can be shorter.
fn shorter<'a>(messages: &[Value<'a>], size: usize) -> impl Iterator<Item = Short<'a>> {
    let calls = Calls::read(messages);
    calls.results.into_iter().filter_map(move |result| {
        let text = result.text.as_deref()?;
        let json = match result.copy {
            Copy::Repeated => quoted(OLDER),
            Copy::None if result.content.raw().len() >= size => quoted(&ends(text)),
            Copy::None | Copy::Only => return None,
        };
        let short = Short { content: result.content, json, message: result.message };
        (short.saved() > 0).then_some(short)
    })
}

/// The beginning and the end of a text, and how much is missing in between.
fn ends(text: &str) -> String {
    let head = text.char_indices().nth(SHOWN).map_or(text.len(), |(at, _)| at);
    let tail = text.char_indices().rev().nth(SHOWN - 1).map_or(0, |(at, _)| at).max(head);
    let (start, end) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    format!(
        "{start}\n[{} bytes of this output were left out. Run it again if they are needed.]\n{end}",
        tail - head
    )
}
