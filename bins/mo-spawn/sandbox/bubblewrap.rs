//! bubblewrap: the whole system read-only, and what may be written laid over it.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use super::confinement::Confinement;

/// Whether this one works here: in many containers it may not.
pub fn works(program: &Path) -> bool {
    let mut command = Command::new(program);
    command.args(["--ro-bind", "/", "/", "--dev", "/dev", "true"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Its arguments before the program's name.
pub fn arguments(confinement: &Confinement) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        ["--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"].map(OsString::from).into();
    for path in &confinement.writable {
        words.extend(["--bind".into(), path.into(), path.into()]);
    }
    for (name, value) in confinement.variables() {
        words.extend(["--setenv".into(), name.into(), value.into()]);
    }
    words.push("--".into());
    words
}
