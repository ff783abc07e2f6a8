//! What stands both in a transcript and in the events, each word that was said, is shown once: as whoever wrote it first.
//! Neither has them all: a message that a worker gets while it works stands in no transcript, and a dispatch that passes
//! everything through has no events of what is said.

use std::collections::BTreeMap;

use super::transcript_tail::{Entry, Source};

/// Of each thing that was said, how often it stood in the transcript more than in the events.
#[derive(Debug, Default)]
pub struct Twice(BTreeMap<(String, String), i32>);

impl Twice {
    /// Those of them that the other file did not tell yet.
    pub fn once(&mut self, mut entries: Vec<Entry>) -> Vec<Entry> {
        entries.retain(|entry| self.is_new(entry));
        entries
    }

    fn is_new(&mut self, entry: &Entry) -> bool {
        if !["caller", "worker"].contains(&entry.who.as_str()) {
            return true;
        }
        let ahead = self.0.entry((entry.who.clone(), entry.text.clone())).or_default();
        let step = if entry.source == Source::Transcript { 1 } else { -1 };
        let was_told = *ahead * step < 0;
        *ahead += step;
        !was_told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_files_tell_is_shown_once_and_what_is_said_again_again() {
        let entry = |source, who: &str, text: &str| Entry {
            at: "t".into(),
            who: who.into(),
            text: text.into(),
            source,
        };
        let (transcript, events) = (Source::Transcript, Source::Events);
        let mut twice = Twice::default();
        let first = vec![
            entry(transcript, "caller", "do it"),
            entry(events, "state", "running"),
            entry(events, "caller", "use the old parser"),
            entry(transcript, "worker", "ok"),
            entry(events, "worker", "ok"),
            entry(events, "worker", "ok"),
        ];
        let shown: Vec<_> = twice.once(first).into_iter().map(|entry| entry.text).collect();
        assert_eq!(shown, ["do it", "running", "use the old parser", "ok", "ok"]);
        let later = vec![entry(transcript, "worker", "ok"), entry(transcript, "worker", "done")];
        let shown: Vec<_> = twice.once(later).into_iter().map(|entry| entry.text).collect();
        assert_eq!(shown, ["done"], "the second was shown already");
    }
}
