//! The order between tasks: which wait for which. A circle is refused before anything starts.

use std::collections::{BTreeMap, BTreeSet};

/// Where a task that others wait for stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Standing {
    /// Not ended yet.
    Open,
    /// Ended well.
    Done,
    /// Ended, but not well: who waits for it never starts.
    Failed,
}

/// Whether a task may start.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Readiness {
    /// Everything it waits for has ended well.
    Ready,
    /// It waits for this one.
    Waits(String),
    /// This one did not end well.
    Never(String),
}

/// Whether a task that waits for these may start.
pub fn readiness(after: &[String], standing: impl Fn(&str) -> Standing) -> Readiness {
    let mut waits = None;
    for id in after {
        match standing(id) {
            Standing::Done => {}
            Standing::Failed => return Readiness::Never(id.clone()),
            Standing::Open => waits = waits.or_else(|| Some(id.clone())),
        }
    }
    waits.map_or(Readiness::Ready, Readiness::Waits)
}

/// A task that waits for itself, over others or not; nothing where there is none.
pub fn circle(edges: &BTreeMap<String, Vec<String>>) -> Option<String> {
    // Takes away what waits for nothing that is left, until nothing changes: what remains is in or behind a circle.
    let mut left: BTreeSet<&str> = edges.keys().map(String::as_str).collect();
    loop {
        let free: Vec<&str> = left
            .iter()
            .copied()
            .filter(|id| {
                edges.get(*id).is_none_or(|after| !after.iter().any(|one| left.contains(one.as_str())))
            })
            .collect();
        if free.is_empty() {
            return left.first().map(|id| (*id).to_owned());
        }
        for id in free {
            left.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(pairs: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        pairs
            .iter()
            .map(|(id, after)| ((*id).to_owned(), after.iter().map(|one| (*one).to_owned()).collect()))
            .collect()
    }

    #[test]
    fn a_circle_is_found_and_a_diamond_is_none() {
        assert_eq!(circle(&edges(&[("d", &["b", "c"]), ("b", &["a"]), ("c", &["a"]), ("a", &[])])), None);
        assert_eq!(circle(&edges(&[("a", &["elsewhere"])])), None);
        assert!(circle(&edges(&[("a", &["a"])])).is_some());
        assert!(circle(&edges(&[("a", &["c"]), ("b", &["a"]), ("c", &["b"]), ("x", &[])])).is_some());
    }

    #[test]
    fn one_failure_is_told_before_any_wait() {
        let standing = |id: &str| match id {
            "open" => Standing::Open,
            "bad" => Standing::Failed,
            _ => Standing::Done,
        };
        let after =
            |ids: &[&str]| readiness(&ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>(), standing);
        assert_eq!(after(&[]), Readiness::Ready);
        assert_eq!(after(&["done", "open"]), Readiness::Waits("open".into()));
        assert_eq!(after(&["open", "bad"]), Readiness::Never("bad".into()));
    }
}
