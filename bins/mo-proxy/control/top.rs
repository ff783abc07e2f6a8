//! `mo-proxy top`: the gateway at work, on a terminal.

use serde_json::Value;
use shared::error::Result;
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::screen::Screen;
use shared::table;
use shared::world::World;

use super::found::Found;
use super::status;

/// How many models are shown.
const MOST: usize = 20;

/// Shows it until the user has seen enough.
pub fn run(world: &World) -> Result<Exit> {
    // Before the screen is taken: an error is to be read.
    let found = Found::running(world)?;
    let screen = Screen::enter(world, "`mo-proxy status` shows it once")?;
    loop {
        let page = page(&found.ask("/status")?, &found.ask("/cost")?);
        screen.draw(&format!("{page}\nq ends\n"))?;
        if screen.is_over() {
            return Ok(Exit::Done);
        }
    }
}

fn page(state: &Value, cost: &Value) -> String {
    let today = &cost["today"];
    let total = &today["total"];
    let money = |sum: &Value, name: &str| format!("${:.4}", sum[name].as_f64().unwrap_or(0.0));
    let mut text = status::text(state, false);
    text.push_str(&format!(
        "\ntoday {}: {} requests, {} billed, {} worth of the subscription\n\n",
        flatten(today["date"].as_str().unwrap_or_default(), 10),
        total["requests"],
        money(total, "billed_usd"),
        money(total, "worth_usd")
    ));
    let mut rows =
        vec![["MODEL", "REQUESTS", "FRESH", "CACHE READ", "BILLED", "WORTH"].map(str::to_owned).to_vec()];
    for (name, sum) in today["by_model"].as_object().into_iter().flatten().take(MOST) {
        rows.push(vec![
            flatten(name, 40),
            sum["requests"].to_string(),
            sum["fresh"].to_string(),
            sum["cache_read"].to_string(),
            money(sum, "billed_usd"),
            money(sum, "worth_usd"),
        ]);
    }
    text.push_str(&table::columns(&rows, false));
    text
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn a_page_shows_state_and_money() {
        let state = serde_json::json!({"stage": "serving", "upstreams": {}});
        let cost = serde_json::json!({"today": {"date": "2026-02-03", "total": {"requests": 2, "billed_usd": 0.5},
            "by_model": {"glm-5.2": {"requests": 2, "fresh": 10, "cache_read": 0, "billed_usd": 0.5}}}});
        let text = page(&state, &cost);
        assert!(text.contains("today 2026-02-03: 2 requests, $0.5000 billed"), "{text}");
        assert!(text.contains("glm-5.2"), "{text}");
    }
}
