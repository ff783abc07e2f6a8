//! Changes of a body by places: what is not named stays, byte for byte.

use std::ops::Range;

use super::value::{Member, Value};

/// What becomes of one member or element.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Fate {
    /// It stays as it is (changes inside it are noted on their own).
    Keep,
    /// It goes, with the comma that parts it from its neighbour.
    Drop,
    /// This JSON takes the place of its value.
    Replace(String),
}

/// The changes noted so far.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    list: Vec<(Range<usize>, String)>,
}

impl Edits {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Puts this JSON in the value's place.
    pub fn replace(&mut self, value: Value<'_>, json: impl Into<String>) {
        self.list.push((value.range(), json.into()));
    }

    /// Decides over each member of an object, and adds members at its end. Tells whether anything changed.
    pub fn object(
        &mut self,
        object: Value<'_>,
        mut fate: impl FnMut(&Member<'_>) -> Fate,
        added: &[(&str, String)],
    ) -> bool {
        if !object.is_object() {
            return false;
        }
        let added: Vec<_> = added.iter().map(|(name, json)| format!("\"{name}\":{json}")).collect();
        let parts = object.members().map(|member| (member.range(), member.value, fate(&member)));
        self.container(object, parts, &added)
    }

    /// Decides over each element of an array. Tells whether anything changed.
    pub fn array<'a>(&mut self, array: Value<'a>, mut fate: impl FnMut(usize, Value<'a>) -> Fate) -> bool {
        let parts = array.items().enumerate().map(|(at, item)| (item.range(), item, fate(at, item)));
        self.container(array, parts, &[])
    }

    fn container<'a>(
        &mut self,
        whole: Value<'a>,
        parts: impl Iterator<Item = (Range<usize>, Value<'a>, Fate)>,
        added: &[String],
    ) -> bool {
        let before = self.list.len();
        let mut kept = false;
        let mut last_end = None;
        // Dropped at the start, with nothing kept before it: the comma behind it goes, once we know where it ends.
        let mut leading: Option<Range<usize>> = None;
        for (range, value, fate) in parts {
            if let Some(dropped) = leading.take() {
                self.list.push((dropped.start..range.start, String::new()));
            }
            match fate {
                Fate::Drop if kept => {
                    self.list.push((last_end.unwrap_or(range.start)..range.end, String::new()));
                }
                Fate::Drop => leading = Some(range.clone()),
                Fate::Keep => kept = true,
                Fate::Replace(json) => {
                    kept = true;
                    self.replace(value, json);
                }
            }
            last_end = Some(range.end);
        }
        self.list.extend(leading.map(|dropped| (dropped, String::new())));
        if !added.is_empty() {
            let at = last_end.unwrap_or(whole.range().start + 1);
            let comma = if kept { "," } else { "" };
            self.list.push((at..at, format!("{comma}{}", added.join(","))));
        }
        self.list.len() > before
    }

    /// The body with the changes made. A change inside a part that goes or is replaced goes with it.
    pub fn apply(mut self, body: &[u8]) -> Vec<u8> {
        // Stable: what is added behind a part that goes was noted after it.
        self.list.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let grown: usize = self.list.iter().map(|(_, json)| json.len()).sum();
        let mut changed = Vec::with_capacity(body.len() + grown);
        let mut at = 0;
        for (range, json) in self.list {
            if range.start < at {
                continue;
            }
            changed.extend_from_slice(body.get(at..range.start).unwrap_or_default());
            changed.extend_from_slice(json.as_bytes());
            at = range.end;
        }
        changed.extend_from_slice(body.get(at..).unwrap_or_default());
        changed
    }
}

/// A text as JSON.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str, dropped: &[&str], added: &[(&str, String)]) -> String {
        let mut edits = Edits::default();
        let value = Value::at(text.as_bytes(), 0..text.len());
        let fate = |member: &Member<'_>| {
            if dropped.contains(&member.name.text().as_ref()) { Fate::Drop } else { Fate::Keep }
        };
        edits.object(value, fate, added);
        String::from_utf8(edits.apply(text.as_bytes())).unwrap()
    }

    #[test]
    fn a_comma_goes_with_its_member() {
        let text = r#"{ "a":1, "b" : [2] ,"c":3 }"#;
        for (dropped, left) in [
            (&["a"][..], r#"{ "b" : [2] ,"c":3 }"#),
            (&["b"], r#"{ "a":1 ,"c":3 }"#),
            (&["c"], r#"{ "a":1, "b" : [2] }"#),
            (&["a", "b"], r#"{ "c":3 }"#),
            (&["a", "c"], r#"{ "b" : [2] }"#),
            (&["b", "c"], r#"{ "a":1 }"#),
            (&["a", "b", "c"], "{  }"),
            (&[], text),
        ] {
            assert_eq!(object(text, dropped, &[]), left, "{dropped:?}");
        }
        assert_eq!(object(text, &["c"], &[("d", "4".into())]), r#"{ "a":1, "b" : [2],"d":4 }"#);
        assert_eq!(object(text, &["a", "b", "c"], &[("d", "4".into())]), r#"{ "d":4 }"#);
        assert_eq!(object("{}", &[], &[("d", "4".into()), ("e", "5".into())]), r#"{"d":4,"e":5}"#);
    }

    #[test]
    fn a_change_inside_a_part_that_goes_goes_with_it() {
        let text = r#"[{"a":1},{"a":2},{"a":3}]"#;
        let mut edits = Edits::default();
        let value = Value::at(text.as_bytes(), 0..text.len());
        edits.array(value, |at, _| if at == 1 { Fate::Drop } else { Fate::Keep });
        for item in value.items() {
            edits.replace(item.get("a").unwrap(), "9");
        }
        assert_eq!(edits.apply(text.as_bytes()), br#"[{"a":9},{"a":9}]"#);
    }
}
