//! Seatbelt, macOS's own: a profile that refuses every write but those it names.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::confinement::{Confinement, DEVICES};

/// Its program.
const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Where it is.
pub fn find() -> Option<PathBuf> {
    Some(PathBuf::from(PROGRAM)).filter(|program| program.is_file())
}

/// Its arguments before the program's name.
pub fn arguments(confinement: &Confinement) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["-p".into(), profile(confinement).into(), "/usr/bin/env".into()];
    for (name, value) in confinement.variables() {
        let mut word = OsString::from(format!("{name}="));
        word.push(value);
        words.push(word);
    }
    words
}

fn profile(confinement: &Confinement) -> String {
    let mut text = String::from("(version 1)\n(allow default)\n(deny file-write*)\n(allow file-write*");
    for path in &confinement.writable {
        let kind = if path.is_dir() { "subpath" } else { "literal" };
        text.push_str(&format!("\n  ({kind} {})", quoted(path)));
    }
    for device in DEVICES {
        text.push_str(&format!("\n  (literal {})", quoted(Path::new(device))));
    }
    text.push_str(")\n");
    if let Some(port) = confinement.port {
        text.push_str(&format!(
            "(deny network*)\n(allow network-outbound (remote ip \"*:{port}\"))\n(allow network* (local unix))\n"
        ));
    }
    text
}

fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', r"\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::super::confinement::Wall;
    use super::*;

    #[test]
    fn a_profile_names_what_may_be_written_and_nothing_else() {
        let confinement = Confinement {
            wall: Wall::Seatbelt(PROGRAM.into()),
            writable: vec!["/".into(), "/a \"b\"\\c".into()],
            temp: "/t".into(),
            port: Some(9),
        };
        let profile = profile(&confinement);
        assert!(profile.contains("(deny file-write*)\n(allow file-write*\n  (subpath \"/\")"), "{profile}");
        assert!(profile.contains(r#"(literal "/a \"b\"\\c")"#), "{profile}");
        assert!(profile.contains("(deny network*)") && profile.contains("*:9"), "{profile}");
        let words = arguments(&confinement);
        assert_eq!(words.last().unwrap(), "XDG_CACHE_HOME=/t");
    }
}
