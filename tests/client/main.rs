//! The built programs together with the real Claude Code, end to end, offline. Themes are one module each.

mod plugin;
mod stage;
