//! The library behind the `mo-*` programs: one noun a file, listed in dependency order.
//!
//! A room only uses rooms listed above it; `tests/tidy.rs` holds that. The library knows no terminal,
//! no home directory and no variable but through [`world::World`], which a program's `main` makes once.

pub mod exit;
pub mod error;
pub mod flatten;
pub mod redact;
pub mod env;
pub mod terminal;
pub mod say;
pub mod args;
pub mod clock;
pub mod paths;
pub mod world;
pub mod program;
pub mod table;
pub mod digits;
pub mod json_text;
pub mod sibling;
pub mod search;
pub mod bin_link;
pub mod file;
pub mod lock;
pub mod secret;
pub mod document;
pub mod name;
pub mod tier;
pub mod host;
pub mod base_url;
pub mod auth;
pub mod model;
pub mod preset;
pub mod catalogue;
pub mod dispatch_id;
pub mod record;
pub mod dispatches;
pub mod event;
pub mod control;
pub mod json_edit;
pub mod settings;
pub mod worker;
pub mod roster;
pub mod claude;
pub mod child_env;
pub mod api_error;
pub mod api_failure;
pub mod process;
pub mod denied;
pub mod session_files;
pub mod transcript;
pub mod outcome;
pub mod money;
pub mod ledger;
pub mod prices;
pub mod costs;
pub mod savings;
