//! The words that some settings are: a place to listen, a level of the log, the pattern of a rule.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use super::{Listen, Log, PORT, Pattern};

impl Listen {
    /// `127.0.0.1:3457`, `[::1]:0`, a port alone, or `unix:/path`.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            // The system's limit; macOS has the shorter one.
            return match path.as_os_str().len() {
                _ if !path.is_absolute() => Err("needs an absolute path behind `unix:`"),
                104.. => Err("has a path too long for a socket: at most 103 bytes"),
                _ => Ok(Self::Socket(path)),
            };
        }
        if let Ok(port) = text.parse() {
            return Ok(Self::Loopback(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
        }
        let text = text.replace("localhost", "127.0.0.1");
        let (address, port) = match text.parse::<SocketAddr>() {
            Ok(place) => (place.ip(), place.port()),
            Err(_) => match text.parse::<IpAddr>() {
                Ok(address) => (address, PORT),
                Err(_) => return Err("must be like 127.0.0.1:3457 or unix:/path"),
            },
        };
        if !address.is_loopback() {
            return Err("must be an address of this machine alone: 127.0.0.1 or [::1]");
        }
        Ok(Self::Loopback(address, port))
    }
}

impl Log {
    /// The levels' names.
    pub const NAMES: [&'static str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

    /// The level of this name; the words of the earlier system are understood.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "off" | "silent" => Self::Off,
            "error" | "fatal" => Self::Error,
            "warn" | "warning" => Self::Warn,
            "info" => Self::Info,
            "debug" => Self::Debug,
            "trace" => Self::Trace,
            _ => return None,
        })
    }
}

impl Pattern {
    /// Whether a model's name fits, whatever its case: a name in another case never means another model.
    pub fn fits(&self, model: &str) -> bool {
        match self {
            Self::Exact(name) => name.eq_ignore_ascii_case(model),
            Self::Prefix(start) => {
                model.get(..start.len()).is_some_and(|same| same.eq_ignore_ascii_case(start))
            }
            Self::Suffix(end) => {
                let from = model.len().checked_sub(end.len());
                from.and_then(|from| model.get(from..)).is_some_and(|same| same.eq_ignore_ascii_case(end))
            }
        }
    }

    /// Exact names are looked at first, then beginnings, then ends.
    pub fn class(&self) -> usize {
        match self {
            Self::Exact(_) => 0,
            Self::Prefix(_) => 1,
            Self::Suffix(_) => 2,
        }
    }

    /// Whether every name of the other, later one is this one's.
    pub fn covers(&self, later: &Self) -> bool {
        match (self, later) {
            (Self::Exact(own), Self::Exact(other)) => own.eq_ignore_ascii_case(other),
            (Self::Prefix(_), Self::Prefix(other)) | (Self::Suffix(_), Self::Suffix(other)) => {
                self.fits(other)
            }
            _ => false,
        }
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exact(name) => f.write_str(name),
            Self::Prefix(start) => write!(f, "{start}*"),
            Self::Suffix(end) => write!(f, "*{end}"),
        }
    }
}
