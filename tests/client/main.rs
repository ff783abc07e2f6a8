//! The built programs together with the real Claude Code, end to end, offline. Themes are one module each.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise, its helpers too"
)]

mod ability;
mod accounts;
mod accounts_move;
mod best_of;
mod console;
mod dispatch;
mod dispatch_credit;
mod dispatch_long;
mod dispatch_mcp;
mod dispatch_money;
mod dispatch_moves;
mod doctor;
mod ending;
mod escapes;
mod environment;
mod foreign;
mod install;
mod launcher;
mod isolation;
mod managed;
mod managed_faults;
mod managed_limits;
mod managed_places;
mod managed_steering;
mod outcome;
mod own_tree;
mod permissions;
mod plugin;
mod project;
mod project_leave;
mod project_tops;
mod proxy;
mod redirected;
mod sandbox;
mod roles;
mod savings;
mod stage;
mod told;
