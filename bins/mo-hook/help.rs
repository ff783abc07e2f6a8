//! What mo-hook tells a person who calls it.

/// The whole help; a program that nobody calls by hand has no more to say.
pub const HELP: &str = "\
mo-hook - what Claude Code's hooks run; reads the event on standard input

usage:
  mo-hook session-start       delegation rules, the inventory of workers, what they have done so far
  mo-hook pre-tool-use        whose call of mo-dispatch's tools it is
  mo-hook post-tool-use       what the workers did of this session's work, when a dispatch has ended
  mo-hook user-prompt-submit  the same, for dispatches that ran in the background
  mo-hook stop                the same

An event it does not know is nobody's business: nothing is printed, exit code 0.
Off: MODEL_ORCHESTRATION_DELEGATION=off (rules), MODEL_ORCHESTRATION_SAVINGS=off (savings).
Trouble of its own goes to $CLAUDE_WORKERS_ROOT/.log/hook.log.
";
