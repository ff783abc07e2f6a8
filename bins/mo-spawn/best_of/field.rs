//! Who takes part: so many runs of one worker, or a run of each of several.

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::name::Name;
use shared::redact::typed;

/// The most that run side by side.
const MOST: usize = 16;

/// The workers, one for each run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Field(Vec<Name>);

impl Field {
    /// What `--best-of` says, and whose name stands before it.
    pub fn parse(said: &str, named: Option<&Name>) -> Result<Self> {
        let wrong = |what: String| {
            Error::new(Exit::Usage, what)
                .hint("`--best-of 3` runs NAME three times; `--best-of glm,kimi` runs each of these once")
        };
        if let Ok(number) = said.parse::<usize>() {
            if !(2..=MOST).contains(&number) {
                return Err(wrong(format!("--best-of takes from 2 to {MOST} runs")));
            }
            let name = named.ok_or_else(|| wrong("NAME is missing: which worker?".to_owned()))?;
            return Ok(Self(vec![name.clone(); number]));
        }
        let each = said.split(',').map(|name| Name::parse(name.trim())).collect::<Result<Vec<_>>>()?;
        if !(2..=MOST).contains(&each.len()) {
            return Err(wrong(format!("--best-of `{}` names no field of 2 to {MOST}", typed(said))));
        }
        if let Some(named) = named.filter(|named| !each.contains(named)) {
            return Err(wrong(format!("`{named}` is none of those that --best-of names: leave it out")));
        }
        Ok(Self(each))
    }

    /// The workers, in order.
    pub fn workers(&self) -> &[Name] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_repeats_the_worker_and_names_stand_for_themselves() {
        let glm = Name::parse("glm").unwrap();
        let names = |field: Field| field.0.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(Field::parse("3", Some(&glm)).unwrap()), ["glm"; 3]);
        assert_eq!(names(Field::parse("glm, kimi", None).unwrap()), ["glm", "kimi"]);
        assert_eq!(names(Field::parse("kimi,glm", Some(&glm)).unwrap()), ["kimi", "glm"]);
        for (said, named) in [
            ("3", None),
            ("1", Some(&glm)),
            ("17", Some(&glm)),
            ("kimi", None),
            ("a,,b", None),
            ("kimi,x", Some(&glm)),
        ] {
            assert_eq!(Field::parse(said, named).unwrap_err().exit(), Exit::Usage, "{said}");
        }
    }
}
