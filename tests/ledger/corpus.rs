//! Transcripts made up by a seed: block rows, growing and cut answers, forks, subagents, rows without ids,
//! constant ids, lone surrogates, decoys, junk. Small, so that many can be tried.

use crate::reference::File;

/// A repeatable source of chance.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    fn uuid(&mut self) -> String {
        let (a, b) = (self.next(), self.next());
        format!("{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}", a >> 16, a & 0xffff, b & 0xfff, b >> 36, self.next())
    }
}

const CONTENT: &[&str] =
    &["ok", "cut \\ud83d", "\\\"usage\\\":{\\\"output_tokens\\\":999999}", "日本語 🚀", "a\\u0000b\\n", ""];
const TOOLS: &[&str] = &["null", "{\"id\":null,\"usage\":{\"output_tokens\":888888}}", "[1,{\"a\":[]}]"];
const JUNK: &[&str] = &[
    "",
    "undefined",
    "12345",
    "[\"x\",{\"usage\":{\"input_tokens\":5}}]",
    "\r",
    "{\"type\":\"user\"}",
    "{\"type\":\"assistant\",\"message\":{\"id\":\"broken\",\"usage\":{\"input_tokens\":5555,\"out",
    "{\"type\":\"user\",\"message\":{\"usage\":{\"output_tokens\":7}},\"toolUseResult\":{\"usage\":{\"output_tokens\":7}}}",
    "{\"type\":\"assistant\",\"message\":{\"id\":\"syn\",\"model\":\"<synthetic>\",\"usage\":{\"output_tokens\":0}}}",
];

struct Session {
    id: String,
    path: String,
    worker: String,
    rows: Vec<String>,
    agent: Vec<String>,
}

/// The files of a home with about so many answers.
pub fn home(chance: &mut Chance, answers: usize) -> Vec<File> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut made = 0;
    while made < answers {
        let worker = *chance.pick(&["main", "main", "glm", "kimi"]);
        let dir = if worker == "main" { ".claude".to_owned() } else { format!(".claude-workers/{worker}") };
        let id = chance.uuid();
        let path = format!("{dir}/projects/-srv-{}/{id}", chance.pick(&["a", "b"]));
        let mut session =
            Session { id, path, worker: worker.to_owned(), rows: Vec::new(), agent: Vec::new() };
        for _ in 0..=chance.below(6) {
            answer(chance, &mut session);
            made += 1;
        }
        if let Some(parent) = sessions.last().filter(|_| chance.one_in(3)) {
            fork(chance, parent, &mut session);
        }
        sessions.push(session);
    }
    sessions.into_iter().flat_map(|session| files(chance, session)).collect()
}

fn answer(chance: &mut Chance, session: &mut Session) {
    let model = *chance.pick(&["claude-opus-5-5", "glm-5.1", "claude-haiku-4-5"]);
    let gateway = session.worker != "main" && chance.one_in(4);
    let id = if gateway { "ocgo".to_owned() } else { format!("msg_{:016x}", chance.next()) };
    let id = if chance.one_in(12) { String::new() } else { format!("\"id\":\"{id}\",") };
    // A constant id is only told apart by its references.
    let reference = gateway || chance.one_in(2);
    let reference = if reference { format!("\"requestRef\":\"{}\",", chance.uuid()) } else { String::new() };
    let (input, output) = (chance.below(2000), 10 + chance.below(900));
    let (written, read) = (chance.below(300), chance.below(90_000));
    let sidechain = chance.one_in(5);
    let blocks = 1 + chance.below(4);
    let (grows, is_cut) = (chance.one_in(3), chance.one_in(9));
    let (day, minute) = (1 + chance.below(28), chance.below(60));
    for block in 0..blocks {
        let last = block + 1 == blocks;
        let shown = if grows && !last { output * block / blocks } else { output };
        let stop = if is_cut || (grows && !last) { "null" } else { "\"end_turn\"" };
        let (content, tool) = (chance.pick(CONTENT), chance.pick(TOOLS));
        let at = format!("2026-11-{day:02}T10:{minute:02}:{block:02}.{block:03}Z");
        let row = format!(
            "{{\"parentUuid\":null,\"isSidechain\":{sidechain},\"message\":{{{id}\"model\":\"{model}\",\"content\":[{{\"type\":\"text\",\"text\":\"{content}\"}},{{\"input\":{tool}}}],\"stop_reason\":{stop},\"usage\":{{\"input_tokens\":{input},\"cache_creation_input_tokens\":{written},\"cache_read_input_tokens\":{read},\"output_tokens\":{shown},\"cache_creation\":{{\"ephemeral_1h_input_tokens\":{}}},\"iterations\":[{{\"model\":null}}]}}}},{reference}\"type\":\"assistant\",\"uuid\":\"{}\",\"timestamp\":\"{at}\",\"cwd\":\"/srv/x\",\"sessionId\":\"{}\"}}",
            written / 2,
            chance.uuid(),
            session.id,
        );
        if sidechain {
            session.agent.push(row);
        } else {
            session.rows.push(row);
        }
        if chance.one_in(4) {
            session.rows.push((*chance.pick(JUNK)).to_owned());
        }
    }
}

/// Copies rows of another session, as `--fork-session` does.
fn fork(chance: &mut Chance, parent: &Session, session: &mut Session) {
    let (old, new) =
        (format!("\"sessionId\":\"{}\"", parent.id), format!("\"sessionId\":\"{}\"", session.id));
    let keep = chance.below(parent.rows.len() + 1);
    let copies: Vec<String> = parent.rows[..keep]
        .iter()
        .map(|row| match row.strip_suffix('}') {
            Some(head) if row.contains(&old) => {
                format!("{},\"requestSessionId\":\"{}\"}}", head.replace(&old, &new), parent.id)
            }
            _ => row.clone(),
        })
        .collect();
    session.rows.splice(0..0, copies);
}

fn files(chance: &mut Chance, session: Session) -> Vec<File> {
    let text = |rows: &[String], end: &str| rows.iter().flat_map(|row| [row, end]).collect::<String>();
    let mut main = text(&session.rows, if chance.one_in(9) { "\r\n" } else { "\n" }).into_bytes();
    if chance.one_in(9) {
        main.splice(0..0, *b"\xef\xbb\xbf");
    }
    if chance.one_in(4) {
        main.extend_from_slice(
            b"{\"type\":\"assistant\",\"message\":{\"id\":\"tail\",\"usage\":{\"output_tokens\":4",
        );
    }
    let worker = session.worker;
    let mut files =
        vec![File { path: format!("{}.jsonl", session.path), worker: worker.clone(), bytes: main }];
    if !session.agent.is_empty() {
        let path = format!("{}/subagents/agent-a1.jsonl", session.path);
        files.push(File { path, worker, bytes: text(&session.agent, "\n").into_bytes() });
    }
    files
}
