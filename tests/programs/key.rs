//! mo-key: a key goes in without a trace elsewhere, or nothing changes at all.

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::World;
use support::tmpfs::{ReadOnly, SmallDisk};

use crate::staff::{KEY, create, file, mo_key, mo_worker, refused, unprivileged, with_workers};
use crate::strace;
use crate::terminal::on_terminal;
use crate::tree::Tree;

const MO_KEY: &str = env!("CARGO_BIN_EXE_mo-key");
const PLACEHOLDER: &str = "PASTE_YOUR_API_KEY_HERE";

fn settings(world: &World, name: &str) -> String {
    world.read(file(name, "settings.json"))
}

#[test]
fn a_key_is_stored_and_every_other_byte_stays() {
    let world = with_workers(&["glm"]);
    let odd = "{ \"permissions\":{ \"allow\" : [ ] },\r\n\t\"env\" :{\"ANTHROPIC_BASE_URL\":\"http://127.0.0.1:1\" , \"ANTHROPIC_AUTH_TOKEN\" :\"PASTE_YOUR_API_KEY_HERE\", \"X\":\"\\u00e9\"} , \"n\":1.0e3}\n\n";
    world.write(file("glm", "settings.json"), odd);
    let run = mo_key(&world, &["glm"], format!(" \t{KEY}\r\n\n")).run().ok().stdout_is("");
    run.stderr_has("…XYZW").stderr_lacks(KEY).stderr_lacks("half_").stderr_has("`mo-worker check glm`");
    assert_eq!(settings(&world, "glm"), odd.replace(PLACEHOLDER, KEY));
    assert_eq!(world.mode(file("glm", "settings.json")), 0o600);
    for words in [&["list"][..], &["show", "glm"], &["show", "glm", "--json"], &["list", "--json"]] {
        mo_worker(&world, words).run().ok().stdout_lacks(KEY).stdout_lacks("half_").stderr_lacks(KEY);
    }
    mo_worker(&world, &["show", "glm"]).run().ok().stdout_has("stored, …XYZW");
    mo_key(&world, &["glm"], "short").run().ok().stderr_lacks("short").stderr_lacks("hort");
    mo_key(&world, &["glm", "--remove"], "").run().ok();
    assert_eq!(settings(&world, "glm"), odd);
    mo_worker(&world, &["list"]).run().ok().stdout_has("needs key");
}

#[test]
fn what_is_no_key_is_refused_and_changes_nothing() {
    let world = with_workers(&["glm"]);
    mo_key(&world, &["glm"], "the-key-that-was-there-before").run().ok();
    for (given, told) in [
        (Vec::new(), "the key is empty"),
        (b" \n\t\r\n".to_vec(), "the key is empty"),
        (format!("{KEY} {KEY}").into_bytes(), "white space inside"),
        (format!("{KEY}\n{KEY}\n").into_bytes(), "white space inside"),
        (format!("{KEY}\u{1b}[A").into_bytes(), "a character that no key has"),
        (format!("{KEY}\0").into_bytes(), "a character that no key has"),
        (format!("{KEY}\u{200b}").into_bytes(), "a character that no key has"),
        (b"\xff\xfe".to_vec(), "not valid UTF-8"),
        (vec![b'k'; 4097], "more than 4 KiB"),
        (vec![b'k'; 10 << 20], "more than 4 KiB"),
    ] {
        refused(&world, mo_key(&world, &["glm"], given), 65, told);
    }
    mo_key(&world, &["glm"], vec![b'k'; 4096]).run().ok();
}

