//! What tokens cost their user: list prices, except that a worker who is paid by the month costs nothing more.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::ledger::book::Cell;
use crate::ledger::disk::RealDisk;
use crate::ledger::usage::Usage;
use crate::ledger::{Budget, Outcome, update_on};
use crate::money::Money;
use crate::prices::Prices;
use crate::roster;
use crate::world::World;

/// Prices, and who pays them.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    prices: Prices,
    flat: BTreeSet<String>,
}

impl Costs {
    /// Reads the prices and the workers; what is wrong with the user's prices is told, broken workers are
    /// told elsewhere and pay by list.
    pub fn load(world: &World) -> (Self, Option<Error>) {
        let (prices, trouble) = Prices::load(world);
        let workers = roster::read(&world.paths).unwrap_or_default();
        let flat = workers
            .into_iter()
            .filter(|entry| entry.worker.as_ref().is_ok_and(|worker| worker.profile.flat_plan));
        (Self { prices, flat: flat.map(|entry| entry.name).collect() }, trouble)
    }

    /// The prices alone.
    pub fn prices(&self) -> &Prices {
        &self.prices
    }

    /// Whether a worker is paid by the month.
    pub fn is_flat(&self, worker: &str) -> bool {
        self.flat.contains(worker)
    }

    /// What one message cost; nothing where the price is unknown.
    pub fn of(&self, worker: &str, model: &str, usage: &Usage) -> Option<Money> {
        if self.is_flat(worker) { Some(Money::default()) } else { self.list(model, usage) }
    }

    /// What one message costs by list at a model; nothing where the price is unknown.
    pub fn list(&self, model: &str, usage: &Usage) -> Option<Money> {
        if *usage == Usage::default() {
            return Some(Money::default());
        }
        self.prices.find(model)?.of(usage)
    }

    /// What the messages of a worker and model cost together; nothing where the price of a part is unknown.
    pub fn cell(&self, worker: &str, model: &str, cell: &Cell) -> Option<Money> {
        let is_flat = self.is_flat(worker);
        let price = self.prices.find(model);
        cell.bands().try_fold(Money::default(), |sum, (from, to, total)| {
            if is_flat || total.usage == Usage::default() {
                return Some(sum);
            }
            Some(sum + price?.band(&total.usage, from, to)?)
        })
    }
}

/// Brings the ledger up to date, and publishes what everything cost; `progress` is told how far it is.
pub fn update_ledger(
    world: &World,
    budget: &Budget,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Outcome> {
    // Read only when there is something to publish.
    let costs = LazyCell::new(|| Costs::load(world).0);
    update_on(&RealDisk, world, budget, progress, &|worker, model, cell| costs.cell(worker, model, cell))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(flat: &[&str]) -> Costs {
        Costs {
            prices: Prices::bundled().unwrap(),
            flat: flat.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn a_flat_plan_costs_nothing_more_and_a_message_without_tokens_needs_no_price() {
        let costs = costs(&["glm"]);
        let usage = Usage { output: 1_000_000, ..Usage::default() };
        assert_eq!(costs.of("glm", "no-such-model", &usage), Some(Money::default()));
        assert_eq!(costs.of("kimi", "no-such-model", &usage), None);
        assert_eq!(costs.of("main", "<synthetic>", &Usage::default()), Some(Money::default()));
        assert_eq!(costs.list("glm-5.2", &usage).map(|money| money.to_string()).as_deref(), Some("$4.40"));
        assert_eq!(costs.cell("kimi", "no-such-model", &Cell::default()), Some(Money::default()));
    }
}
