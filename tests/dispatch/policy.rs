//! `mo-dispatch policy`: a block in a user's CLAUDE.md, and nothing else in it.

use std::fs;
use std::os::unix::fs::symlink;

use support::{Run, World};

fn policy(world: &World, words: &[&str]) -> Run {
    world.command(env!("CARGO_BIN_EXE_mo-dispatch")).arg("policy").args(words.iter().copied())
}

#[test]
fn the_policy_comes_into_a_file_is_renewed_and_leaves_no_trace() {
    let world = World::new();
    let before = "# Mine\r\n\r\nkeep this \u{feff}\u{202e}as it is\r\n\r\n";
    world.write("CLAUDE.md", before);
    world.set_mode("CLAUDE.md", 0o640);
    policy(&world, &["install"]).run().ok();
    let with = world.read("CLAUDE.md");
    assert!(with.starts_with(before) && with.contains("# Dispatch policy"), "{with}");
    assert_eq!(world.mode("CLAUDE.md"), 0o640);
    policy(&world, &["install"]).run().ok().stderr_has("already");
    world.write("CLAUDE.md", with.replace("# Dispatch policy", "# An older one"));
    policy(&world, &["install"]).run().ok();
    assert_eq!(world.read("CLAUDE.md"), with);
    policy(&world, &["remove"]).run().ok();
    assert_eq!(world.read("CLAUDE.md"), before);
    policy(&world, &["remove"]).run().ok().stderr_has("no policy of ours");
}

#[test]
fn a_file_that_was_not_there_goes_again_and_a_link_stays_one() {
    let world = World::new();
    policy(&world, &["install"]).run().ok();
    policy(&world, &["remove"]).run().ok();
    assert!(!world.path("CLAUDE.md").exists());
    world.write("AGENTS.md", "mine");
    symlink("AGENTS.md", world.path("CLAUDE.md")).expect("a link");
    policy(&world, &["install"]).run().ok();
    assert!(world.path("CLAUDE.md").is_symlink() && world.read("AGENTS.md").contains("# Dispatch policy"));
    policy(&world, &["remove", "--file", "CLAUDE.md"]).run().ok();
    assert_eq!(world.read("AGENTS.md"), "mine");
    fs::remove_file(world.path("AGENTS.md")).expect("the target goes");
    policy(&world, &["install"]).run().code(74).stderr_has("link");
}

#[test]
fn a_file_that_is_no_text_or_has_broken_marks_is_left_alone() {
    let world = World::new();
    let start = "<!-- model-orchestration policy: start -->\n";
    let end = "<!-- model-orchestration policy: end -->\n";
    let cases = [
        b"\xff\xfe binary".to_vec(),
        start.into(),
        format!("{end}{start}").into(),
        format!("{start}{end}{start}{end}").into(),
    ];
    for bytes in cases {
        world.write("CLAUDE.md", &bytes);
        for command in ["install", "remove"] {
            policy(&world, &[command]).run().code(65).stderr_has("CLAUDE.md");
            assert_eq!(world.bytes("CLAUDE.md"), bytes);
        }
    }
    fs::remove_file(world.path("CLAUDE.md")).expect("it goes");
    fs::create_dir(world.path("CLAUDE.md")).expect("a folder in its place");
    policy(&world, &["install"]).run().code(74);
}

#[test]
fn every_text_is_shown() {
    let world = World::new();
    let text = |which: &[&str]| policy(&world, &[&["show"], which].concat()).run().ok().text();
    assert!(text(&[]).starts_with("# Dispatch policy") && text(&["worker"]).contains("list of files bind"));
    assert!(text(&["frontier"]).len() * 4 < text(&["calibration"]).len());
    policy(&world, &["show", "other"]).run().code(64).stderr_has("manager");
}
