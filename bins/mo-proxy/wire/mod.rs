//! HTTP/1.1 as it stands on the wire: heads, framing, chunks, event streams. By hand, so that what is passed on
//! is what came: same bytes, same order, same case. What to do with it is left to the other rooms.

pub mod stream;
pub mod line;
pub mod span;
pub mod field;
pub mod head;
#[cfg(test)]
mod fuzz;
pub mod status_line;
pub mod chunk;
pub mod framing;
pub mod events;
pub mod reply;
