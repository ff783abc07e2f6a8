//! Best of N with the real client: several runs side by side, one winner, and nothing left of the others.

use serde_json::{Value, json};
use support::Run;

use crate::stage::{Stage, WORKER_KEY};

/// Every worker does what its own name says: the task is the same for all.
const BY_NAME: &str = "#bash <<DONE\ncase $MO_WORKER in\n  good) echo good > made ;;\n  better) echo better > made ;;\n  \
                       bad) echo bad > made ;;\n  slow) touch \"$HOME/slow\"; while :; do sleep 1; done ;;\nesac\n\
                       case $MO_WORKER in good|better) while test -e \"$HOME/wait\"; do sleep 0.1; done ;; esac\nDONE\n\
                       #say made it";

/// What `bad` does not pass.
const CHECK: &str = "! grep -q bad made";

impl Stage {
    /// A stage with these workers and a repository in `repo`.
    fn with_field(workers: &[&str]) -> Self {
        let stage = Self::new();
        for worker in workers {
            stage.worker(worker, &stage.workers, WORKER_KEY);
        }
        stage.world.write(".gitconfig", "[user]\nname = User\nemail = user@example.com\n");
        std::fs::create_dir(stage.world.path("repo")).expect("a folder");
        stage.git(&["init", "-q", "-b", "main"]);
        stage.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        stage
    }

    /// Git in that repository.
    pub(crate) fn git(&self, words: &[&str]) -> String {
        let run = self.world.command("/usr/bin/env").arg("git").args(words.iter().copied());
        run.cwd(self.world.path("repo")).run().ok().text().trim_end().to_owned()
    }

    fn contest(&self, words: &[&str]) -> Run {
        let run = self.world.command(env!("CARGO_BIN_EXE_mo-spawn")).args(words.iter().copied());
        let run = run.args(["--task", "-", "--permission-mode", "bypassPermissions", "--json"]);
        run.stdin(BY_NAME).cwd(self.world.path("repo"))
    }

    fn branches(&self) -> Vec<String> {
        let list = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/mo"]);
        list.lines().map(str::to_owned).collect()
    }

    fn trees(&self) -> usize {
        self.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count() - 1
    }
}

/// Number, worker and outcome of each that took part.
fn outcomes(said: &Value) -> Vec<(&str, &str)> {
    let candidates = said["best_of"]["candidates"].as_array().expect("candidates");
    let text = |value: &'_ Value, name: &str| value[name].as_str().map(str::to_owned).unwrap_or_default();
    assert!(candidates.iter().all(|one| text(one, "id").starts_with("d-")), "{said:#}");
    candidates
        .iter()
        .map(|one| (one["worker"].as_str().expect("a worker"), one["outcome"].as_str().expect("an outcome")))
        .collect()
}

#[test]
fn the_first_that_passes_wins_and_the_others_are_stopped_and_cleaned() {
    let stage = Stage::with_field(&["good", "bad", "slow"]);
    // Nobody passes before the slow one is at work and the bad one has failed.
    stage.world.write("wait", "");
    let words = ["--best-of", "slow,bad,good", "--check", CHECK, "--attempts", "1"];
    let run = stage.contest(&words).spawn();
    support::wait_until("the slow one at work and the bad one out", || {
        stage.world.path("slow").exists()
            && stage.records().iter().any(|record| record["status"] == "check-failed")
    });
    std::fs::remove_file(stage.world.path("wait")).expect("the file is there");
    let said: Value = run.wait().ok().json();
    assert_eq!(outcomes(&said), [("slow", "stopped"), ("bad", "check-failed"), ("good", "won")], "{said:#}");
    assert_eq!((&said["status"], &said["summary"]), (&json!("done"), &json!("made it")), "{said:#}");
    assert_eq!((&said["best_of"]["winner"], &said["files"]), (&json!(3), &json!(["made"])), "{said:#}");
    let branch = said["branch"].as_str().expect("a branch");
    assert_eq!((stage.branches(), stage.trees()), (vec![branch.to_owned()], 1));
    assert_eq!(stage.git(&["show", &format!("{branch}:made")]), "good");
    let merge: Vec<&str> = said["merge"].as_str().expect("how to merge").split(' ').skip(1).collect();
    stage.git(&merge);
    assert_eq!(stage.world.read("repo/made"), "good\n");
    stage.nothing_is_left();
}

