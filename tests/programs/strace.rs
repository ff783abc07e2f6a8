//! Programs under strace, where there is one that may trace: what they ask of the system, and dying at any of it.

use support::World;

/// An strace that works here.
pub struct Strace<'a> {
    world: &'a World,
    words: Vec<String>,
}

/// An strace with these words of its own; nothing where this machine has none that works.
pub fn of<'world>(world: &'world World, words: &[&str]) -> Option<Strace<'world>> {
    let attempt = world.command("/usr/bin/env").args(["strace", "-f", "-o", "/dev/null", "/bin/true"]).run();
    (attempt.code == Some(0))
        .then(|| Strace { world, words: words.iter().map(|word| (*word).into()).collect() })
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
