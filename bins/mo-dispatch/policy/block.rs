//! A block of ours in a text of the user's: put in, replaced in its place, taken out again. Every other byte stays.
//! The opening line notes what was there before, so that taking it out leaves the text as it was.

/// How the opening line begins.
const START: &str = "<!-- model-orchestration policy: start";
/// How it ends.
const CLOSE: &str = " -->";
/// The closing line.
const END: &str = "<!-- model-orchestration policy: end -->";

/// What a text was before the block came in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Before {
    /// There was no file.
    Nothing,
    /// A text, behind which so many line breaks were put.
    Joined(usize),
}

impl Before {
    fn of(text: Option<&str>) -> Self {
        match text {
            None => Self::Nothing,
            Some("") => Self::Joined(0),
            Some(text) if text.ends_with('\n') => Self::Joined(1),
            Some(_) => Self::Joined(2),
        }
    }

    fn breaks(self) -> usize {
        if let Self::Joined(breaks) = self { breaks } else { 0 }
    }

    fn note(self) -> &'static str {
        match self {
            Self::Nothing => " of a new file",
            Self::Joined(0) => "",
            Self::Joined(1) => " after 1",
            Self::Joined(_) => " after 2",
        }
    }

    fn parse(note: &str) -> Option<Self> {
        let all = [Self::Nothing, Self::Joined(0), Self::Joined(1), Self::Joined(2)];
        all.into_iter().find(|before| before.note() == note)
    }
}

/// Where the block stands in a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Place {
    /// The first byte of the opening line.
    from: usize,
    /// The first byte behind the closing line.
    to: usize,
    /// What was there before.
    before: Before,
    /// How our own lines end.
    eol: &'static str,
}

/// A text without its block.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Taken {
    /// What is left.
    pub text: String,
    /// Whether there was no file before the block came in, and nothing has come in since.
    pub is_nothing: bool,
}

/// The text with this policy in its block; no text where there is no file.
pub fn put(text: Option<&str>, policy: &str) -> Result<String, String> {
    let whole = text.unwrap_or_default();
    if let Some(place) = find(whole)? {
        let (above, below) = around(whole, place);
        return Ok(format!("{above}{}{below}", block(policy, place.before, place.eol)));
    }
    let eol = if whole.contains("\r\n") { "\r\n" } else { "\n" };
    let before = Before::of(text);
    Ok(format!("{whole}{}{}", eol.repeat(before.breaks()), block(policy, before, eol)))
}

fn block(policy: &str, before: Before, eol: &str) -> String {
    let policy = policy.trim_end().replace('\n', eol);
    format!("{START}{}{CLOSE}{eol}{policy}{eol}{END}{eol}", before.note())
}

/// The text without the block; nothing where there is none.
pub fn take(text: &str) -> Result<Option<Taken>, String> {
    let Some(place) = find(text)? else { return Ok(None) };
    let (mut above, below) = around(text, place);
    for _ in 0..place.before.breaks() {
        above = above.strip_suffix(place.eol).unwrap_or(above);
    }
    let text = format!("{above}{below}");
    Ok(Some(Taken { is_nothing: text.is_empty() && place.before == Before::Nothing, text }))
}

fn around(text: &str, place: Place) -> (&str, &str) {
    (text.get(..place.from).unwrap_or_default(), text.get(place.to..).unwrap_or_default())
}

/// The only block. Marks that do not belong together are somebody's edit: nothing is guessed.
fn find(text: &str) -> Result<Option<Place>, String> {
    let mut open = None;
    let mut found = None;
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let plain = line.trim_end_matches(['\r', '\n']);
        let wrong = |what: &str| Err(format!("{}: {what}", number + 1));
        if let Some(rest) = plain.strip_prefix(START) {
            if open.is_some() || found.is_some() {
                return wrong("a second opening mark of the policy block");
            }
            let Some(before) = rest.strip_suffix(CLOSE).and_then(Before::parse) else {
                return wrong("the opening mark of the policy block has been changed");
            };
            open = Some((at, before, if line.ends_with("\r\n") { "\r\n" } else { "\n" }));
        } else if plain == END {
            let Some((from, before, eol)) = open.take() else {
                return wrong("a closing mark of the policy block without an opening one");
            };
            found = Some(Place { from, to: at + line.len(), before, eol });
        }
        at += line.len();
    }
    if open.is_some() { Err("1: the policy block has no closing mark".to_owned()) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn without(text: &str) -> String {
        take(text).unwrap().unwrap().text
    }

    #[test]
    fn a_block_is_replaced_in_its_place_and_comes_out_without_a_trace() {
        for text in ["", "a", "a\n", "a\n\n", "a\r\nb\r\n", "a\r", "# Ü\n\u{feff}x", "\n"] {
            let with = put(Some(text), "one\ntwo\n").unwrap();
            assert_eq!(without(&with), text);
            let again = put(Some(&with), "three\n").unwrap();
            assert_eq!(again.matches("policy: start").count(), 1);
            assert!(again.contains("three") && !again.contains("two"));
            assert_eq!(without(&again), text);
        }
        let between = put(Some("above\n"), "p").unwrap() + "below";
        assert_eq!(without(&between), "above\nbelow");
        assert_eq!(take("nothing of ours").unwrap(), None);
        let of_new = put(Some(&put(None, "p").unwrap()), "q").unwrap();
        assert!(take(&of_new).unwrap().unwrap().is_nothing);
        assert!(!take(&(of_new + "x")).unwrap().unwrap().is_nothing);
        assert!(!take(&put(Some(""), "p").unwrap()).unwrap().unwrap().is_nothing);
    }

    #[test]
    fn marks_that_do_not_belong_together_are_left_alone() {
        let open = format!("{START}{CLOSE}\n");
        let close = format!("{END}\n");
        for text in [
            open.clone(),
            close.clone(),
            format!("{close}{open}"),
            format!("{open}{open}{close}"),
            format!("{open}{close}{open}{close}"),
            format!("{START} odd{CLOSE}\n{close}"),
        ] {
            assert!(put(Some(&text), "p").is_err() && take(&text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_stands_there_stays(text in "[a-z#<! \\-\r\nä]{0,80}", below in "[a-z\n]{0,20}") {
            let with = put(Some(&text), "policy of ours").unwrap();
            prop_assert_eq!(&without(&with), &text);
            let edited = with + &below;
            prop_assert_eq!(without(&put(Some(&edited), "another").unwrap()), text + &below);
        }
    }
}