#[test]
fn with_a_judge_the_best_of_those_that_pass_wins() {
    let stage = Stage::with_field(&["good", "bad", "better"]);
    let judge = "test -z \"$ANTHROPIC_AUTH_TOKEN\" && grep -q better made && echo 'score: 2.5' || echo 1";
    let words = ["--best-of", "good,bad,better", "--check", CHECK, "--attempts", "1", "--judge", judge];
    let said: Value = stage.contest(&words).run().ok().json();
    assert_eq!(outcomes(&said), [("good", "passed"), ("bad", "check-failed"), ("better", "won")], "{said:#}");
    let scores: Vec<&Value> = said["best_of"]["candidates"]
        .as_array()
        .expect("candidates")
        .iter()
        .map(|one| &one["score"])
        .collect();
    assert_eq!(scores, [&json!(1.0), &Value::Null, &json!(2.5)]);
    let branch = said["branch"].as_str().expect("a branch");
    assert_eq!((stage.branches(), stage.trees()), (vec![branch.to_owned()], 1));
    assert_eq!(stage.git(&["show", &format!("{branch}:made")]), "better");
    // What was taken away can be had back by its commit until git forgets it.
    let removed = said["best_of"]["candidates"][0]["removed"].as_str().expect("a commit");
    assert_eq!(stage.git(&["show", &format!("{removed}:made")]), "good");
    let gone = &said["best_of"]["candidates"][0]["result"];
    assert_eq!(
        (&gone["branch"], &gone["merge"], &gone["worktree"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
}

#[test]
fn where_nobody_passes_everything_is_kept() {
    let stage = Stage::with_field(&["bad"]);
    let words = ["bad", "--best-of", "2", "--check", CHECK, "--attempts", "1"];
    let output = stage.contest(&words).run().code(1);
    let said: Value = output.json();
    assert_eq!(outcomes(&said), [("bad", "check-failed"); 2], "{said:#}");
    assert_eq!((&said["status"], &said["best_of"]["winner"]), (&json!("check-failed"), &Value::Null));
    output.stderr_has("nobody won");
    assert_eq!(stage.trees(), 2);
    stage.nothing_is_left();
}

#[test]
fn stopping_the_contest_stops_all_of_it() {
    let stage = Stage::with_field(&["slow"]);
    let run = stage.contest(&["slow", "--best-of", "2"]).spawn();
    support::wait_until("both at work", || {
        stage.records().iter().filter(|record| record["pid"].is_number()).count() == 2
            && stage.world.path("slow").exists()
    });
    run.signal(15);
    let said: Value = run.wait().code(130).json();
    assert_eq!((&said["status"], outcomes(&said)), (&json!("cancelled"), vec![("slow", "stopped"); 2]));
    assert!(stage.branches().is_empty());
    stage.nothing_is_left();
}

#[test]
fn a_contest_that_cannot_be_held_is_refused_before_anything_starts() {
    let stage = Stage::with_field(&["good"]);
    for (words, said) in [
        (&["good", "--best-of", "1"][..], "from 2 to 16"),
        (&["--best-of", "good,none"], "none"),
        (&["good", "--best-of", "2", "--id", "d-01hzzzzzzzzzzzzzzzzzzzzzzz"], "--id names one dispatch"),
        (&["good", "--judge", "true"], "--judge is for --best-of"),
        (&["good", "--best-of", "2", "--sandbox", "--judge", "true"], "outside the --sandbox"),
    ] {
        stage.contest(words).run().code(64).stderr_has(said);
    }
    std::fs::rename(stage.world.path("repo/.git"), stage.world.path("away")).expect("a repository");
    let told =
        stage.contest(&["good", "--best-of", "2"]).run().code(64).stderr_has("no git repository").errors();
    assert_eq!(told.matches("no git repository").count(), 1, "{told}");
    std::fs::rename(stage.world.path("away"), stage.world.path("repo/.git")).expect("it is back");
    assert!(stage.records().is_empty() && stage.branches().is_empty());
}
