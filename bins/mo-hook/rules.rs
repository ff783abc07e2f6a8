//! The delegation rules: a text that a person can read and replace, with a place for the inventory.

use shared::error::Result;
use shared::file;
use shared::world::World;

/// The rules as they ship.
const BUNDLED: &str = include_str!("../../plugin/rules.md");
/// Where the inventory goes.
const PLACE: &str = "{{workers}}";
/// The line that parts the rules with workers from those without.
const WITHOUT: &str = "<!-- no workers -->";
/// The largest file of the user's that is read.
const CAP: u64 = 64 << 10;

/// The rules: the user's own, else ours.
pub fn read(world: &World) -> Result<String> {
    let own = file::read_if_there(&world.paths.rules()?, CAP)?;
    Ok(own.map_or_else(|| BUNDLED.to_owned(), |bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The rules for somebody with workers, and those for somebody without, each cut at a line to `most` characters.
pub fn parts(text: &str, most: usize) -> (String, String) {
    let (with, without) = text.split_once(WITHOUT).unwrap_or((text, ""));
    (cut(without_comments(with), most), cut(without_comments(without), most))
}

fn cut(mut text: String, most: usize) -> String {
    if let Some((at, _)) = text.char_indices().nth(most) {
        let line = text.get(..at).and_then(|head| head.rfind('\n')).unwrap_or(at);
        text.truncate(line);
    }
    text
}

/// Puts the inventory in its place; rules without a place get it at their end.
pub fn fill(rules: &str, inventory: &str) -> String {
    if rules.contains(PLACE) {
        rules.replacen(PLACE, inventory, 1)
    } else {
        format!("{rules}\n\n{inventory}")
    }
}

/// Comments are for the person who edits the file.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        kept.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_rules_have_both_parts_and_a_place() {
        let (with, without) = parts(BUNDLED, 6_000);
        assert!(with.contains(PLACE) && !without.contains(PLACE));
        assert!(!with.contains("<!--") && !without.contains("-->") && !without.is_empty());
        assert!(with.len() < 4000 && without.len() < 2000);
    }

    #[test]
    fn own_rules_need_neither_place_nor_parts() {
        let (with, without) = parts("<!-- note -->\nDo it.\n<!-- open", 100);
        assert_eq!((with.as_str(), without.as_str()), ("Do it.", ""));
        assert_eq!(fill(&with, "- glm"), "Do it.\n\n- glm");
    }

    #[test]
    fn long_rules_are_cut_at_a_line() {
        assert_eq!(parts("one\ntwo\nthree", 9).0, "one\ntwo");
        assert_eq!(parts(&"ä".repeat(50), 9).0, "ä".repeat(9));
    }
}
