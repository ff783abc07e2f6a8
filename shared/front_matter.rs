//! The head of a Markdown file: `key: value` lines between two rulers, read strictly, wrong ones told by line.
//! What a key means is left to whoever reads the file.

/// One entry of the head.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// What stands behind it.
    pub value: Value,
    /// Its line, from 1.
    pub line: usize,
}

/// What stands behind a key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Value {
    /// A text of one line, without its quotes.
    Text(String),
    /// `[a, b]`, or a line `- a` for each.
    List(Vec<String>),
}

/// A file in its two parts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Document {
    /// The entries of its head, in order, each key once.
    pub entries: Vec<Entry>,
    /// What stands below the head.
    pub body: String,
}

/// What is wrong, and in which line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wrong {
    /// The line, from 1.
    pub line: usize,
    /// In words. Holds nothing of the file's own text but keys.
    pub what: String,
}

impl Wrong {
    /// This is wrong in this line.
    pub fn new(line: usize, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

const RULER: &str = "---";

/// Reads a file's text.
pub fn parse(text: &str) -> Result<Document, Wrong> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().zip(1..);
    if lines.next().is_none_or(|(line, _)| line.trim_end() != RULER) {
        return Err(Wrong::new(1, "it does not begin with a line `---`"));
    }
    let mut entries: Vec<Entry> = Vec::new();
    let mut last = 1;
    while let Some((line, number)) = lines.next() {
        last = number;
        if line.trim_end() == RULER {
            let body: Vec<&str> = lines.map(|(line, _)| line).collect();
            return Ok(Document { entries, body: body.join("\n").trim().to_owned() });
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(item) = line.strip_prefix("- ") {
            let Some(Entry { value: Value::List(items), .. }) = entries.last_mut() else {
                return Err(Wrong::new(number, "an item `- …` stands below no key"));
            };
            items.push(unquoted(item.trim(), number)?);
            continue;
        }
        let Some((key, value)) = line.split_once(':').filter(|(key, _)| is_key(key)) else {
            return Err(Wrong::new(number, "it is no `key: value`"));
        };
        if entries.iter().any(|entry| entry.key == key) {
            return Err(Wrong::new(number, format!("`{key}` stands there twice")));
        }
        entries.push(Entry { key: key.to_owned(), value: read(value.trim(), number)?, line: number });
    }
    Err(Wrong::new(last, "the line `---` that ends its head is missing"))
}

fn is_key(key: &str) -> bool {
    (1..=40).contains(&key.len())
        && key.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'-')
}

fn read(value: &str, line: usize) -> Result<Value, Wrong> {
    if value.is_empty() {
        return Ok(Value::List(Vec::new()));
    }
    if matches!(value, "|" | ">" | "|-" | ">-" | "|+" | ">+") {
        return Err(Wrong::new(line, "a value stands in one line"));
    }
    let Some(inner) = value.strip_prefix('[') else { return unquoted(value, line).map(Value::Text) };
    let inner = inner.strip_suffix(']').ok_or_else(|| Wrong::new(line, "the `]` is missing"))?;
    split(inner).into_iter().map(|item| unquoted(item, line)).collect::<Result<_, _>>().map(Value::List)
}

/// The pieces between commas, but for commas in brackets and quotes; empty pieces are left out.
pub fn split(text: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    let mut quote: Option<char> = None;
    for (at, letter) in text.char_indices() {
        match (letter, quote) {
            (_, Some(open)) => quote = (letter != open).then_some(open),
            ('"', None) => quote = Some(letter),
            ('(', None) => depth += 1,
            (')', None) => depth = depth.saturating_sub(1),
            (',', None) if depth == 0 => {
                pieces.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(text.get(start..).unwrap_or_default());
    pieces.into_iter().map(str::trim).filter(|piece| !piece.is_empty()).collect()
}

fn unquoted(text: &str, line: usize) -> Result<String, Wrong> {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            let inner = inner.strip_suffix(quote);
            let inner = inner.ok_or_else(|| Wrong::new(line, format!("the closing {quote} is missing")))?;
            return Ok(match quote {
                '"' => inner.replace("\\\"", "\"").replace("\\\\", "\\"),
                _ => inner.replace("''", "'"),
            });
        }
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Value {
        parse(&format!("---\n{text}\n---\nbody")).unwrap().entries.remove(0).value
    }

    #[test]
    fn values_come_plain_quoted_and_as_lists() {
        for (text, value) in
            [("a: b: c # d", "b: c # d"), ("a: \"b \\\"c\\\"\"", "b \"c\""), ("a: 'it''s'", "it's")]
        {
            assert_eq!(entry(text), Value::Text(value.into()), "{text}");
        }
        for text in ["a: [b, \"c(d, e)\"]", "a:\n  - b\n  - c(d, e)", "a:\n- b\n\n# note\n- 'c(d, e)'"] {
            assert_eq!(entry(text), Value::List(vec!["b".into(), "c(d, e)".into()]), "{text}");
        }
        assert_eq!(split("a, b(c, d),, e"), ["a", "b(c, d)", "e"]);
    }

    #[test]
    fn windows_line_ends_a_byte_order_mark_and_rulers_in_the_body_are_no_trouble() {
        let read = parse("\u{feff}---\r\na: b\r\n---\r\n\r\none\r\n---\r\ntwo\r\n").unwrap();
        assert_eq!(read.entries[0].value, Value::Text("b".into()));
        assert_eq!((read.entries[0].line, read.body.as_str()), (2, "one\n---\ntwo"));
    }

    #[test]
    fn what_is_wrong_is_told_by_line_and_without_the_files_text() {
        for (text, line, part) in [
            ("", 1, "does not begin"),
            ("# x", 1, "does not begin"),
            ("---\na: b", 2, "missing"),
            ("---\na: b\nsecret words\n---", 3, "no `key: value`"),
            ("---\na: b\na: c\n---", 3, "twice"),
            ("---\n- x\n---", 2, "below no key"),
            ("---\na: \"b\n---", 2, "closing"),
            ("---\na: [b\n---", 2, "`]`"),
            ("---\na: |\n  b\n---", 2, "one line"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert!(wrong.line == line && wrong.what.contains(part), "{text}: {wrong:?}");
            assert!(!wrong.what.contains("secret"));
        }
    }
}
