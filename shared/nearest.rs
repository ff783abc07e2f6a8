//! The name that somebody who made a typing error meant.

/// The name that is at most two typing errors away.
pub fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .filter(|name| !name.is_empty())
        .map(|name| (distance(typed, name), name))
        .filter(|(distance, name)| *distance <= 2 && *distance < name.len())
        .min()
        .map(|(_, name)| name)
}

/// The number of single-character edits between two words.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.chars().enumerate() {
        let mut above_left = at;
        let mut left = at + 1;
        let mut next = vec![left];
        for (above, other) in row.iter().skip(1).zip(&to) {
            let cost = above_left + usize::from(letter != *other);
            left = cost.min(above + 1).min(left + 1);
            above_left = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_errors_are_forgiven_and_three_are_not() {
        let names = ["explorer", "worker", "zai", ""];
        assert_eq!(nearest("explroer", names.into_iter()), Some("explorer"));
        assert_eq!(nearest("zia", names.into_iter()), Some("zai"));
        assert_eq!(nearest("expl", names.into_iter()), None);
        assert_eq!(nearest("", names.into_iter()), None);
    }
}
