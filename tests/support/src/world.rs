//! A sealed test environment: own home, own variables, own clock, fakes first on PATH.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::run::Run;

/// The time every program under test believes it is.
pub const NOW: &str = "2026-12-01T12:00:00Z";

/// Where the shell and the tools of the machine are.
const SYSTEM_PATH: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// One sealed environment. When it is dropped, its files go, and so do processes that still live in it.
#[derive(Debug)]
pub struct World {
    home: PathBuf,
    fakes: PathBuf,
    bins: Vec<PathBuf>,
    system: Vec<PathBuf>,
    vars: BTreeMap<OsString, OsString>,
    _dir: TempDir,
}

impl World {
    /// An empty home under a plain path.
    #[track_caller]
    pub fn new() -> Self {
        Self::under("home")
    }

    /// An empty home whose path has spaces, quotes and letters beyond ASCII.
    #[track_caller]
    pub fn with_odd_path() -> Self {
        Self::under("Jörg's \"home\" $x 家 dir")
    }

    #[track_caller]
    fn under(name: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("mo-world-").tempdir().expect("a temporary directory");
        // A symlinked temporary directory (macOS) would make the same file have two names.
        let top = dir.path().canonicalize().expect("the temporary directory exists");
        let home = top.join(name);
        let fakes = top.join("fakes");
        for (path, mode) in
            [(&home, 0o755), (&fakes, 0o755), (&top.join("tmp"), 0o755), (&top.join("run"), 0o700)]
        {
            fs::create_dir_all(path).expect("a directory in the temporary directory");
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
        }
        let vars = [
            ("HOME", home.clone().into_os_string()),
            ("TMPDIR", top.join("tmp").into()),
            ("XDG_RUNTIME_DIR", top.join("run").into()),
            ("LANG", "C.UTF-8".into()),
            ("TERM", "dumb".into()),
            ("TZ", "UTC".into()),
            ("MODEL_ORCHESTRATION_NOW", NOW.into()),
        ];
        Self {
            home,
            fakes,
            bins: Vec::new(),
            system: SYSTEM_PATH.map(PathBuf::from).into(),
            vars: vars.into_iter().map(|(name, value)| (name.into(), value)).collect(),
            _dir: dir,
        }
    }

    /// The home directory.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The root of the workers.
    pub fn root(&self) -> PathBuf {
        self.home.join(".claude-workers")
    }

    /// A path below home.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.home.join(relative)
    }

    /// Writes a file below home, with the directories it needs.
    #[track_caller]
    pub fn write(&self, relative: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&path, bytes))
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        path
    }

    /// The text of a file below home.
    #[track_caller]
    pub fn read(&self, relative: impl AsRef<Path>) -> String {
        String::from_utf8(self.bytes(relative)).expect("a text in UTF-8")
    }

    /// The bytes of a file below home.
    #[track_caller]
    pub fn bytes(&self, relative: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(relative);
        fs::read(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
    }

    /// The mode bits of a file below home; a symlink's own, not its target's.
    #[track_caller]
    pub fn mode(&self, relative: impl AsRef<Path>) -> u32 {
        let path = self.path(relative);
        let facts = fs::symlink_metadata(&path);
        facts.unwrap_or_else(|error| panic!("cannot stat {}: {error}", path.display())).permissions().mode()
            & 0o7777
    }

    /// Sets the mode bits of a file below home.
    #[track_caller]
    pub fn set_mode(&self, relative: impl AsRef<Path>, mode: u32) {
        let path = self.path(relative);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
            .unwrap_or_else(|error| panic!("cannot set the mode of {}: {error}", path.display()));
    }

    /// Every file and symlink below home, relative, in order: to prove that nothing was made or left.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        collect(&self.home, &mut found);
        let mut files: Vec<_> =
            found.iter().map(|path| path.strip_prefix(&self.home).unwrap_or(path).to_path_buf()).collect();
        files.sort();
        files
    }

    /// Sets a variable for all later runs.
    pub fn var(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        self.vars.insert(name.into(), value.into());
        self
    }

    /// Takes a variable away from all later runs.
    pub fn without(&mut self, name: impl Into<OsString>) -> &mut Self {
        self.vars.remove(&name.into());
        self
    }

    /// Puts the folder of a program under test on PATH, after the fakes.
    pub fn bin_of(&mut self, program: impl AsRef<Path>) -> &mut Self {
        let folder = program.as_ref().parent().unwrap_or(Path::new("/")).to_path_buf();
        if !self.bins.contains(&folder) {
            self.bins.push(folder);
        }
        self
    }

    /// Takes the machine's own tools off PATH: only fakes and programs under test are found.
    pub fn without_system_path(&mut self) -> &mut Self {
        self.system.clear();
        self
    }

    /// Makes a program that is found first on PATH: a shell script, without its `#!` line.
    #[track_caller]
    pub fn fake(&self, name: &str, script: &str) -> PathBuf {
        let path = self.fakes.join(name);
        // Written by a child: a file that *we* hold open for writing could be inherited by another test's fork
        // and would then be "text file busy" when it is started.
        let mut writer = Command::new("/bin/sh")
            .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut pipe = writer.stdin.take().expect("its standard input");
        pipe.write_all(format!("#!/bin/sh\n{script}\n").as_bytes()).expect("the script is taken");
        drop(pipe);
        assert!(writer.wait().expect("the shell ends").success(), "cannot write {}", path.display());
        path
    }

    /// Puts a program of elsewhere first on PATH under this name.
    #[track_caller]
    pub fn link(&self, name: &str, program: impl AsRef<Path>) -> PathBuf {
        let path = self.fakes.join(name);
        std::os::unix::fs::symlink(program, &path).expect("a symlink in the folder of the fakes");
        path
    }

    /// The variables a run gets.
    pub fn vars(&self) -> BTreeMap<OsString, OsString> {
        let mut vars = self.vars.clone();
        let path = [&self.fakes].into_iter().chain(&self.bins).chain(&self.system);
        let path: Vec<&OsStr> = path.map(|part| part.as_os_str()).collect();
        vars.entry("PATH".into()).or_insert_with(|| path.join(OsStr::new(":")));
        vars
    }

    /// A run of a program in this world, in its home directory.
    pub fn command(&self, program: impl AsRef<Path>) -> Run {
        Run::new(program, self.vars(), &self.home)
    }

    /// The processes that live in this world now: those whose `HOME` is ours. Zombies do not count.
    pub fn processes(&self) -> Vec<(u32, String)> {
        let ours = [b"HOME=", self.home.as_os_str().as_bytes()].concat();
        if cfg!(target_os = "linux") {
            let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
            let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
            pids.filter(|pid| {
                let env = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                env.split(|byte| *byte == 0).any(|entry| entry == ours)
            })
            .map(|pid| {
                let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                (pid, String::from_utf8_lossy(&line).replace('\0', " "))
            })
            .collect()
        } else {
            let listed = Command::new("ps").args(["-axEww", "-o", "pid=,command="]).output();
            let listed = listed.map(|output| output.stdout).unwrap_or_default();
            let ours = String::from_utf8_lossy(&ours).into_owned();
            let lines = String::from_utf8_lossy(&listed).into_owned();
            let lines = lines.lines().filter(|line| line.contains(&ours));
            lines
                .filter_map(|line| {
                    let (pid, rest) = line.trim_start().split_once(' ')?;
                    Some((pid.parse().ok()?, rest.to_owned()))
                })
                .collect()
        }
    }

    /// Ends everything that lives in this world in one instant, as a power cut does: all are frozen before the first
    /// one goes, so that nobody sees another's end.
    pub fn power_cut(&self) {
        let mut frozen = Vec::new();
        loop {
            let new: Vec<u32> = self
                .processes()
                .into_iter()
                .map(|(pid, _)| pid)
                .filter(|pid| !frozen.contains(pid))
                .collect();
            if new.is_empty() {
                break;
            }
            signal("-STOP", &new);
            frozen.extend(new);
        }
        signal("-KILL", &frozen);
    }
}

