//! A slow, obvious JSON reader of the tests' own: every value, nothing skipped, the last of two equal names
//! counts, and what is no text is shown as the replacement character.

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The last field of this name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Self::Object(fields) => fields.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text, unless it is empty.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }
}

/// Reads one whole document.
pub fn read(bytes: &[u8]) -> Option<Json> {
    let text: Vec<char> = String::from_utf8_lossy(bytes).chars().collect();
    let mut reader = Reader { text, at: 0 };
    reader.space();
    let value = reader.value()?;
    reader.space();
    (reader.at == reader.text.len()).then_some(value)
}

struct Reader {
    text: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        self.at += 1;
        self.text.get(self.at - 1).copied()
    }

    fn eat(&mut self, wanted: &str) -> Option<()> {
        wanted.chars().try_for_each(|letter| (self.next()? == letter).then_some(()))
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Option<Json> {
        match self.peek()? {
            'n' => self.eat("null").map(|()| Json::Null),
            't' => self.eat("true").map(|()| Json::Bool(true)),
            'f' => self.eat("false").map(|()| Json::Bool(false)),
            '"' => self.string().map(Json::Text),
            '[' => self.list(),
            '{' => self.object(),
            _ => self.number(),
        }
    }

    fn list(&mut self) -> Option<Json> {
        self.eat("[")?;
        let mut items = Vec::new();
        self.space();
        if self.peek()? == ']' {
            self.at += 1;
            return Some(Json::List(items));
        }
        loop {
            self.space();
            items.push(self.value()?);
            self.space();
            match self.next()? {
                ',' => {}
                ']' => return Some(Json::List(items)),
                _ => return None,
            }
        }
    }

    fn object(&mut self) -> Option<Json> {
        self.eat("{")?;
        let mut fields = Vec::new();
        self.space();
        if self.peek()? == '}' {
            self.at += 1;
            return Some(Json::Object(fields));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.space();
            self.eat(":")?;
            self.space();
            fields.push((name, self.value()?));
            self.space();
            match self.next()? {
                ',' => {}
                '}' => return Some(Json::Object(fields)),
                _ => return None,
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.eat("\"")?;
        let mut units: Vec<u16> = Vec::new();
        loop {
            match self.next()? {
                '"' => return Some(String::from_utf16_lossy(&units)),
                '\\' => {
                    let letter = match self.next()? {
                        'u' => {
                            let digits: String = (0..4).map_while(|_| self.next()).collect();
                            let plain =
                                digits.len() == 4 && digits.chars().all(|digit| digit.is_ascii_hexdigit());
                            units.push(u16::from_str_radix(&digits, 16).ok().filter(|_| plain)?);
                            continue;
                        }
                        'b' => '\u{8}',
                        'f' => '\u{c}',
                        'n' => '\n',
                        'r' => '\r',
                        't' => '\t',
                        letter @ ('"' | '\\' | '/') => letter,
                        _ => return None,
                    };
                    units.push(letter as u16);
                }
                control if control < ' ' => return None,
                letter => units.extend_from_slice(letter.encode_utf16(&mut [0; 2])),
            }
        }
    }

    fn digits(&mut self) -> Option<()> {
        self.peek()?.is_ascii_digit().then_some(())?;
        while self.peek().is_some_and(|letter| letter.is_ascii_digit()) {
            self.at += 1;
        }
        Some(())
    }

    fn number(&mut self) -> Option<Json> {
        let from = self.at;
        if self.peek()? == '-' {
            self.at += 1;
        }
        if self.peek()? == '0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some('.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some('e' | 'E')) {
            self.at += 1;
            if matches!(self.peek(), Some('+' | '-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(Json::Number(self.text[from..self.at].iter().collect()))
    }
}

#[test]
fn it_reads_what_is_json_and_nothing_else() {
    for text in ["{\"a\":[1,-0.5e+3,true,null,\"\\u00e9\\ud83d\"]}", " [] ", "{\"a\":1,\"a\":2}", "0"] {
        assert!(read(text.as_bytes()).is_some(), "{text}");
    }
    for text in
        ["", "01", "{\"a\":1,}", "[1 2]", "\"\u{1}\"", "{}{}", "1.", "-", "\"\\x\"", "nul", "\"\\u00g0\""]
    {
        assert_eq!(read(text.as_bytes()), None, "{text}");
    }
    assert_eq!(read(b"{\"a\":1,\"a\":2}").unwrap().get("a"), Some(&Json::Number("2".into())));
}
