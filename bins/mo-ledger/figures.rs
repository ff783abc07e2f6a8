//! Figures in tables: thousands apart, flush right.

use shared::digits::grouped;

/// `1,234,567`.
pub fn thousands(count: u64) -> String {
    grouped(count.into())
}

/// Pads the cells from this column on, so that their ends stand below each other.
pub fn right(rows: &mut [Vec<String>], from: usize) {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    for column in from..count {
        let cells = || rows.iter().filter_map(|row| row.get(column));
        let width = cells().map(|cell| cell.chars().count()).max().unwrap_or(0);
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(column)) {
            let missing = width.saturating_sub(cell.chars().count());
            cell.insert_str(0, &" ".repeat(missing));
        }
    }
}

/// A bar whose length is to `width` what `part` is to `whole`; something is never nothing.
pub fn bar(part: u64, whole: u64, width: u64) -> String {
    let length = u128::from(part) * u128::from(width) / u128::from(whole.max(1));
    "#".repeat((length as usize).max(usize::from(part > 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_below_each_other() {
        assert_eq!(["0", "999", "1,000", "12,345,678"], [0, 999, 1000, 12_345_678].map(thousands)[..]);
        let mut rows = vec![vec!["a".to_owned(), "COST".to_owned()], vec!["b".to_owned(), "$1".to_owned()]];
        right(&mut rows, 1);
        assert_eq!(rows[1], ["b", "  $1"]);
    }

    #[test]
    fn a_bar_is_as_long_as_its_part() {
        assert_eq!(
            (bar(5, 10, 4).as_str(), bar(1, 1000, 4).as_str(), bar(0, 0, 4).as_str()),
            ("##", "#", "")
        );
        assert_eq!(bar(u64::MAX, u64::MAX, 3), "###");
    }
}
