//! A pattern with `*` and `?` for one piece of text.

/// A pattern; `*` stands for any letters, also none, `?` for one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Glob(Vec<char>);

impl Glob {
    /// This pattern.
    pub fn new(text: &str) -> Self {
        Self(text.chars().collect())
    }

    /// Whether it stands for more than one text.
    pub fn is_open(&self) -> bool {
        self.0.iter().any(|letter| matches!(letter, '*' | '?'))
    }

    /// Whether it stands for this text.
    pub fn fits(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        // What each start of the pattern can have read of the text so far, one letter of the pattern after the other.
        let mut reached = vec![false; text.len() + 1];
        if let Some(first) = reached.first_mut() {
            *first = true;
        }
        for letter in &self.0 {
            let mut next = vec![false; text.len() + 1];
            let mut any = false;
            for (at, before) in reached.iter().enumerate() {
                any |= before;
                let (to, is) = match letter {
                    '*' => (at, any),
                    '?' => (at + 1, *before),
                    _ => (at + 1, *before && text.get(at) == Some(letter)),
                };
                if let Some(next) = next.get_mut(to) {
                    *next |= is;
                }
            }
            reached = next;
        }
        reached.last().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn stars_stand_for_any_letters_and_marks_for_one() {
        for (pattern, text) in [
            ("", ""),
            ("a", "a"),
            ("*", ""),
            ("*", "xyz"),
            ("a*c", "abbc"),
            ("a*c", "ac"),
            ("*.rs", "x.rs"),
            ("a?c", "aßc"),
            ("**", "x"),
        ] {
            assert!(Glob::new(pattern).fits(text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("", "a"), ("a", "ab"), ("a", ""), ("a*c", "acb"), ("?", ""), ("?", "ab"), ("*.rs", "rs")]
        {
            assert!(!Glob::new(pattern).fits(text), "{pattern} {text}");
        }
    }
}
