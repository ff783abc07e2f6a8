//! Packing an older file, beside the writer so that no line waits for it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use shared::audit_files;

/// What a packed file is called while it is not whole.
const PART: &str = ".gz.part";

/// Packs the file in the background.
pub fn in_background(path: PathBuf) {
    // Without a thread, or without the room, the file stays as it is: it is read all the same.
    let _ = thread::Builder::new().name("audit-pack".to_owned()).spawn(move || pack(&path));
}

/// Packs the file: the plain one goes only when the packed one is whole and on the disk.
pub fn pack(path: &Path) -> io::Result<()> {
    let with = |ending: &str| PathBuf::from(format!("{}{ending}", path.display()));
    let (part, packed) = (with(PART), with(".gz"));
    let packing = || -> io::Result<()> {
        let mut plain = File::open(path)?;
        let target = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&part)?;
        let mut encoder = GzEncoder::new(target, Compression::default());
        io::copy(&mut plain, &mut encoder)?;
        encoder.finish()?.sync_all()?;
        fs::rename(&part, &packed)?;
        fs::remove_file(path)
    };
    let done = packing();
    if done.is_err() {
        // Half of it is of no use, and takes room where there may be none.
        let _ = fs::remove_file(&part);
    }
    done
}

/// Takes up what a process that was killed left: packs what is plain, removes what is half packed.
pub fn resume(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(audit_files::OLDER) {
            continue;
        }
        if name.ends_with(PART) {
            let _ = fs::remove_file(entry.path());
        } else if name.ends_with(audit_files::PLAIN) {
            in_background(entry.path());
        }
    }
}
