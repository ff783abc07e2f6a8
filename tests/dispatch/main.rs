//! mo-dispatch as an MCP server over standard input and output, with the real mo-spawn. Themes are one module each.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise, its helpers too"
)]

mod client;
mod crowd;
mod detached;
mod door;
mod ending;
mod hostile;
mod house;
mod inspector;
mod kept;
mod money;
mod policy;
mod moving;
mod protocol;
mod top;
mod work;
