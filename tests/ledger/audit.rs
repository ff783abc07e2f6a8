//! An audit as mo-proxy leaves it: lines in a file that grows, is renamed and is packed.

use shared::audit_line::{AuditLine, FORMAT};
use shared::ledger::usage::Usage;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A line for an answer; without a worker it is Anthropic's.
pub fn line(session: &str, id: &str, worker: Option<&str>) -> String {
    let line = AuditLine {
        v: FORMAT,
        ts: "2026-11-03T10:00:00.000Z".to_owned(),
        message_id: Some(id.to_owned()),
        session_id: Some(session.to_owned()),
        worker: worker.map(str::to_owned),
        provider: worker.unwrap_or("anthropic").to_owned(),
        route: "messages".to_owned(),
        usage: Some(Usage { output: 999_999, ..Usage::default() }),
        status: 200,
        ..AuditLine::default()
    };
    let mut line = serde_json::to_value(line).unwrap();
    line["hash"] = "0".into();
    format!("{line}\n")
}

/// The audit of a home.
pub struct Audit {
    folder: PathBuf,
    rotations: usize,
    /// The rest of a line that is half written.
    rest: String,
}

impl Audit {
    pub fn at(home: &Path) -> Self {
        let folder = home.join(".claude-workers/.proxy/audit");
        fs::create_dir_all(&folder).unwrap();
        Self { folder, rotations: 0, rest: String::new() }
    }

    pub fn growing(&self) -> PathBuf {
        self.folder.join("audit.jsonl")
    }

    fn put(&self, text: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(self.growing()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    pub fn append(&mut self, text: &str) {
        self.mend();
        self.put(text);
    }

    /// Writes the beginning of a line that says nothing.
    pub fn tear(&mut self, at: usize) {
        self.mend();
        let line = line("torn", "torn", Some("glm"));
        let (half, rest) = line.split_at(at);
        self.put(half);
        rest.clone_into(&mut self.rest);
    }

    /// Writes the rest of what was half written.
    pub fn mend(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            self.put(&rest);
        }
    }

    /// Begins a new file.
    pub fn rotate(&mut self) {
        self.mend();
        if self.growing().exists() {
            self.rotations += 1;
            let older = format!("audit-20261103T1000{:03}-000.jsonl", self.rotations);
            fs::rename(self.growing(), self.folder.join(older)).unwrap();
        }
    }

    /// Packs all older files that are not packed.
    pub fn pack(&self) {
        let paths = fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path());
        for path in paths.filter(|path| *path != self.growing() && path.extension().unwrap() == "jsonl") {
            let packed = File::create(path.with_extension("jsonl.gz")).unwrap();
            let mut encoder = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
            encoder.write_all(&fs::read(&path).unwrap()).unwrap();
            encoder.finish().unwrap();
            fs::remove_file(path).unwrap();
        }
    }
}
