//! An audit as mo-proxy leaves it: lines in a file that grows, is renamed and is packed.

use serde_json::json;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A line for an answer; without a worker it is Anthropic's.
pub fn line(session: &str, id: &str, worker: Option<&str>) -> String {
    let line = json!({
        "v": 1, "ts": "2026-11-03T10:00:00.000Z", "request_id": "r-1", "message_id": id, "session_id": session,
        "agent_id": null, "role": null, "worker": worker, "provider": worker.unwrap_or("anthropic"),
        "route": "messages", "model_asked": "m", "model_used": "m", "usage": {"input": 1, "output": 999_999},
        "status": 200, "tries": 1, "ms": 5, "transforms": [], "prev_hash": "0", "hash": "1",
    });
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