#[test]
fn a_key_on_the_command_line_is_refused_with_the_reason() {
    let world = with_workers(&["glm"]);
    let mut typed: Vec<Vec<String>> = Vec::new();
    for key in
        [KEY, "sk-ant-api03-AbC.SECRET", "abcdef123456", "0123456789abcdef0123456789abcdef", "my.half.key"]
    {
        typed.extend([vec![key.to_owned()], vec!["glm".into(), key.to_owned()]]);
        typed.extend(["glm=", "--", "--key=", "--remove=", "-"].map(|glue| vec![format!("{glue}{key}")]));
        typed.extend(["--key=", "--remove=", "--"].map(|glue| vec!["glm".into(), format!("{glue}{key}")]));
        typed.push(vec!["glm".into(), "--key".into(), key.to_owned()]);
        for words in typed.drain(..) {
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            let run = mo_key(&world, &words, "").run().code(64).stdout_is("").stderr_lacks(key);
            run.stderr_has("make a new one at the provider");
        }
    }
    let mistyped = mo_key(&world, &["glm", "--from-comand", KEY], "").run().code(64);
    mistyped.stderr_has("did you mean --from-command?").stderr_lacks(KEY);
    refused(&world, mo_key(&world, &["glm", KEY], ""), 64, "a key must not stand on the command line");
    refused(&world, mo_key(&world, &["nobody"], KEY), 64, "there is no such worker");
    refused(
        &world,
        mo_key(&world, &["glm", "--remove", "--from-command", "x"], ""),
        64,
        "exclude each other",
    );
    refused(&world, mo_key(&world, &["glm", "--from-command", " "], ""), 64, "the command is empty");
    refused(&world, mo_key(&world, &[], ""), 64, "NAME is missing");
}

#[test]
fn a_key_typed_at_another_program_is_not_repeated() {
    let world = with_workers(&["glm"]);
    let key = "0123456789abcdef0123456789abcdef";
    let glued = format!("--context-window={key}");
    for words in [
        &["create", "x", key][..],
        &["create", "x", "--preset", "zai", "--auth", key],
        &["create", "x", "--preset", key],
        &["create", "x", "--preset", "zai", &glued],
        &["create", "x", "--preset", "zai", "--max-parallel", key],
        &["create", "x", "--preset", "zai", "--default-tier", key],
        &["create", "x", "--preset", "zai", "--context-window", &format!("sonnet={key}")],
        &["check", "glm", "--timeout", key],
        &["show", key],
        &["show", KEY],
        &[key],
        &["show", &format!("--{key}")],
    ] {
        mo_worker(&world, words).run().code(64).stderr_lacks(&key[..13]).stderr_lacks(&KEY[..13]);
    }
    for word in [key, KEY] {
        let run = world.command(env!("CARGO_BIN_EXE_mo-spawn")).arg(word).run().code(64);
        run.stderr_lacks(&key[..13]).stderr_lacks(&KEY[..13]);
    }
}

#[test]
fn a_command_takes_the_keys_place_and_the_key_never_comes_to_the_disk() {
    let world = with_workers(&["glm"]);
    mo_key(&world, &["glm"], KEY).run().ok();
    let command = format!("printf %s '{}' | tr a-z A-Z", KEY.to_lowercase());
    mo_key(&world, &["glm", "--from-command", &command], "").run().ok().stderr_lacks(KEY);
    let upper = KEY.to_uppercase();
    for path in world.files().iter().filter(|path| world.path(path).is_file()) {
        let text = String::from_utf8_lossy(&world.bytes(path)).into_owned();
        assert!(!text.contains(KEY) && !text.contains(&upper), "{}", path.display());
    }
    assert!(!settings(&world, "glm").contains("ANTHROPIC_AUTH_TOKEN"));
    let profile: Value = serde_json::from_str(&world.read(file("glm", "worker.json"))).unwrap();
    assert_eq!(profile["key_command"][2], command.as_str());
    mo_worker(&world, &["list"]).run().ok().stdout_has("unchecked");
    mo_key(&world, &["glm"], KEY).run().ok();
    assert!(
        settings(&world, "glm").contains(KEY) && !world.read(file("glm", "worker.json")).contains("printf")
    );
    mo_key(&world, &["glm", "--from-command", &command], "").run().ok();
    mo_key(&world, &["glm", "--remove"], "").run().ok();
    assert!(settings(&world, "glm").contains(PLACEHOLDER));
    mo_worker(&world, &["list"]).run().ok().stdout_has("needs key");
}