/// One of them may have ended meanwhile, which is as good.
fn signal(which: &str, pids: &[u32]) {
    let _ =
        Command::new("kill").arg(which).args(pids.iter().map(u32::to_string)).stderr(Stdio::null()).status();
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for (pid, _) in self.processes() {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

fn collect(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patience::wait_until;

    #[test]
    fn a_run_sees_only_this_world() {
        let world = World::new();
        let seen = world.command("/usr/bin/env").run().ok().text();
        let mut names: Vec<_> =
            seen.lines().filter_map(|line| line.split_once('=')).map(|pair| pair.0).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["HOME", "LANG", "MODEL_ORCHESTRATION_NOW", "PATH", "TERM", "TMPDIR", "TZ", "XDG_RUNTIME_DIR"]
        );
        assert!(seen.contains(&format!("HOME={}", world.home().display())));
    }

    #[test]
    fn a_fake_hides_the_real_program() {
        let world = World::new();
        world.fake("ls", "echo fake \"$@\"");
        world.command("/bin/sh").args(["-c", "ls a"]).run().ok().stdout_is("fake a\n");
    }

    #[test]
    fn without_the_system_only_ours_is_found() {
        let mut world = World::new();
        world.without_system_path();
        world.command("/bin/sh").args(["-c", "ls"]).run().code(127);
    }

    #[test]
    fn an_odd_path_works_like_a_plain_one() {
        let world = World::with_odd_path();
        world.fake("show", "cat \"$HOME/a b/ü\"");
        world.write("a b/ü", "here");
        world.set_mode("a b/ü", 0o640);
        assert_eq!(world.mode("a b/ü"), 0o640);
        world.command("/bin/sh").args(["-c", "show"]).run().ok().stdout_is("here");
        assert_eq!(world.files(), [Path::new("a b/ü")]);
    }

    #[test]
    fn a_process_left_behind_is_found_and_ends_with_its_world() {
        let world = World::new();
        let script = "sleep 1000 >/dev/null 2>&1 & echo $!";
        let output = world.command("/bin/sh").args(["-c", script]).run().ok();
        let pid: u32 = output.text().trim().parse().expect("a process id");
        wait_until("the sleep to be listed", || {
            world.processes().iter().any(|(found, line)| *found == pid && line.starts_with("sleep"))
        });
        drop(world);
        wait_until("the sleep to be gone", || !crate::run::is_running(pid));
    }
}
