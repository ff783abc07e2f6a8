//! The directives by which a prompt steers the scripted provider, parsed. What is answered to them is `script`'s.
//!
//! A directive stands alone at the start of a line of the prompt. The provider works through them one per turn,
//! lets the client run the tools, and ends with the text `ok` unless the last directive said something itself.
//!
//! ```text
//! #say TEXT            end the turn with TEXT (the next directive waits for the next message of the user, or for a
//!                      notification that a background task has ended)
//! #report              end the turn with the text of the newest tool results
//! #bash COMMAND        run COMMAND with the Bash tool
//! #bash-bg COMMAND     the same in the background
//! #write PATH TEXT     write a file with the Write tool
//! #read PATH           read a file with the Read tool
//! #agent TYPE PROMPT   start a subagent
//! #mcp TOOL JSON       call an MCP tool; the last part of its name is enough
//! #tool NAME JSON      call any tool
//! #fail STATUS [xN]    answer with this error, N times (without N: always)
//! #quota WINDOW RESET  answer that the plan window (five_hour, …) is used up until RESET (seconds since 1970)
//! #hang                never answer
//! #then                what follows answers the next message of the user, where that holds no directive itself: a
//!                      check that failed, for example
//! ```
//!
//! These change the step that comes next:
//!
//! ```text
//! #text TEXT           a text before the tool, in the same turn
//! #think TEXT          thinking before it
//! #slow MS             first byte that late
//! #pace MS             that much time between two events
//! #cut [xN]            break the connection in the middle, N times (without N: always)
//! #usage IN CREATION READ OUTPUT    these tokens instead of the provider's own figures
//! #plan WINDOW SHARE RESET [OVERAGE]    the headers of a plan: off (default), enabled or in-use
//! #and DIRECTIVE       a tool in the same turn as the tool before
//! ```
//!
//! An argument that is one line may be anything. A longer one, or one that holds directives itself (a task for a
//! worker or a subagent), stands between `<<WORD` and a line with that WORD alone, or is written `b64:BASE64`:
//!
//! ```text
//! #bash <<DONE
//! mo-spawn demo -p '#write a.txt <<END
//! hello
//! END
//! #say written'
//! DONE
//! ```
//!
//! `#b64 BASE64` is replaced by the directives it decodes to: one word, safe in every shell and every quote.

use std::time::Duration;

use serde_json::{Value, json};

use super::account::Usage;
use super::answer::Block;
use super::base64;
use super::plan::Plan;

/// The tool that starts a subagent, newest name first.
const AGENT: [&str; 2] = ["Agent", "Task"];

/// A whole prompt as one `#b64` directive.
pub fn b64(prompt: &str) -> String {
    format!("#b64 {}", base64::encode(prompt))
}

/// One step of a script: what is done, and how it is delivered.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Step {
    pub(super) act: Act,
    pub(super) before: Vec<Block>,
    pub(super) slow: Duration,
    pub(super) pace: Duration,
    pub(super) cut: Option<Times>,
    pub(super) usage: Option<Usage>,
    pub(super) plan: Option<Plan>,
}

/// How often: always, or so many times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    Always,
    First(u32),
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Act {
    /// The default end of a script.
    #[default]
    Ok,
    Say(String),
    Report,
    Tools(Vec<Call>),
    Fail(u16, Times),
    Quota(String, u64),
    Hang,
    /// What follows is for another prompt.
    Then,
    /// Something written wrongly; the client is told.
    Wrong(String),
}

/// One tool to be called.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// Any of these names; the first that the client offers is taken.
    pub(super) names: Vec<String>,
    /// Ends of names are enough.
    pub(super) loose: bool,
    pub(super) input: Value,
}

/// The steps in a prompt.
pub(super) fn parse(prompt: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut next = Step::default();
    read(prompt, &mut steps, &mut next);
    if next != Step::default() {
        steps.push(next);
    }
    steps
}

fn read(prompt: &str, steps: &mut Vec<Step>, next: &mut Step) {
    let mut lines = prompt.lines();
    while let Some(line) = lines.next() {
        let Some((word, rest)) = directive(line) else { continue };
        let (together, word, rest) = match directive(rest).filter(|_| word == "and") {
            Some((word, rest)) => (true, word, rest),
            None => match rest.split_once(' ') {
                Some((inner, rest)) if word == "and" => (true, inner, rest),
                _ => (false, word, rest),
            },
        };
        let argument = argument(word, rest, &mut lines);
        if word == "b64" {
            match base64::decode(&argument.text).and_then(|bytes| String::from_utf8(bytes).ok()) {
                Some(inner) => read(&inner, steps, next),
                None => next.act = Act::Wrong("#b64 does not decode".into()),
            }
            continue;
        }
        if changed(next, word, &argument) {
            continue;
        }
        let act = act(word, &argument).unwrap_or_else(|| Act::Wrong(line.trim().to_owned()));
        match (together, steps.last_mut().map(|step| &mut step.act), act) {
            (true, Some(Act::Tools(calls)), Act::Tools(more)) => calls.extend(more),
            (true, _, _) => steps.push(Step { act: Act::Wrong(line.trim().to_owned()), ..Step::default() }),
            (false, _, act) => steps.push(Step { act, ..std::mem::take(next) }),
        }
    }
}