#[test]
fn a_worker_of_the_earlier_plugin_gets_its_key_and_nothing_else() {
    let world = World::new();
    let text = format!(
        "{{\n \"env\": {{\n  \"ANTHROPIC_AUTH_TOKEN\": \"{PLACEHOLDER}\",\n  \"ANTHROPIC_BASE_URL\": \"https://h\"\n }}\n}}"
    );
    world.write(file("old", "settings.json"), &text);
    mo_key(&world, &["old"], KEY).run().ok();
    assert_eq!(settings(&world, "old"), text.replace(PLACEHOLDER, KEY));
    assert!(!world.path(file("old", "worker.json")).exists());
}

#[test]
fn settings_that_are_not_ours_to_follow_are_refused() {
    let world = with_workers(&["glm"]);
    let path = world.path(file("glm", "settings.json"));
    let target = world.write("elsewhere.json", settings(&world, "glm"));
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    refused(&world, mo_key(&world, &["glm"], KEY), 78, "refusing to follow the symlink");
    refused(&world, mo_key(&world, &["glm", "--remove"], ""), 78, "symlink");
    refused(&world, mo_key(&world, &["glm", "--from-command", "x"], ""), 78, "symlink");
    let world = with_workers(&["glm"]);
    fs::rename(world.root().join("glm"), world.path("moved")).unwrap();
    std::os::unix::fs::symlink(world.path("moved"), world.root().join("glm")).unwrap();
    refused(&world, mo_key(&world, &["glm"], KEY), 78, "refusing to follow the symlink");
    if rustix::process::geteuid().is_root() {
        let world = with_workers(&["glm"]);
        std::os::unix::fs::chown(world.path(file("glm", "settings.json")), Some(65534), None).unwrap();
        refused(&world, mo_key(&world, &["glm"], KEY), 78, "refusing a file of another user");
    }
}

#[test]
fn a_broken_profile_is_told_and_left_alone() {
    for (text, told) in [
        ("[]", "worker.json:1: "),
        ("{\"version\": 1,\n}", "worker.json:2: "),
        ("", "worker.json:1: it is empty"),
    ] {
        let world = with_workers(&["glm"]);
        world.write(file("glm", "worker.json"), text);
        refused(&world, mo_key(&world, &["glm"], KEY), 65, told);
    }
}

#[test]
fn the_key_has_no_other_readers_from_its_first_byte_on() {
    let world = with_workers(&["glm"]);
    world.set_mode(file("glm", "settings.json"), 0o644);
    let open = ["-c", "umask 0; exec \"$@\"", "sh", MO_KEY, "glm"];
    world.command("/bin/sh").args(open).stdin(KEY).run().ok();
    assert_eq!(world.mode(file("glm", "settings.json")), 0o600);
    let Some(trace) =
        strace::of(&world, &["-e", "trace=openat,write,fchmod,fsync,rename,renameat,renameat2"])
    else {
        return;
    };
    world.write("key", KEY);
    let (lines, code) = trace.run(&["/bin/sh", "-c", "umask 0; exec \"$0\" glm < key", MO_KEY]);
    assert_eq!(code, Some(0));
    let at =
        |what: &str| lines.iter().position(|line| line.contains(what)).unwrap_or_else(|| panic!("no {what}"));
    let created: Vec<_> =
        lines.iter().filter(|line| line.contains("O_CREAT") && line.contains("/glm/")).collect();
    assert!(
        !created.is_empty() && created.iter().all(|line| line.contains("O_EXCL") && line.contains("0600)")),
        "{created:#?}"
    );
    let chmods = lines.iter().filter(|line| line.contains("fchmod("));
    assert!(chmods.clone().all(|line| line.contains("0600")), "{:#?}", chmods.collect::<Vec<_>>());
    let (written, synced, renamed) = (at("write("), at("fsync("), at("rename"));
    assert!(written < synced && synced < renamed, "{lines:#?}");
}

