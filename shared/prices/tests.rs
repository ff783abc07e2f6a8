//! Tests of the price list: what is bundled, which entry a model gets, what a message costs.

use std::fs;

use super::*;

fn laid_over(text: &str) -> (Prices, Option<Error>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("prices.json");
    fs::write(&path, text).unwrap();
    let mut prices = Prices::bundled().unwrap();
    let trouble = prices.lay_over(&path).err();
    (prices, trouble)
}

fn usage(input: u64, output: u64, cache_creation: u64, cache_creation_1h: u64, cache_read: u64) -> Usage {
    Usage { input, output, cache_creation, cache_creation_1h, cache_read }
}

fn cost(prices: &Prices, model: &str, usage: &Usage) -> Option<String> {
    prices.find(model)?.of(usage).map(|money| money.to_string())
}

#[test]
fn every_bundled_price_is_dated_sourced_and_in_order() {
    let prices = Prices::bundled().unwrap();
    assert_eq!(prices.dated().len(), 10);
    for (model, price) in &prices.models {
        assert_eq!(price.verified.len(), 10, "{model}");
        assert!(!price.sources.is_empty(), "{model}");
        assert!(price.sources.iter().all(|source| source.starts_with("https://")), "{model}");
        assert!(price.rates.output.0 >= price.rates.input.0, "{model}");
        assert!(price.rates.cache_read.is_none_or(|read| read.0 <= price.rates.input.0), "{model}");
        if let (Some(short), Some(long)) = (price.rates.cache_write_5m, price.rates.cache_write_1h) {
            assert!(price.rates.input.0 <= short.0 && short.0 <= long.0, "{model}");
        }
    }
}

#[test]
fn every_part_of_a_message_has_its_own_price() {
    let prices = Prices::bundled().unwrap();
    // $4 + $20 + (2M - 0.5M) * $5 + 0.5M * $8 + 10M * $0.20 = 4 + 20 + 7.5 + 4 + 2
    let message = usage(1_000_000, 1_000_000, 2_000_000, 500_000, 10_000_000);
    assert_eq!(cost(&prices, "claude-opus-5-5", &message).as_deref(), Some("$37.50"));
    assert_eq!(cost(&prices, "claude-opus-5-5-20260922[1m]", &message).as_deref(), Some("$37.50"));
    // One output token is 20 micro-dollars, exactly.
    let one = prices.find("claude-opus-5-5").unwrap().of(&usage(0, 1, 0, 0, 0));
    assert_eq!(one, Some(Money::picodollars(20_000_000)));
}

#[test]
fn a_long_prompt_has_another_price_for_all_its_tokens() {
    let prices = Prices::bundled().unwrap();
    // 100,000 * $0.10 + 1,000 * $0.50 a million = 0.0100 + 0.0005
    assert_eq!(
        cost(&prices, "claude-haiku-5-5", &usage(100_000, 1_000, 0, 0, 0)).as_deref(),
        Some("$0.0105")
    );
    // 1 * $0.50 + 100,000 reads * $0.05 + 1,000 * $2.50 a million = 0.0000005 + 0.0050 + 0.0025
    let long = usage(1, 1_000, 0, 0, 100_000);
    assert_eq!(cost(&prices, "claude-haiku-5-5", &long).as_deref(), Some("$0.0075"));
    let haiku = prices.find("claude-haiku-5-5").unwrap();
    assert_eq!(haiku.band(&long, 100_001, 200_000), haiku.of(&long));
    assert_eq!(haiku.band(&long, 0, 200_000), None, "the price changes in between");
    assert_eq!(haiku.band(&Usage::default(), 0, u64::MAX), Some(Money::default()));
}

#[test]
fn a_price_that_is_not_known_is_not_guessed() {
    let prices = Prices::bundled().unwrap();
    for model in ["", "claude", "claude-opus-5-9", "glm-5.2-fast", "glm-5", "MiniMax-M30", "qwen3-coder:30b"]
    {
        assert!(prices.find(model).is_none(), "{model}");
    }
    assert!(prices.find("minimax-m3").is_some(), "capitals do not matter");
    let older = prices.find("MiniMax-M2.7").unwrap();
    assert!(older.of(&usage(1, 1, 1, 0, 1)).is_some());
    assert_eq!(older.of(&usage(1, 1, 1, 1, 1)), None, "it has no price for cache writes of an hour");
    let minimax = prices.find("MiniMax-M3").unwrap();
    assert_eq!(minimax.of(&usage(512_001, 0, 0, 0, 0)), None);
}

#[test]
fn the_longest_pattern_wins_and_the_users_own_comes_first() {
    let (prices, trouble) = laid_over(
        r#"{"models": {"qwen*": {"input": 0, "output": 0}, "qwen3-coder*": {"input": 1, "output": 2.5},
            "claude-opus-5-5": {"input": 1, "output": 1}}}"#,
    );
    assert_eq!(trouble, None);
    let message = usage(1_000_000, 1_000_000, 0, 0, 0);
    assert_eq!(cost(&prices, "qwen2.5:7b", &message).as_deref(), Some("$0.00"));
    assert_eq!(cost(&prices, "Qwen3-Coder:30b", &message).as_deref(), Some("$3.50"));
    assert_eq!(cost(&prices, "claude-opus-5-5", &message).as_deref(), Some("$2.00"));
    assert_eq!(cost(&prices, "claude-opus-4-5", &message).as_deref(), Some("$30.00"));
}

#[test]
fn what_is_left_out_of_ones_own_prices_costs_as_input() {
    let (prices, trouble) =
        laid_over("{\"models\": {\"m\": {\"input\": 1, \"output\": 2, \"cache_read\": 0.1}}}");
    assert_eq!(trouble, None);
    let message = usage(0, 0, 1_000_000, 500_000, 1_000_000);
    assert_eq!(cost(&prices, "m", &message).as_deref(), Some("$1.10"));
}

#[test]
fn a_broken_file_is_told_by_line_and_the_bundled_prices_stay() {
    for (text, line, part) in [
        ("{\n \"models\": {\n}", 3, "EOF"),
        ("[]", 1, "no JSON object"),
        ("", 1, "empty"),
        ("{\"version\": 1,\n\"models\": []}", 2, "invalid type"),
        ("{\n\"version\": 2}", 2, "version 2"),
        ("{\"models\": {\n\"m\": {\"input\": 1}}}", 2, "missing field `output`"),
        ("{\"models\": {\n\n\"m\": {\"input\": -1, \"output\": 1}}}", 3, "dollars a million"),
        ("{\"models\": {\"m\": {\"input\": 0.0000001, \"output\": 1}}}", 1, "six digits"),
        ("{\"models\": {\"m\": {\"input\": 1e300, \"output\": 1}}}", 1, "dollars a million"),
    ] {
        let (prices, trouble) = laid_over(text);
        let trouble = trouble.unwrap();
        assert!(trouble.to_string().contains(&format!("prices.json:{line}: ")), "{text}: {trouble}");
        assert!(trouble.to_string().contains(part), "{text}: {trouble}");
        assert!(trouble.what_next().is_some(), "{text}");
        assert!(prices.find("claude-opus-5-5").is_some());
    }
}
