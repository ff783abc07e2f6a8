//! What an account has used of its plan: readings, what they mean for the next task, and where they are kept.
//! Asking an account is mo-spawn's (`--usage`); choosing among accounts is mo-dispatch's. No login is read here.

mod answer;
mod event;
mod exhausted;
mod reading;
pub mod show;
mod store;

pub use answer::of_answer;
pub use event::of_event;
pub use exhausted::{exhausted, full, headroom, is_told, refused_until};
pub use reading::{FRESH, Freshness, KEPT, Overage, Reading, Window};
pub use store::{Account, Cooling, Probing, cool, forget, lock_path, note, probed, put, read, rename};
