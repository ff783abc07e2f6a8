//! How things are shown to a model: as data and as words, everything that came from elsewhere made flat.

pub mod digest;
pub mod outcome;
pub mod span;
