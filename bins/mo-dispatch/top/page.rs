//! The page as lines of text. Pure: the same picture gives the same page.

use shared::flatten::flatten;
use shared::table;
use shared::usage::{Overage, show};

use super::picture::Picture;
use super::tasks::Task;
use super::workers::Row;

/// Cells of a bar.
const BAR: usize = 12;

/// The page for a screen of so many columns.
pub fn of(picture: &Picture, columns: usize, colour: bool) -> String {
    let mut page = String::new();
    if let Some(mistake) = &picture.mistake {
        page.push_str(&format!("! nothing is dispatched: {}\n\n", flatten(mistake, 400)));
    }
    page.push_str(&workers(picture, colour));
    page.push('\n');
    page.push_str(&tasks(picture, colour));
    page.push_str(&format!("\n{}\n", money(picture)));
    let cut = page.lines().map(|line| cut(line, columns));
    cut.collect::<Vec<_>>().join("\n") + "\n"
}

fn workers(picture: &Picture, colour: bool) -> String {
    if picture.workers.is_empty() {
        return "no workers yet: `mo-worker create glm --preset zai` makes one\n".to_owned();
    }
    let mut rows =
        vec![["WORKER", "STATE", "RUNS", "PLAN", "USED", "RESETS", ""].map(str::to_owned).to_vec()];
    for worker in &picture.workers {
        let mut windows = worker.windows.iter().map(|window| {
            let bar = format!("{} {}", show::bar(window.percent, BAR), show::percent(window.percent));
            let stale =
                if window.stale { format!("{} old", show::span(window.age_seconds)) } else { String::new() };
            [window.label.clone(), bar, window.resets.clone(), stale]
        });
        let [label, bar, resets, stale] = windows.next().unwrap_or_else(|| plan(worker));
        let remark = if stale.is_empty() { remark(worker, picture) } else { stale };
        rows.push(vec![name(worker), worker.state.to_owned(), runs(worker), label, bar, resets, remark]);
        rows.extend(windows.map(|[label, bar, resets, stale]| {
            vec![String::new(), String::new(), String::new(), label, bar, resets, stale]
        }));
    }
    table::columns(&rows, colour)
}

fn plan(worker: &Row) -> [String; 4] {
    let text = if worker.kind == Some("account") { "unknown" } else { "-" };
    [text.to_owned(), String::new(), String::new(), String::new()]
}

fn name(worker: &Row) -> String {
    if worker.preferred { format!("{} *", worker.name) } else { worker.name.clone() }
}

fn runs(worker: &Row) -> String {
    match worker.max_parallel {
        Some(most) => format!("{}/{most}", worker.running),
        None => worker.running.to_string(),
    }
}

fn remark(worker: &Row, picture: &Picture) -> String {
    if let Some(until) = worker.until {
        let why = worker.why.as_deref().unwrap_or_default();
        return format!("for {}: {why}", show::span(until.ahead(picture.at.0)));
    }
    match (&worker.why, worker.overage) {
        (Some(why), _) => why.clone(),
        (None, Some(overage)) if overage.is_on() => {
            (if overage == Overage::InUse { "overage IN USE" } else { "overage ON" }).to_owned()
        }
        _ => String::new(),
    }
}

fn tasks(picture: &Picture, colour: bool) -> String {
    if picture.tasks.is_empty() {
        return "nothing is at work\n".to_owned();
    }
    let mut rows =
        vec![["TASK", "WORKER", "MODEL", "STATE", "FOR", "TURN", "DOING"].map(str::to_owned).to_vec()];
    rows.extend(picture.tasks.iter().map(|task| row(task, picture)));
    table::columns(&rows, colour)
}

fn row(task: &Task, picture: &Picture) -> Vec<String> {
    let none = String::new;
    vec![
        flatten(&task.title, 40),
        task.worker.clone(),
        task.model.clone().unwrap_or_default(),
        task.status.to_owned(),
        task.since.map_or_else(none, |since| show::span(since.age(picture.at.0))),
        task.turn.map_or_else(none, |turn| turn.to_string()),
        task.doing.clone().unwrap_or_default(),
    ]
}

fn money(picture: &Picture) -> String {
    let unpriced = match picture.today_unpriced {
        0 => String::new(),
        number => format!(", and {number} without a known price"),
    };
    format!("today: ${:.2}{unpriced} ({} ended)", picture.today_usd, picture.today_ended)
}

/// What is longer than the screen is cut. A coloured heading is not: its end turns the colour off.
fn cut(line: &str, columns: usize) -> String {
    if line.contains('\u{1b}') {
        return line.to_owned();
    }
    line.trim_end().chars().take(columns.max(1)).collect()
}