/// The word and the rest of a directive's line.
fn directive(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim_start().strip_prefix('#')?;
    let end =
        rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').unwrap_or(rest.len());
    let (word, rest) = rest.split_at(end);
    let starts_well = word.starts_with(|letter: char| letter.is_ascii_lowercase());
    let ends_well = rest.is_empty() || rest.starts_with([' ', '\t']);
    (starts_well && ends_well).then(|| (word, rest.trim()))
}

#[derive(Debug)]
struct Argument {
    /// What stood before a `<<WORD`, or nothing.
    head: Option<String>,
    text: String,
}

impl Argument {
    /// Two parts: the word before the rest, or what stands before a here-text and the here-text.
    fn pair(&self) -> Option<(String, String)> {
        if let Some(head) = &self.head {
            return Some((head.clone(), self.text.clone()));
        }
        let (first, rest) = self.text.split_once(char::is_whitespace).unwrap_or((&self.text, ""));
        (!first.is_empty()).then(|| (first.into(), decoded(rest.trim())))
    }
}

fn argument<'a>(word: &str, rest: &str, lines: &mut impl Iterator<Item = &'a str>) -> Argument {
    let (head, mark) = rest.rsplit_once("<<").unwrap_or(("", ""));
    let is_mark =
        !mark.is_empty() && mark.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    // A shell's own `cat > x <<EOF` on one line is no here-text of ours: ours follows the directive, or its first
    // argument where it has two.
    let words = usize::from(matches!(word, "write" | "agent" | "mcp" | "tool"));
    if !is_mark || head.split_whitespace().count() != words {
        return Argument { head: None, text: decoded(rest) };
    }
    let body: Vec<&str> = lines.take_while(|line| line.trim() != mark).collect();
    Argument { head: Some(head.trim().into()), text: body.join("\n") }
}

fn decoded(text: &str) -> String {
    let coded = text.strip_prefix("b64:").and_then(base64::decode);
    coded.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| text.into())
}

/// Takes a directive that only changes the next step.
fn changed(next: &mut Step, word: &str, argument: &Argument) -> bool {
    let text = argument.text.as_str();
    let milliseconds = || Duration::from_millis(text.parse().unwrap_or_default());
    match word {
        "text" => next.before.push(Block::Text(text.into())),
        "think" => next.before.push(Block::Thinking(text.into())),
        "slow" => next.slow = milliseconds(),
        "pace" => next.pace = milliseconds(),
        "cut" => next.cut = Some(times(text)),
        "usage" => {
            let figures: Vec<u64> =
                text.split_whitespace().filter_map(|figure| figure.parse().ok()).collect();
            let &[input, cache_creation, cache_read, output] = figures.as_slice() else { return false };
            next.usage = Some(Usage { input, cache_creation, cache_read, output });
        }
        "plan" => match Plan::parse(text) {
            Some(plan) => next.plan = Some(plan),
            None => return false,
        },
        _ => return false,
    }
    true
}

fn act(word: &str, argument: &Argument) -> Option<Act> {
    let text = argument.text.as_str();
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let one = |name: &str, input: Value| Some(Act::Tools(vec![Call::exact(&[name], input)]));
    match word {
        "say" => Some(Act::Say(text.into())),
        "report" => Some(Act::Report),
        "hang" => Some(Act::Hang),
        "then" => Some(Act::Then),
        "bash" => one("Bash", json!({"command": some(text)?, "description": "Run a scripted command"})),
        "bash-bg" => one(
            "Bash",
            json!({"command": some(text)?, "description": "Run it in the background", "run_in_background": true}),
        ),
        "write" => {
            let (path, content) = argument.pair()?;
            let content = if argument.head.is_some() { content + "\n" } else { content };
            one("Write", json!({"file_path": some(&path)?, "content": content}))
        }
        "read" => one("Read", json!({"file_path": some(text)?})),
        "agent" => {
            let (kind, prompt) = argument.pair()?;
            let input =
                json!({"description": "Scripted task", "prompt": some(&prompt)?, "subagent_type": kind});
            Some(Act::Tools(vec![Call::exact(&AGENT, input)]))
        }
        "mcp" | "tool" => {
            let (name, input) = argument.pair()?;
            let input = if input.is_empty() { json!({}) } else { serde_json::from_str(&input).ok()? };
            // A subagent's tool has had two names.
            let names = if name == AGENT[0] { AGENT.map(str::to_owned).into() } else { vec![name] };
            Some(Act::Tools(vec![Call { names, loose: word == "mcp", input }]))
        }
        "fail" => {
            let (status, rest) = argument.pair()?;
            Some(Act::Fail(status.parse().ok()?, times(&rest)))
        }
        "quota" => {
            let (window, reset) = argument.pair()?;
            Some(Act::Quota(window, reset.parse().ok()?))
        }
        _ => None,
    }
}

