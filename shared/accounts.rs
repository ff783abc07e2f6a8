//! Whether several Claude accounts may be used: off until the user turns it on, in `accounts.json` under the root.
//! The default account is the user's own session's and needs no leave.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::document;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::file::{self, Durability};
use crate::moment::Moment;
use crate::paths::Paths;
use crate::worker::Worker;

/// What the user is told before anything else.
pub const NOTICE: &str = "each Claude account is used under its provider's terms, which may not allow several accounts of one \
                          person or their use by programs: read them. Claude Code itself logs each account in; no token is read, \
                          stored, refreshed, copied or shared by these programs";

/// The only word that turns it on.
const ON: &str = "on";

#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct Document {
    version: u32,
    several: String,
    since: Option<Moment>,
}

/// Whether several accounts are on. A file that cannot be read turns nothing on.
pub fn several(paths: &Paths) -> Result<bool> {
    let path = path(paths)?;
    let Some(bytes) = file::read_own(&path, file::JSON_CAP)? else { return Ok(false) };
    Ok(document::parse::<Document>(&path, &bytes)?.several == ON)
}

/// Turns them on or off.
pub fn set(paths: &Paths, on: bool, now: Timestamp) -> Result<()> {
    file::create_private_dir(paths.root()?)?;
    let several = if on { ON } else { "off" }.to_owned();
    let document = Document { version: 1, several, since: Some(now.into()) };
    document::replace(&path(paths)?, &document, Durability::Synced)
}

/// Refuses an account beside the user's own while several are off.
pub fn refuse(paths: &Paths, worker: &Worker) -> Result<()> {
    if is_allowed(paths, worker)? {
        return Ok(());
    }
    let what = format!("worker `{}` is another Claude account, and several accounts are off", worker.name);
    Err(Error::new(Exit::Config, what)
        .hint("`mo-worker accounts on` turns them on, and says what to consider before"))
}

/// Whether this worker may be used: no account, the default one, or several are on.
pub fn is_allowed(paths: &Paths, worker: &Worker) -> Result<bool> {
    Ok(!worker.is_account() || worker.config_dir(paths).is_none() || several(paths)?)
}

fn path(paths: &Paths) -> Result<PathBuf> {
    Ok(paths.root()?.join("accounts.json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;
    use std::fs;

    #[test]
    fn another_account_waits_for_the_users_word_and_the_default_one_does_not() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::of(&[("HOME", home.path())].into_iter().collect());
        let worker = |dir: &str| {
            let own = tempfile::tempdir().unwrap();
            fs::write(own.path().join("settings.json"), "{\"env\": {}}").unwrap();
            let config = home.path().join(dir);
            let profile = format!(r#"{{"version": 1, "kind": "account", "config_dir": {config:?}}}"#);
            fs::write(own.path().join("worker.json"), profile).unwrap();
            Worker::read(own.path().to_owned(), &Name::parse("w").unwrap()).unwrap()
        };
        let (other, default) = (worker(".claude-work"), worker(".claude"));
        assert!(refuse(&paths, &other).is_err());
        refuse(&paths, &default).unwrap();
        set(&paths, true, Timestamp::UNIX_EPOCH).unwrap();
        refuse(&paths, &other).unwrap();
        fs::write(path(&paths).unwrap(), r#"{"several": "On"}"#).unwrap();
        assert!(refuse(&paths, &other).is_err());
        fs::write(path(&paths).unwrap(), "{").unwrap();
        assert!(refuse(&paths, &other).is_err());
    }
}
