//! The proof that whoever gives an order may write where no sandbox can: the order itself, written down beside the
//! socket before it is given. Inside a sandbox anybody can connect and read there: so it is good for this order, once.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::file;

/// The letters and digits of a name. No socket's name is of letters and digits alone.
const LENGTH: usize = 32;
/// Whoever gives an order waits less for its answer: what is older was left by one that was killed.
const STALE: Duration = Duration::from_secs(600);

/// One that nobody has used yet; it goes when it is dropped.
#[derive(Debug)]
pub struct Proof(NamedTempFile);

impl Proof {
    /// Writes the order down in this folder.
    pub fn write(folder: &Path, order: &[u8]) -> io::Result<Self> {
        let mut file = tempfile::Builder::new()
            .prefix("")
            .rand_bytes(LENGTH)
            .permissions(fs::Permissions::from_mode(file::PRIVATE))
            .tempfile_in(folder)?;
        file.write_all(order)?;
        Ok(Self(file))
    }

    /// How it is named in the order.
    pub fn name(&self) -> String {
        self.0.path().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Whether the proof of this name stands in the folder for this order. It is used up by that; one that stands for
/// another order stays.
pub fn holds(folder: &Path, name: &str, order: &[u8]) -> bool {
    let path = folder.join(name);
    let written = || file::read_own(&path, order.len() as u64).ok().flatten();
    // Of several that bring the same one, one can remove it.
    is_name(name) && written().as_deref() == Some(order) && fs::remove_file(&path).is_ok()
}

/// Removes what was left by those that were killed, beside a socket that was just made: its time is the time now.
pub fn sweep(socket: &Path) {
    let made = |meta: fs::Metadata| meta.modified().ok();
    let Some(now) = fs::symlink_metadata(socket).ok().and_then(made) else { return };
    let is_stale = |meta: fs::Metadata| {
        let age = made(meta).and_then(|then| now.duration_since(then).ok());
        age.is_some_and(|age| age > STALE)
    };
    let beside = socket.parent().map(fs::read_dir);
    for entry in beside.into_iter().flatten().flatten().flatten() {
        let is_proof = entry.file_name().to_str().is_some_and(is_name)
            && entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_proof && entry.metadata().is_ok_and(is_stale) {
            // Another one sweeps too.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_name(name: &str) -> bool {
    name.len() == LENGTH && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    const ORDER: &[u8] = b"d-1\n{\"do\":\"stop\"}";

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("mo");
        fs::create_dir(&folder).unwrap();
        (home, folder)
    }

    #[test]
    fn it_is_private_and_good_for_one_order_once() {
        let (_home, folder) = folder();
        let proof = Proof::write(&folder, ORDER).unwrap();
        let meta = fs::symlink_metadata(folder.join(proof.name())).unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, 0o600);
        // Whoever sees it there and is quicker cannot use it for what they want.
        assert!(!holds(&folder, &proof.name(), b"d-2\n{\"do\":\"stop\"}"));
        assert!(!holds(&folder, &proof.name(), b"d-1\n{\"do\":\"tell\",\"text\":\"\"}"));
        assert!(holds(&folder, &proof.name(), ORDER));
        assert!(!holds(&folder, &proof.name(), ORDER));
        drop(proof);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        drop(Proof::write(&folder, ORDER).unwrap());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn what_lies_elsewhere_or_is_no_plain_file_proves_nothing() {
        let (home, folder) = folder();
        let name = "a".repeat(LENGTH);
        let outside = home.path().join(&name);
        fs::write(&outside, ORDER).unwrap();
        let above = format!("../{name}");
        for path in [&*above, outside.to_str().unwrap(), "", ".", "..", "d-1", "a/b", &name[1..], &name] {
            assert!(!holds(&folder, path, ORDER), "{path}");
        }
        let lies = folder.join(&name);
        symlink(&outside, &lies).unwrap();
        assert!(!holds(&folder, &name, ORDER), "a symlink");
        fs::remove_file(&lies).unwrap();
        fs::create_dir(&lies).unwrap();
        assert!(!holds(&folder, &name, ORDER), "a folder");
        fs::remove_dir(&lies).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &lies, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
            .unwrap();
        assert!(!holds(&folder, &name, ORDER), "a pipe");
        fs::remove_file(&lies).unwrap();
        for text in ["", "d-1\n", "d-1\n{\"do\":\"stop\"} and more"] {
            fs::write(&lies, text).unwrap();
            assert!(!holds(&folder, &name, ORDER), "{text}");
        }
        assert!(outside.exists());
    }

    #[test]
    fn anothers_file_proves_nothing() {
        let (_home, folder) = folder();
        let proof = Proof::write(&folder, ORDER).unwrap();
        // Only root can give a file away.
        if std::os::unix::fs::chown(folder.join(proof.name()), Some(1), None).is_ok() {
            assert!(!holds(&folder, &proof.name(), ORDER));
        }
    }

    #[test]
    fn only_what_was_left_long_ago_is_swept() {
        let (_home, folder) = folder();
        let [old, new] = [b'o', b'n'].map(|letter| String::from_utf8(vec![letter; LENGTH]).unwrap());
        let socket = fs::File::create(folder.join("d-2")).unwrap();
        let now = socket.metadata().unwrap().modified().unwrap();
        for name in [&*old, &new, "d-1", "note"] {
            let file = fs::File::create(folder.join(name)).unwrap();
            if name != new {
                file.set_modified(now - STALE * 2).unwrap();
            }
        }
        sweep(&folder.join("d-2"));
        assert!(!folder.join(&old).exists());
        assert!([&*new, "d-1", "note"].iter().all(|name| folder.join(name).exists()));
    }
}
