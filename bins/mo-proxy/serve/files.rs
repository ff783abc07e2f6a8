//! How many files the gateway may have open: two a stream, and systems begin with a few hundred.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than anybody's streams need; some systems name a number here that they do not mean.
const WANTED: u64 = 16_384;

/// Raises the limit as far as the system lets us.
pub fn allow_many() {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(WANTED, |maximum| maximum.min(WANTED));
    if limit.current.is_some_and(|current| current < most) {
        // Refused: then fewer streams run, and the others are told.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: limit.maximum });
    }
}
