//! Our own values as JSON text on standard output.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::exit::Exit;

/// The value as a readable document, without a line end.
pub fn pretty<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string_pretty(value)
        .map_err(|error| Error::new(Exit::Bug, "cannot write JSON").caused_by(error))
}
