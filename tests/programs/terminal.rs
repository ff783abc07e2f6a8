//! A program on a real terminal: `script` gives it one, and passes on what we type and what it shows.

use std::path::Path;

use support::{Run, Running, World, wait_until};

/// A program on a terminal of its own; its standard error is there too.
pub fn on_terminal(world: &World, program: impl AsRef<Path>, words: &[&str]) -> Run {
    let script = world.command("/usr/bin/env").arg("script").var("TERM", "xterm");
    if cfg!(target_os = "macos") {
        return script
            .args(["-q", "/dev/null"])
            .arg(program.as_ref())
            .args(words.iter().copied())
            .stdin_held_open();
    }
    let quoted = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    let line: Vec<_> =
        [program.as_ref().to_str().unwrap()].iter().chain(words).map(|word| quoted(word)).collect();
    script.args(["-qefc", &line.join(" "), "/dev/null"]).stdin_held_open()
}

/// Waits until the program with these words no longer shows what is typed.
#[cfg(target_os = "linux")]
pub fn wait_for_hidden_input(world: &World, program: &str) {
    wait_until("the terminal to hide what is typed", || {
        let ours = world.processes().into_iter().find(|(_, line)| line.starts_with(program));
        ours.is_some_and(|(pid, _)| {
            let stty = std::process::Command::new("stty")
                .arg("-a")
                .arg("-F")
                .arg(format!("/proc/{pid}/fd/0"))
                .output();
            stty.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("-echo "))
        })
    });
}

/// Types a line.
pub fn type_line(running: &mut Running, line: &str) {
    running.write(format!("{line}\r").as_bytes());
}
