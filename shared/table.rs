//! Aligned columns of text, for lists that people read.

use std::fmt::Write as _;

use anstyle::Style;

/// Bold, for headings.
pub const HEADING: Style = Style::new().bold();

/// Lays rows out in columns, two spaces apart; the first row is the heading. Cells hold one line of plain text.
pub fn columns(rows: &[Vec<String>], colour: bool) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count()) + 2));
        }
        let line = line.trim_end();
        if at == 0 && colour {
            let _ = writeln!(text, "{HEADING}{line}{HEADING:#}");
        } else {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["name", "state"], ["ü", "live"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(columns(&rows, false), "name  state\nü     live\n");
    }
}
