//! `mo-spawn NAME --usage`: an account's plan usage. Asked of Claude Code at most every four minutes, by one process of
//! this machine at a time, more rarely while it gives nothing; every run tells it for nothing meanwhile.

mod probe;
mod screen;

use std::ffi::OsString;
use std::time::Duration;

use jiff::Timestamp;
use shared::accounts;
use shared::args::{Command, Flag, Program, Request};
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::lock::Lock;
use shared::login;
use shared::moment::Moment;
use shared::name::Name;
use shared::say::Say;
use shared::usage::{self, Account, FRESH, Freshness, KEPT};
use shared::worker::Worker;
use shared::world::World;

use crate::options::NAME;

/// The flag that asks for it.
const USAGE: &str = "--usage";
/// The longest that all of it may take, other processes' polls included.
const PATIENCE: Duration = Duration::from_secs(120);
/// The pause after a first failure, in seconds; each further one doubles it.
const PAUSE: u64 = 60;

static PROGRAM: Program = Program {
    name: NAME,
    about: "an account's plan usage",
    commands: &[Command {
        name: "",
        operands: "NAME --usage",
        takes: (1, 1),
        about: "an account's plan usage",
        flags: &[],
    }],
    flags: &[
        Flag { long: "usage", value: "", about: "the plan's windows, how far each is used, its reset" },
        Flag { long: "json", value: "", about: "as one JSON document" },
    ],
    takes_keys: false,
    more: "",
};

/// Whether these words ask for it: `--usage` is the first or stands right behind the name.
pub fn takes(words: &[OsString]) -> bool {
    let is_flag = |word: &OsString| word.to_string_lossy().starts_with('-');
    match words {
        [first, ..] if first == USAGE => true,
        [name, second, ..] => !is_flag(name) && second == USAGE,
        _ => false,
    }
}

/// Tells the usage.
pub fn run(say: Say, words: Vec<OsString>) -> Result<Exit> {
    let matches = match PROGRAM.parse(words)? {
        Request::Print(text) => return say.out(&text).map(|()| Exit::Done),
        Request::Run(matches) => matches,
    };
    let world = World::of_process(NAME)?;
    let name = Name::parse(matches.operand(0)?)?;
    let worker = Worker::load(&world.paths, &name)?;
    if !worker.is_account() {
        return screen::none(&world, &worker, matches.has("json"));
    }
    accounts::refuse(&world.paths, &worker)?;
    let account = current(&world, &worker)?;
    screen::show(&world, &worker, &account, matches.has("json"))
}

/// What is known, asked anew where that is due.
fn current(world: &World, worker: &Worker) -> Result<Account> {
    let known = || usage::read(&world.paths, &worker.name);
    let account = known()?;
    if next(&account, world.clock.now()) != Next::Ask {
        return Ok(account);
    }
    let path = usage::lock_path(&world.paths)?;
    let _poller = Lock::acquire(&path, PATIENCE)?;
    // Whoever held the lock may have asked for us.
    if next(&known()?, world.clock.now()) == Next::Ask {
        let reading = probe::ask(world, worker, PATIENCE)?;
        // A login by token has no windows either: only Claude Code can tell the two apart.
        if reading.has_limits == Some(false) && !login::ask(world, worker)?.is_in {
            return Err(Error::new(Exit::Key, format!("worker `{}` is not logged in", worker.name))
                .hint(format!("`mo-worker login {}` logs it in", worker.name)));
        }
        usage::probed(&world.paths, &worker.name, reading)?;
    }
    known()
}

/// What is to be done for an answer.
#[derive(Debug, Eq, PartialEq)]
enum Next {
    /// What is known is good enough.
    Enough,
    /// Asking gave nothing lately, and is to wait until then.
    Wait(Moment),
    /// Ask.
    Ask,
}

fn next(account: &Account, now: Timestamp) -> Next {
    let is_fresh = account.reading.as_ref().is_some_and(|reading| reading.freshness(now) == Freshness::Fresh);
    if is_fresh {
        return Next::Enough;
    }
    let Some(asked_at) = account.probing.asked_at else { return Next::Ask };
    let failures = account.probing.failures;
    let pause = match failures {
        0 => FRESH,
        more => PAUSE.saturating_mul(1 << (more - 1).min(16)).min(KEPT),
    };
    // After a clock was set back nobody can tell, and asking once more does no harm.
    if asked_at.age(now) >= pause || asked_at.ahead(now) > 0 {
        return Next::Ask;
    }
    if failures == 0 {
        return Next::Enough;
    }
    let until = asked_at.0.as_second().saturating_add_unsigned(pause);
    Next::Wait(Timestamp::from_second(until).map_or(asked_at, Moment))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::usage::{Probing, Reading};

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn account(failures: u32, windows: bool) -> Account {
        let mut reading = Reading::empty(second(0));
        if windows {
            let info = serde_json::json!({"rateLimitType": "five_hour", "utilization": 0.5});
            reading = usage::of_event(&info, second(0)).unwrap();
        }
        let probing = Probing { asked_at: Some(second(0).into()), failures };
        Account { reading: Some(reading), probing, ..Account::default() }
    }

    #[test]
    fn the_words_are_told_from_claudes() {
        let takes = |words: &[&str]| takes(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert!(takes(&["work", "--usage"]) && takes(&["--usage", "work", "--json"]));
        assert!(!takes(&["work", "-p", "--usage"]) && !takes(&["--title", "--usage", "work"]) && !takes(&[]));
    }

    #[test]
    fn an_account_is_asked_at_most_every_four_minutes() {
        assert_eq!(next(&Account::default(), second(0)), Next::Ask);
        for windows in [true, false] {
            assert_eq!(next(&account(0, windows), second(239)), Next::Enough);
            assert_eq!(next(&account(0, windows), second(240)), Next::Ask);
        }
        assert_eq!(next(&account(0, false), second(-5)), Next::Ask, "the clock was set back");
    }

    #[test]
    fn failures_are_backed_off_up_to_half_an_hour() {
        for (failures, pause) in [(1, 60), (2, 120), (5, 960), (6, 1800), (40, 1800)] {
            let account = account(failures, false);
            assert_eq!(next(&account, second(pause - 1)), Next::Wait(second(pause).into()), "{failures}");
            assert_eq!(next(&account, second(pause)), Next::Ask, "{failures}");
        }
    }
}
