//! What holds in a sandbox, as it is handed to the process that confines itself.

use std::ffi::OsStr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Which mechanism confines.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wall {
    /// The Linux kernel's own.
    Landlock,
    /// This program, on Linux.
    Bubblewrap(PathBuf),
    /// This program, on macOS.
    Seatbelt(PathBuf),
}

/// What holds.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Confinement {
    /// What confines.
    pub wall: Wall,
    /// What may be written: files, and directories with all below.
    pub writable: Vec<PathBuf>,
    /// The temporary directory of this run alone.
    pub temp: PathBuf,
    /// The only TCP port that may be connected to, where the network is confined.
    pub port: Option<u16>,
}

/// Devices that hold nothing.
pub const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

impl Confinement {
    /// Variables that lead programs to where they may write.
    pub fn variables(&self) -> [(&'static str, &OsStr); 2] {
        // Compilers and package managers keep their caches below the second one.
        [("TMPDIR", self.temp.as_os_str()), ("XDG_CACHE_HOME", self.temp.as_os_str())]
    }
}