#[test]
fn without_a_home_or_a_right_to_write_nothing_happens() {
    let mut world = with_workers(&["glm"]);
    let settings = world.path(file("glm", "settings.json"));
    let run = |world: &World| unprivileged(world, MO_KEY).arg("glm").stdin(KEY);
    world.set_mode(file("glm", "settings.json"), 0o000);
    let before = fs::metadata(&settings).unwrap().modified().unwrap();
    run(&world).run().code(74).stderr_has("cannot read").stderr_has("permission denied");
    assert_eq!(fs::metadata(&settings).unwrap().modified().unwrap(), before);
    world.set_mode(file("glm", "settings.json"), 0o600);
    {
        let _held = ReadOnly::new(world.root());
        refused(&world, mo_key(&world, &["glm"], KEY), 74, "cannot");
    }
    world.without("HOME");
    refused(&world, mo_key(&world, &["glm"], KEY), 78, "CLAUDE_WORKERS_ROOT");
    for words in [["--help"], ["-h"], ["--version"]] {
        mo_key(&world, &words, "").run().ok().stdout_has("mo-key").stderr_is("");
        mo_key(&world, &words, "").stdout_closed().run().ok();
    }
}

#[test]
fn a_full_disk_leaves_the_old_key_whole() {
    let mut world = World::new();
    let disk = SmallDisk::new(256);
    world.var("CLAUDE_WORKERS_ROOT", disk.path());
    create(&world, "glm");
    mo_key(&world, &["glm"], "the-key-that-was-there-before").run().ok();
    disk.fill();
    let before = Tree::of(&disk.path().join("glm"));
    mo_key(&world, &["glm"], KEY).run().code(74).stderr_has("disk is full").stderr_lacks(KEY);
    before.is_still(&disk.path().join("glm"));
    disk.empty();
    mo_key(&world, &["glm"], KEY).run().ok();
}

#[test]
fn thirty_two_keys_at_once_all_arrive() {
    let names: Vec<String> = (0..32).map(|number| format!("w{number}")).collect();
    let world = with_workers(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let runs: Vec<_> =
        names.iter().map(|name| mo_key(&world, &[name], format!("{KEY}-{name}")).spawn()).collect();
    for run in runs {
        run.wait().ok();
    }
    for name in &names {
        assert!(settings(&world, name).contains(&format!("\"{KEY}-{name}\"")), "{name}");
    }
    let before = settings(&world, "w0");
    let runs: Vec<_> =
        (0..32).map(|number| mo_key(&world, &["w0"], format!("{KEY}-{number:02}")).spawn()).collect();
    for run in runs {
        run.wait().ok();
    }
    let after = settings(&world, "w0");
    let won: Vec<_> = (0..32)
        .filter(|number| after == before.replace(&format!("{KEY}-w0"), &format!("{KEY}-{number:02}")))
        .collect();
    assert_eq!(won.len(), 1, "{after}");
    assert!(fs::read_dir(world.root().join("w0")).unwrap().flatten().all(|entry| {
        ["settings.json", "worker.json", "run"]
            .iter()
            .any(|name| Path::new(&entry.file_name()) == Path::new(name))
    }));
}

#[test]
fn what_is_typed_at_the_prompt_is_not_shown() {
    let world = with_workers(&["glm"]);
    let mut running = on_terminal(&world, MO_KEY, &["glm"]).spawn();
    running.wait_for_stdout("key for glm (not shown): ");
    #[cfg(target_os = "linux")]
    crate::terminal::wait_for_hidden_input(&world, MO_KEY);
    crate::terminal::type_line(&mut running, &format!(" {KEY} "));
    let output = running.wait().ok().stdout_lacks(KEY).stdout_lacks("half_");
    output.stdout_has("…XYZW");
    assert!(settings(&world, "glm").contains(KEY));
    let mut running = on_terminal(&world, MO_KEY, &["none"]).spawn();
    running.wait_for_stdout("there is no such worker");
    assert!(!running.wait().code(64).text().contains("not shown"), "nobody types a key in vain");
}
