//! The library behind the `mo-*` programs: one noun a file, listed in dependency order.

pub mod base_url;
