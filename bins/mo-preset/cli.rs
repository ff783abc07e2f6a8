//! The command line of mo-preset, as a table.

use shared::args::{Command, Flag, Program};

const JSON: Flag = Flag { long: "json", value: "", about: "print JSON for programs" };

/// The whole command line.
pub static PROGRAM: Program = Program {
    name: "mo-preset",
    about: "the catalogue of providers that workers can be made for",
    commands: &[
        Command { name: "list", operands: "", takes: (0, 0), about: "list all presets", flags: &[JSON] },
        Command {
            name: "show",
            operands: "ID",
            takes: (1, 1),
            about: "show all that is known of one preset, with its sources",
            flags: &[JSON],
        },
        Command {
            name: "add",
            operands: "ID",
            takes: (1, 1),
            about: "add a preset of your own, or lay one over a bundled one",
            flags: &[
                Flag { long: "base-url", value: "URL", about: "where its Messages API is (required)" },
                Flag { long: "label", value: "L", about: "its name for people" },
                Flag { long: "fable", value: "MODEL", about: "the model for the fable tier" },
                Flag { long: "opus", value: "MODEL", about: "the model for the opus tier" },
                Flag { long: "sonnet", value: "MODEL", about: "the model for the sonnet tier" },
                Flag { long: "haiku", value: "MODEL", about: "the model for the haiku tier" },
                Flag {
                    long: "context-window",
                    value: "MODEL=TOKENS",
                    about: "a model's window, like glm-5.2=200k (can be repeated)",
                },
                Flag { long: "auth", value: "HOW", about: "bearer (default) or x-api-key" },
                Flag { long: "note", value: "N", about: "what to remember of it" },
            ],
        },
        Command {
            name: "remove",
            operands: "ID",
            takes: (1, 1),
            about: "remove a preset of your own",
            flags: &[],
        },
        Command {
            name: "probe",
            operands: "ID|URL",
            takes: (1, 1),
            about: "find out whether an endpoint speaks the Messages API; never sends a key",
            flags: &[
                JSON,
                Flag { long: "timeout", value: "S", about: "give up after S seconds (default: 10)" },
            ],
        },
    ],
    flags: &[],
    takes_keys: false,
    more: "\
files:
  $CLAUDE_WORKERS_ROOT/presets.json (default: ~/.claude-workers/presets.json) holds your own presets;
  an entry there takes the place of the bundled one of the same id

exit codes of probe:
  0    it speaks the Messages API (that it asks for a key is the good sign)
  1    it answers, but is not this API, sends elsewhere, or is an Ollama that is too old
  69   refused the connection, or cannot serve now
  74   TLS trouble
  78   there is no such host
  124  no answer in time

examples:
  mo-preset show zai
  mo-preset add mine --base-url https://llm.example.com --sonnet big-model --context-window big-model=200k
  mo-preset probe http://localhost:11434",
};

#[cfg(test)]
mod tests {
    use super::PROGRAM;

    #[test]
    fn every_tier_has_its_flag() {
        let add = PROGRAM.commands.iter().find(|command| command.name == "add").unwrap();
        for tier in shared::tier::Tier::ALL {
            assert!(add.flags.iter().any(|flag| flag.long == tier.name()));
        }
    }
}
