//! The configuration in force, and the upstreams it leads to. A reload makes a new one; requests that run keep theirs.

use std::collections::HashMap;
use std::sync::Arc;

use shared::error::Result;
use shared::world::World;

use crate::config::Config;
use crate::route::{Routes, provider};
use crate::upstream::dialer::Dialer;
use crate::upstream::provider::Provider;

/// What is in force.
pub struct Live {
    /// What the user decided.
    pub config: Config,
    /// Where names lead.
    pub routes: Routes,
    /// The provider behind each place of a route, by the place's identity.
    doors: HashMap<usize, Arc<Provider>>,
}

impl Live {
    /// Reads everything anew, and tells what is wrong line by line. Connections of an earlier one are kept.
    pub fn load(world: &World, dialer: &Arc<Dialer>, earlier: Option<&Self>) -> Result<Self> {
        let (config, routes) = Routes::load(world)?;
        dialer.settle(&config);
        let mut doors = HashMap::new();
        for of in routes.known().providers.values() {
            let before = earlier.and_then(|earlier| earlier.same(of));
            let door = Provider::new(of, dialer, &world.paths, before.map(Arc::as_ref));
            doors.insert(identity(of), Arc::new(door));
        }
        Ok(Self { config, routes, doors })
    }

    /// The upstream of a place in a route.
    pub fn door(&self, of: &Arc<provider::Provider>) -> Option<&Arc<Provider>> {
        self.doors.get(&identity(of))
    }

    /// All upstreams but Anthropic, by name.
    pub fn doors(&self) -> impl Iterator<Item = (&str, &Arc<Provider>)> {
        let named = self.routes.known().providers.iter();
        named.filter_map(|(name, of)| Some((name.as_str(), self.door(of)?)))
    }

    fn same(&self, of: &provider::Provider) -> Option<&Arc<Provider>> {
        let known = self.routes.known().providers.values();
        self.door(known.into_iter().find(|own| own.name == of.name && own.base_url == of.base_url)?)
    }
}

fn identity(of: &Arc<provider::Provider>) -> usize {
    Arc::as_ptr(of) as usize
}
