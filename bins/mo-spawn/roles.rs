//! `mo-spawn roles`: the roles that hold in this directory, one of them whole, and which projects may bring their own.

use std::ffi::OsString;
use std::path::Path;

use serde_json::json;
use shared::args::{Command, Flag, Matches, Program, Request};
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::flatten::flatten;
use shared::paths;
use shared::role::{self, Role, Tool, trust};
use shared::say::Say;
use shared::table;
use shared::world::World;

/// The word in the place of a worker's name.
const WORD: &str = "roles";

const JSON: Flag = Flag { long: "json", value: "", about: "as one JSON document" };

static PROGRAM: Program = Program {
    name: "mo-spawn roles",
    about: "what a worker can be made to be good at",
    commands: &[
        Command { name: "list", operands: "", takes: (0, 0), about: "all roles that hold here", flags: &[JSON] },
        Command { name: "show", operands: "NAME", takes: (1, 1), about: "one role, whole", flags: &[JSON] },
        Command {
            name: "trust",
            operands: "DIR",
            takes: (1, 1),
            about: "let the roles in DIR/.claude/roles do more than narrow",
            flags: &[],
        },
        Command { name: "untrust", operands: "DIR", takes: (1, 1), about: "take that back", flags: &[] },
    ],
    flags: &[],
    takes_keys: false,
    more: "\
A role is a Markdown file: description, tools, tier, permission and output between two lines `---`, then the words to
the worker. `tools: Read, Bash(git diff:*)` gives two tools, and allows that use of the second.

files:
  $CLAUDE_WORKERS_ROOT/.roles/NAME.md    your own roles; they win over the bundled ones
  .claude/roles/NAME.md                  a project's: they take tools away, tighten the permission and add words that
                                         are marked as the project's; only in a trusted project they do more",
};

/// Whether the word in a worker's place is ours.
pub fn takes(word: Option<&OsString>) -> bool {
    word.is_some_and(|word| word == WORD)
}

/// Runs the words; none behind the first is a list.
pub fn run(say: Say, words: Vec<OsString>) -> Result<Exit> {
    let mut words: Vec<OsString> = words.into_iter().skip(1).collect();
    if words.first().is_none_or(|word| word == "--json") {
        words.insert(0, "list".into());
    }
    let matches = match PROGRAM.parse(words)? {
        Request::Print(text) => return say.out(&text).map(|()| Exit::Done),
        Request::Run(matches) => matches,
    };
    let world = World::of_process(say.program())?;
    match matches.command() {
        "show" => show(&world, &matches),
        "trust" => trust(&world, matches.operand(0)?),
        "untrust" => untrust(&world, matches.operand(0)?),
        _ => list_all(&world, matches.has("json")),
    }
}

fn list_all(world: &World, json: bool) -> Result<Exit> {
    let (roles, troubles) = role::all(&world.paths, &world.cwd())?;
    for trouble in &troubles {
        world.say.error(trouble);
    }
    if json {
        let troubles: Vec<String> = troubles.iter().map(ToString::to_string).collect();
        let document = json!({"version": 1, "roles": roles, "troubles": troubles});
        world.say.line(&format!("{document:#}"))?;
    } else {
        let mut rows = vec![["ROLE", "FROM", "TIER", "PERMISSION", "FOR"].map(str::to_owned).to_vec()];
        rows.extend(roles.iter().map(row));
        world.say.out(&table::columns(&rows, world.colour()))?;
        for note in roles.iter().flat_map(Role::notes) {
            world.say.note(&note);
        }
    }
    Ok(if troubles.is_empty() { Exit::Done } else { Exit::Data })
}

fn row(role: &Role) -> Vec<String> {
    let narrowed = if role.narrowed_by.is_empty() { "" } else { ", narrowed here" };
    vec![
        role.name.to_string(),
        format!("{}{narrowed}", role.origin.text()),
        tier(role).to_owned(),
        role.permission.name().to_owned(),
        flatten(&role.description, 90),
    ]
}

fn tier(role: &Role) -> &'static str {
    role.tier.map_or("-", shared::tier::Tier::name)
}

fn show(world: &World, matches: &Matches) -> Result<Exit> {
    let role = role::find(&world.paths, &world.cwd(), matches.operand(0)?)?;
    if matches.has("json") {
        let document = json!({"version": 1, "role": role, "system_prompt": role.system_prompt()});
        return world.say.line(&format!("{document:#}")).map(|()| Exit::Done);
    }
    let tools: Vec<&str> = role.tools.iter().map(Tool::as_str).collect();
    let mut text = format!("{} ({})\n  {}\n\n", role.name, role.origin.text(), role.description);
    for (name, value) in
        [("tools", tools.join(", ").as_str()), ("tier", tier(&role)), ("permission", role.permission.name())]
    {
        text.push_str(&format!("  {name:<11} {value}\n"));
    }
    for note in role.notes() {
        text.push_str(&format!("  note        {}\n", flatten(&note, 500)));
    }
    text.push_str("\nsaid to the worker:\n");
    for line in role.system_prompt().lines() {
        text.push_str(format!("  {}", visible(line)).trim_end());
        text.push('\n');
    }
    world.say.out(&text).map(|()| Exit::Done)
}

/// The line as a terminal may have it, its indentation kept.
fn visible(line: &str) -> String {
    let words = line.trim_start();
    format!("{}{}", " ".repeat(line.len() - words.len()), flatten(words, 2000))
}

fn trust(world: &World, directory: &str) -> Result<Exit> {
    let real = trust::add(&world.paths, Path::new(directory))?;
    let shown = paths::shown(&real, &world.paths);
    world.say.line(&format!("trusted: roles in {shown}/.claude/roles may name any tool and permission"))?;
    Ok(Exit::Done)
}

fn untrust(world: &World, directory: &str) -> Result<Exit> {
    if trust::remove(&world.paths, Path::new(directory))? {
        world.say.line("no longer trusted: roles there only narrow")?;
        return Ok(Exit::Done);
    }
    Err(Error::new(Exit::Usage, "this directory was not trusted:").at(Path::new(directory)))
}
