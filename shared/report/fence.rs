//! Fenced blocks in Markdown: finding the last one that holds JSON, whatever stands around it.

/// More than this of a message's end is not looked at.
const LOOKED_AT: usize = 1 << 20;

/// A line that opens or closes a block.
struct Fence<'a> {
    letter: char,
    length: usize,
    /// What stands behind it, like `json`.
    info: &'a str,
}

impl<'a> Fence<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let letter = line.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
        let info = line.trim_start_matches(letter);
        let length = line.len() - info.len();
        // Three backticks around words in one line are no block.
        let is_fence = length >= 3 && !(letter == '`' && info.contains('`'));
        is_fence.then(|| Self { letter, length, info: info.trim() })
    }

    fn is_json(&self) -> bool {
        let word = self.info.split([' ', '\t', '{', ',']).next().unwrap_or_default();
        word.eq_ignore_ascii_case("json")
    }

    /// Whether this line ends the block that `open` began.
    fn closes(&self, open: &Self) -> bool {
        self.letter == open.letter && self.length >= open.length && self.info.is_empty()
    }

    /// Whether this line begins a new block, because `open` was never closed: a block that holds another one has the
    /// longer fence.
    fn supersedes(&self, open: &Self) -> bool {
        self.is_json() && self.letter == open.letter && self.length >= open.length
    }
}

/// The content of the last block that is marked as JSON, or has no mark and holds an object; a message that is
/// nothing but an object is one.
pub fn last_json(message: &str) -> Option<&str> {
    let text = end_of(message);
    let mut found = None;
    let mut open: Option<(Fence, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, next) = (at, at + line.len());
        at = next;
        let Some(fence) = Fence::of(line) else { continue };
        match &open {
            Some((opened, from)) if fence.closes(opened) => {
                found = block(opened, text.get(*from..start)?).or(found);
                open = None;
            }
            Some((opened, _)) if !fence.supersedes(opened) => {}
            _ => open = Some((fence, next)),
        }
    }
    // A message that was cut, or whose writer forgot the last line.
    if let Some((opened, from)) = &open {
        found = block(opened, text.get(*from..)?).or(found);
    }
    let whole = text.trim();
    found.or_else(|| (whole.starts_with('{') && whole.ends_with('}')).then_some(whole))
}

fn block<'a>(open: &Fence, content: &'a str) -> Option<&'a str> {
    let unmarked = open.info.is_empty() && content.trim_start().starts_with('{');
    (open.is_json() || unmarked).then_some(content)
}

fn end_of(message: &str) -> &str {
    let mut from = message.len().saturating_sub(LOOKED_AT);
    while !message.is_char_boundary(from) {
        from += 1;
    }
    message.get(from..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::last_json;

    #[test]
    fn the_last_block_that_holds_json_is_found() {
        for (text, found) in [
            ("a\n```json\n{1}\n```\nb\n```json\n{2}\n```\n", Some("{2}\n")),
            ("```json\r\n{1}\r\n```\r\n", Some("{1}\r\n")),
            ("```JSON title\n{1}\n````\nbye", Some("{1}\n")),
            ("~~~json\n{1}\n```\n{2}\n~~~", Some("{1}\n```\n{2}\n")),
            ("```\n{1}\n```", Some("{1}\n")),
            ("```json\n{1}\n```\n```rust\nfn x() {}\n```", Some("{1}\n")),
            ("```json\n{1}\n```\n````markdown\n```json\n{2}\n```\n````", Some("{1}\n")),
            ("```\nnever closed\n\n```json\n{1}\n```", Some("{1}\n")),
            ("```json\n{1}", Some("{1}")),
            ("  {\"a\": 1}\n", Some("{\"a\": 1}")),
            ("text ```json {1}``` text", None),
            ("{1} and more", None),
            ("```jsonc\n{1}\n```", None),
            ("``json\n{1}\n``", None),
            ("", None),
        ] {
            assert_eq!(last_json(text), found, "{text:?}");
        }
    }

    #[test]
    fn only_the_end_of_a_flood_is_looked_at_and_no_character_is_cut() {
        let flood = "ü".repeat(1 << 20);
        assert_eq!(last_json(&format!("{flood}\n```json\n{{1}}\n```")), Some("{1}\n"));
        assert_eq!(last_json(&format!("```json\n{{1}}\n```\n{flood}x")), None);
    }
}