impl Call {
    fn exact(names: &[&str], input: Value) -> Self {
        Self { names: names.iter().map(ToString::to_string).collect(), loose: false, input }
    }
}

fn times(text: &str) -> Times {
    text.trim().strip_prefix('x').and_then(|count| count.parse().ok()).map_or(Times::Always, Times::First)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acts(prompt: &str) -> Vec<Act> {
        parse(prompt).into_iter().map(|step| step.act).collect()
    }

    fn commands(act: &Act) -> Vec<&str> {
        let Act::Tools(calls) = act else { panic!("{act:?} calls no tool") };
        calls.iter().filter_map(|call| call.input["command"].as_str()).collect()
    }

    #[test]
    fn prose_holds_no_directives() {
        assert_eq!(acts("Please fix #12\n# Title\n## More\n#[test]\n#!/bin/sh\n#include<x>\n"), []);
    }

    #[test]
    fn steps_come_in_order_with_what_changes_them() {
        let steps = parse(
            "Do:\n#slow 5\n#usage 1 2 3 4\n#bash ls -l | wc\n  #say done: <<x\n#fail 529 x2\n#fail 401",
        );
        assert_eq!(steps.len(), 4);
        assert_eq!(commands(&steps[0].act), ["ls -l | wc"]);
        assert_eq!(steps[0].slow, Duration::from_millis(5));
        assert_eq!(steps[0].usage, Some(Usage { input: 1, cache_creation: 2, cache_read: 3, output: 4 }));
        assert_eq!(steps[1], Step { act: Act::Say("done: <<x".into()), ..Step::default() });
        assert_eq!(steps[2].act, Act::Fail(529, Times::First(2)));
        assert_eq!(steps[3].act, Act::Fail(401, Times::Always));
    }

    #[test]
    fn a_nested_task_is_left_alone() {
        let prompt = "#bash <<DONE\nmo-spawn demo -p '#write a <<END\nx\nEND\n#say inner'\nDONE\n#say outer";
        let acts = acts(prompt);
        assert_eq!(commands(&acts[0]), ["mo-spawn demo -p '#write a <<END\nx\nEND\n#say inner'"]);
        assert_eq!(acts[1..], [Act::Say("outer".into())]);
    }

    #[test]
    fn base64_holds_an_argument_or_whole_directives() {
        let coded = base64::encode("echo 'a\nb'");
        assert_eq!(commands(&acts(&format!("#bash b64:{coded}"))[0]), ["echo 'a\nb'"]);
        assert_eq!(acts(&b64(&b64("#say deep\n#hang"))), [Act::Say("deep".into()), Act::Hang]);
    }

    #[test]
    fn a_shells_own_here_text_is_part_of_the_command() {
        assert_eq!(commands(&acts("#bash cat > x <<EOF")[0]), ["cat > x <<EOF"]);
    }

    #[test]
    fn tools_can_share_a_turn() {
        let acts = acts("#bash one\n#and bash two\n#and #bash three\n#say x");
        assert_eq!(commands(&acts[0]), ["one", "two", "three"]);
        assert_eq!(acts.len(), 2);
    }

    #[test]
    fn files_agents_and_tools_take_two_arguments() {
        let acts = acts(
            "#write a.rs <<E\nfn a() {}\nE\n#write b x y\n#agent Explore look at #1\n#mcp list {\"a\": 1}",
        );
        let inputs: Vec<Value> = acts
            .iter()
            .map(|act| match act {
                Act::Tools(calls) => calls[0].input.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(inputs[0], json!({"file_path": "a.rs", "content": "fn a() {}\n"}));
        assert_eq!(inputs[1], json!({"file_path": "b", "content": "x y"}));
        assert_eq!(inputs[2]["prompt"], "look at #1");
        assert_eq!(inputs[3], json!({"a": 1}));
    }

    #[test]
    fn a_slip_of_the_pen_is_told() {
        for line in ["#bahs ls", "#bash", "#fail soon", "#plan w", "#mcp t {", "#and bash x", "#usage 1"] {
            assert!(matches!(acts(line).as_slice(), [Act::Wrong(_)]), "{line}: {:?}", acts(line));
        }
    }
}
