//! What the worker has used until now: tokens by message, and what they cost by our own price list. What Claude Code
//! says about money is a guess for models that it does not know.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use shared::ledger::usage::Usage;
use shared::money::Money;
use shared::prices::Prices;
use shared::record::Tokens;

/// The model of what the client makes up itself.
const SYNTHETIC: &str = "<synthetic>";

/// Tokens and money.
#[derive(Debug, Default)]
pub struct Meter {
    prices: Prices,
    flat: bool,
    messages: HashMap<String, (String, Usage)>,
    fresh: u64,
    cost: Money,
    unpriced: BTreeSet<String>,
    models: BTreeSet<String>,
}

impl Meter {
    /// Nothing yet, by these prices; a flat plan costs nothing more.
    pub fn new(prices: Prices, flat: bool) -> Self {
        Self { prices, flat, ..Self::default() }
    }

    /// Whether this model has a price that is known.
    pub fn has_price(&self, model: &str) -> bool {
        self.flat || self.prices.find(model).is_some()
    }

    /// Whether it is paid by the month.
    pub fn is_flat(&self) -> bool {
        self.flat
    }

    /// A message as it is known now. One message is told several times; the one with the most output is final.
    pub fn note(&mut self, id: &str, model: &str, usage: Usage) {
        if model == SYNTHETIC || model.is_empty() {
            return;
        }
        if self.messages.get(id).is_some_and(|(_, known)| known.output >= usage.output) {
            return;
        }
        if !self.models.contains(model) {
            self.models.insert(model.to_owned());
        }
        let before = self.messages.insert(id.to_owned(), (model.to_owned(), usage));
        if let Some((model, usage)) = before {
            self.fresh -= usage.fresh();
            self.cost = self.cost - self.price(&model, &usage).unwrap_or_default();
        }
        self.fresh += usage.fresh();
        match self.price(model, &usage) {
            Some(cost) => self.cost += cost,
            None => {
                self.unpriced.insert(model.to_owned());
            }
        }
    }

    /// The final figures of a message whose model is known.
    pub fn counted(&mut self, id: &str, usage: Usage) {
        if let Some((model, known)) = self.messages.get(id).cloned() {
            // The end of a stream tells the output for sure, and the rest only at some providers.
            let rest = if usage.prompt() >= known.prompt() { usage } else { known };
            self.note(id, &model, Usage { output: usage.output, ..rest });
        }
    }

    fn price(&self, model: &str, usage: &Usage) -> Option<Money> {
        if self.flat || *usage == Usage::default() {
            return Some(Money::default());
        }
        self.prices.find(model)?.of(usage)
    }

    /// Input, cache writes and output.
    pub fn fresh(&self) -> u64 {
        self.fresh
    }

    /// What is known to be spent.
    pub fn spent(&self) -> Money {
        self.cost
    }

    /// A model without a price.
    pub fn unpriced(&self) -> Option<&str> {
        self.unpriced.first().map(String::as_str)
    }

    /// The cost for the record: the amount where all of it is known, and on what it rests.
    pub fn cost(&self) -> (Option<f64>, &'static str) {
        match (self.flat, self.unpriced.is_empty()) {
            (true, _) => (None, "flat"),
            (false, true) => (Some(self.cost.dollars()), "list"),
            (false, false) => (None, "unknown"),
        }
    }

    /// How many models have answered.
    pub fn models(&self) -> usize {
        self.models.len()
    }

    /// Tokens by model.
    pub fn by_model(&self) -> BTreeMap<String, Tokens> {
        let mut sums: BTreeMap<String, Tokens> = BTreeMap::new();
        for (model, usage) in self.messages.values() {
            let sum = sums.entry(shared::flatten::flatten(model, 200)).or_default();
            sum.input += usage.input;
            sum.output += usage.output;
            sum.cache_creation += usage.cache_creation;
            sum.cache_read += usage.cache_read;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64) -> Usage {
        Usage { input, output, ..Usage::default() }
    }

    #[test]
    fn a_message_told_twice_counts_once_and_its_end_is_final() {
        let mut meter = Meter::new(Prices::bundled().unwrap(), false);
        meter.note("m1", "glm-5.2", usage(1_000_000, 1));
        meter.counted("m1", usage(0, 1_000_000));
        meter.note("m1", "glm-5.2", usage(1_000_000, 1));
        meter.counted("m2", usage(5, 5));
        assert_eq!(meter.fresh(), 2_000_000);
        let price =
            Prices::bundled().unwrap().find("glm-5.2").unwrap().of(&usage(1_000_000, 1_000_000)).unwrap();
        assert_eq!(meter.cost(), (Some(price.dollars()), "list"));
        assert_eq!(meter.by_model()["glm-5.2"].output, 1_000_000);
    }

    #[test]
    fn an_unknown_price_is_no_price_and_a_flat_plan_has_none() {
        let mut meter = Meter::new(Prices::bundled().unwrap(), false);
        meter.note("m1", "nobody-knows-it", usage(1, 1));
        assert_eq!((meter.cost(), meter.unpriced()), ((None, "unknown"), Some("nobody-knows-it")));
        let mut flat = Meter::new(Prices::bundled().unwrap(), true);
        flat.note("m1", "nobody-knows-it", usage(1, 1));
        assert_eq!((flat.cost(), flat.unpriced()), ((None, "flat"), None));
    }
}
