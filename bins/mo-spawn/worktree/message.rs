//! The message of a worker's commit: a title, its summary, and trailers that lead back to the dispatch.

use shared::flatten::flatten;

/// The most letters of a title.
const TITLE: usize = 72;
/// The most lines of the summary, and letters of a line.
const LINES: usize = 100;
const LINE: usize = 500;

/// Who did what.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// The dispatch's title.
    pub title: Option<String>,
    /// What the worker says of its work.
    pub summary: Option<String>,
    /// The dispatch.
    pub dispatch: String,
    /// The worker.
    pub worker: String,
    /// The model that did the work.
    pub model: Option<String>,
}

impl Message {
    /// The whole message, whatever its parts hold.
    pub fn text(&self) -> String {
        let given =
            self.title.as_deref().map(|title| flatten(title, TITLE)).filter(|title| !title.is_empty());
        let mut text = given.unwrap_or_else(|| format!("dispatch {}", self.dispatch));
        let summary = self.summary.as_deref().unwrap_or_default().trim();
        let lines: Vec<String> = summary.lines().take(LINES).map(|line| plain(line, LINE)).collect();
        if !summary.is_empty() {
            text.push_str("\n\n");
            text.push_str(lines.join("\n").trim_end());
        }
        text.push('\n');
        let trailers = [
            ("Mo-Dispatch", Some(&self.dispatch)),
            ("Mo-Worker", Some(&self.worker)),
            ("Mo-Model", self.model.as_ref()),
        ];
        for (name, value) in trailers.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            text.push_str(&format!("\n{name}: {}", flatten(value, TITLE)));
        }
        text.push('\n');
        text
    }
}

/// A line as it stands, without what cannot be seen.
fn plain(line: &str, most: usize) -> String {
    let indent: String = line.chars().take_while(|letter| *letter == ' ').take(20).collect();
    indent + &flatten(line, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_stand_in_a_paragraph_of_their_own() {
        let message = Message {
            title: Some("fix\nthe parser".into()),
            summary: Some("Did it.\n\n  - a\u{1b}[31m\nMo-Dispatch: another\n".into()),
            dispatch: "d-1".into(),
            worker: "glm".into(),
            model: Some("glm-5".into()),
        };
        assert_eq!(
            message.text(),
            "fix the parser\n\nDid it.\n\n  - a [31m\nMo-Dispatch: another\n\nMo-Dispatch: d-1\nMo-Worker: glm\nMo-Model: glm-5\n"
        );
        let bare = Message { dispatch: "d-1".into(), worker: "w".into(), ..Message::default() };
        assert_eq!(bare.text(), "dispatch d-1\n\nMo-Dispatch: d-1\nMo-Worker: w\n");
    }
}
