//! Programs under strace, where there is one that may trace: what they ask of the system, and dying at any of it.

use support::World;

/// An strace that works here.
pub struct Strace<'a> {
    world: &'a World,
    words: Vec<String>,
}

/// With these words of strace's own; nothing where this machine has no working strace.
pub fn of<'a>(world: &'a World, words: impl IntoIterator<Item = impl Into<String>>) -> Option<Strace<'a>> {
    let works = world.command("/usr/bin/env").args(["strace", "-f", "-o", "/dev/null", "/bin/true"]).run();
    (works.code == Some(0)).then(|| Strace { world, words: words.into_iter().map(Into::into).collect() })
}

impl Strace<'_> {
    /// The lines of the trace of this program, and its exit code.
    pub fn run(&self, program: &[&str]) -> (Vec<String>, Option<i32>) {
        let traced = self.world.command("/usr/bin/env").args(["strace", "-f", "-s", "8", "-o", "trace"]);
        let output =
            traced.args(self.words.iter().map(String::as_str)).arg("--").args(program.iter().copied()).run();
        let lines = self.world.read("trace").lines().map(str::to_owned).collect();
        std::fs::remove_file(self.world.path("trace")).unwrap();
        (lines, output.code)
    }
}
