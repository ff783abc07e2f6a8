//! Makes text from files, workers and providers safe to show: to a terminal, and to a model.

/// One line of plain text, at most `max` characters: control characters and line breaks become spaces,
/// characters that are invisible or turn the reading direction are dropped, a cut is marked with `…`.
pub fn flatten(text: &str, max: usize) -> String {
    let mut flat = String::with_capacity(text.len().min(max * 4));
    let mut length = 0;
    let mut after_space = true;
    for character in text.chars().filter(|&character| !is_invisible(character)) {
        let character = if character.is_control() || character.is_whitespace() { ' ' } else { character };
        if character == ' ' && after_space {
            continue;
        }
        if length == max {
            let keep = flat.char_indices().nth(max.saturating_sub(1)).map_or(flat.len(), |(at, _)| at);
            flat.truncate(keep);
            flat.truncate(flat.trim_end().len());
            flat.push('…');
            return flat;
        }
        after_space = character == ' ';
        flat.push(character);
        length += 1;
    }
    flat.truncate(flat.trim_end().len());
    flat
}

/// The same for a text of several lines: they stay, and each is made safe. At most `max` bytes are looked at.
pub fn paragraphs(text: &str, max: usize) -> String {
    let end = (0..=max.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (kept, cut) = text.split_at(end);
    let mut safe = String::with_capacity(kept.len());
    for line in kept.lines() {
        let visible = line.chars().filter(|&character| !is_invisible(character));
        safe.extend(visible.map(|character| match character {
            '\t' => '\t',
            character if character.is_control() => ' ',
            character => character,
        }));
        safe.truncate(safe.trim_end_matches(' ').len());
        safe.push('\n');
    }
    safe.truncate(safe.trim_end().len());
    if !cut.is_empty() {
        safe.push('…');
    }
    safe
}

/// Characters that a reader cannot see, or that change what the reader sees around them.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::{flatten, paragraphs};

    #[test]
    fn lines_stay_lines_and_each_is_safe() {
        assert_eq!(paragraphs("a\u{1b}[2J\r\n\n\tb\u{202e}  \n\n", 99), "a [2J\n\n\tb");
        assert_eq!(paragraphs("äöü", 3), "ä…");
        assert_eq!(paragraphs("", 3), "");
    }

    #[test]
    fn escapes_breaks_and_hidden_characters_go() {
        assert_eq!(flatten("\u{1b}[31mred\u{1b}[0m\r\nnext\u{202e}evil\u{200b}", 80), "[31mred [0m nextevil");
        assert_eq!(flatten("tag\u{e0041}\u{e0042}s", 80), "tags");
    }

    #[test]
    fn a_cut_is_marked_and_counted_in_characters() {
        assert_eq!(flatten("äöüäöü", 4), "äöü…");
        assert_eq!(flatten("exact", 5), "exact");
        assert_eq!(flatten("", 5), "");
    }
}
