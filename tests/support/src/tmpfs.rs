//! Disks that are really full and directories that are really read-only, also for root.
//!
//! Root mounts them. Anyone else gets them from a helper process in a mount namespace of its own, and reaches them
//! through `/proc/<helper>/root`. Where neither works the test fails and says so: a fault that was not made must
//! not look like a fault that was survived. macOS has neither; there a small disk image is attached instead.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::outside;

/// A small file system of its own.
#[derive(Debug)]
pub struct SmallDisk {
    path: PathBuf,
    held: Held,
    _dir: TempDir,
}

#[derive(Debug)]
enum Held {
    /// Mounted by us, at `path`.
    Mount,
    /// Mounted by a helper in its namespace; it ends with the helper.
    Helper(Child),
}

impl SmallDisk {
    /// A disk with room for so many KiB, rounded up to whole pages by the kernel.
    #[track_caller]
    pub fn new(kib: u32) -> Self {
        let dir = tempfile::Builder::new().prefix("mo-disk-").tempdir().expect("a temporary directory");
        let point = dir.path().canonicalize().expect("the temporary directory exists").join("disk");
        fs::create_dir(&point).expect("a mount point");
        let (path, held) = mount(&point, kib);
        Self { path, held, _dir: dir }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the space until nothing more fits.
    #[track_caller]
    pub fn fill(&self) {
        self.fill_but(0);
    }

    /// Takes the space but for about so many bytes (whole pages).
    #[track_caller]
    pub fn fill_but(&self, left: usize) {
        let reserve = self.path.join(".reserve");
        fs::write(&reserve, vec![0; left]).expect("the disk has room for what shall be left");
        let mut ballast = File::create(self.path.join(".ballast")).expect("a file on the disk");
        for piece in [65536, 4096, 1] {
            while ballast.write_all(&vec![0; piece]).is_ok() {}
        }
        fs::remove_file(reserve).expect("the reserve can be removed");
    }

    /// Gives the space taken by `fill` back.
    pub fn empty(&self) {
        let _ = fs::remove_file(self.path.join(".ballast"));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        match &mut self.held {
            Held::Mount => unmount(&self.path),
            Held::Helper(helper) => {
                let _ = helper.kill();
                let _ = helper.wait();
            }
        }
    }
}

/// A directory that takes no writes until this is dropped.
#[derive(Debug)]
pub struct ReadOnly {
    path: PathBuf,
    mode: Option<u32>,
}

impl ReadOnly {
    /// Makes a directory, with all in it, read-only where it stands. For root that takes a mount, for others
    /// the mode of the directory itself is enough.
    #[track_caller]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        let path = dir.into();
        if outside::is_root() && cfg!(target_os = "linux") {
            tool("mount", &["--bind"], &[&path, &path]);
            tool("mount", &["-o", "remount,bind,ro"], &[&path]);
            return Self { path, mode: None };
        }
        assert!(!outside::is_root(), "nothing is read-only for root here: run the tests as a normal user");
        let mode = fs::metadata(&path).expect("a directory").permissions().mode();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode & !0o222)).expect("a directory of ours");
        Self { path, mode: Some(mode) }
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        match self.mode {
            Some(mode) => {
                let _ = fs::set_permissions(&self.path, fs::Permissions::from_mode(mode));
            }
            None => unmount(&self.path),
        }
    }
}

#[track_caller]
fn mount(point: &Path, kib: u32) -> (PathBuf, Held) {
    if cfg!(target_os = "macos") {
        // The smallest image HFS+ can be put on is 512 KiB.
        let image = point.with_extension("dmg");
        let size = format!("{}k", kib.max(512));
        tool("hdiutil", &["create", "-quiet", "-fs", "HFS+", "-size", &size], &[&image]);
        tool("hdiutil", &["attach", "-quiet", "-nobrowse", "-mountpoint"], &[point, &image]);
        return (point.into(), Held::Mount);
    }
    if outside::is_root() {
        tool("mount", &["-t", "tmpfs", "-o", &format!("size={kib}k,mode=755"), "tmpfs"], &[point]);
        return (point.into(), Held::Mount);
    }
    in_namespace(point, kib)
}

#[track_caller]
fn in_namespace(point: &Path, kib: u32) -> (PathBuf, Held) {
    let script = format!("mount -t tmpfs -o size={kib}k,mode=755 tmpfs \"$1\" && echo ready && read never");
    let started = Command::new("unshare")
        .args(["-Urm", "sh", "-c", &script, "sh"])
        .arg(point)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut helper = started.unwrap_or_else(|error| panic!("{NO_DISK}: cannot start unshare: {error}"));
    let mut said = String::new();
    let mut output = BufReader::new(helper.stdout.take().expect("its standard output"));
    let _ = output.read_line(&mut said);
    if said.trim() != "ready" {
        let _ = helper.kill();
        let _ = helper.wait();
        panic!("{NO_DISK}");
    }
    let path = Path::new("/proc").join(helper.id().to_string()).join("root");
    (path.join(point.strip_prefix("/").unwrap_or(point)), Held::Helper(helper))
}

const NO_DISK: &str = "cannot make a small disk to fill: run the tests as root, or where `unshare -Urm` and a tmpfs \
                       mount are allowed";

#[track_caller]
fn tool(program: &str, args: &[&str], paths: &[&Path]) {
    let output = Command::new(program).args(args).args(paths).output();
    let output = output.unwrap_or_else(|error| panic!("cannot start {program}: {error}"));
    assert!(
        output.status.success(),
        "{program} {} failed (the tests need mount rights here: real root, or CAP_SYS_ADMIN in a container): {}",
        args.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
}

fn unmount(path: &Path) {
    let (program, args): (_, &[&str]) = if cfg!(target_os = "macos") {
        ("hdiutil", &["detach", "-quiet", "-force"])
    } else {
        ("umount", &["-l"])
    };
    let _ = Command::new(program).args(args).arg(path).status();
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    fn holds_its_limit(disk: &SmallDisk) {
        let file = disk.path().join("file");
        fs::write(&file, "before").expect("an empty disk takes a file");
        disk.fill();
        let error =
            fs::write(disk.path().join("more"), vec![1; 8192]).expect_err("a full disk takes nothing");
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        disk.empty();
        fs::write(file, vec![1; 8192]).expect("an emptied disk takes a file again");
        disk.fill_but(8192);
        fs::write(disk.path().join("last"), vec![1; 8192]).expect("what was left is there");
        fs::write(disk.path().join("more"), vec![1; 8192]).expect_err("and no more than that");
    }

    #[test]
    fn a_small_disk_fills_up() {
        holds_its_limit(&SmallDisk::new(256));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_disk_in_a_namespace_fills_up_too() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (path, held) = in_namespace(dir.path(), 256);
        holds_its_limit(&SmallDisk { path, held, _dir: tempfile::tempdir().expect("a temporary directory") });
        assert_eq!(fs::read_dir(dir.path()).expect("it is there").count(), 0, "nothing was written outside");
    }

    #[test]
    fn a_read_only_directory_takes_nothing_until_it_is_released() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("file");
        let guard = ReadOnly::new(dir.path());
        fs::write(&file, "x").expect_err("it is read-only");
        drop(guard);
        fs::write(&file, "x").expect("it is writable again");
    }
}
