//! Work that was merged by squash or rebase: the commits are others, the changes are the same. Told by the changes
//! themselves, byte for byte but for their place in the file; never by titles or times.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};

use shared::error::Result;

use super::git::{self, Git};
use super::proof::Ref;

/// So many commits of the others are compared: work is merged soon or by hand.
const MOST_COMMITS: &str = "--max-count=5000";
/// A branch of more own commits is not compared one by one.
const MOST_OWN: usize = 200;
/// So many commits' changes are in memory at once.
const BATCH: usize = 100;
/// With more changed paths than this, git is not told to look at them alone.
const MOST_PATHS: usize = 200;

/// Changes as text, whatever the user's configuration says of diffs.
const CHANGES: &[&str] = &[
    "diff-tree",
    "-r",
    "-p",
    "--binary",
    "--full-index",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--unified=3",
    "--ignore-submodules=none",
];

/// What tells one commit's changes from another's.
type Patch = u64;

/// The ref in which merging `tip` would change nothing: all its changes are there already.
pub fn absorbed<'a>(git: &Git, tip: &str, others: &'a [Ref]) -> Result<Option<&'a Ref>> {
    // A merge driver of the user's could throw changes away: no attributes of the tree count here.
    let attributes = git.directory().join(git.path(&["rev-parse", "--git-path", "info/attributes"])?);
    if fs::read_to_string(attributes).is_ok_and(|text| text.contains("merge")) {
        return Ok(None);
    }
    let nothing = git.text(&["hash-object", "-t", "tree", "/dev/null"])?;
    let no_drivers = format!("--attr-source={nothing}");
    for other in others {
        let Some(base) = fork(git, tip, &other.object)? else { continue };
        if patch(git, &base, tip)?.is_none() {
            continue;
        }
        let merged = git.ask(&[&no_drivers, "merge-tree", "--write-tree", &other.object, tip])?;
        let tree = git.text(&["rev-parse", "--verify", &format!("{}^{{tree}}", other.object)])?;
        if merged.is_yes() && merged.text() == tree {
            return Ok(Some(other));
        }
    }
    Ok(None)
}

/// The commits of the others that repeat the changes of `tip`: one that does all at once, or one for each of its own.
pub fn repeated(git: &Git, tip: &str, others: &BTreeSet<&str>) -> Result<Option<Vec<String>>> {
    let bases = forks(git, tip, others)?;
    let mut theirs = BTreeMap::new();
    for base in &bases {
        let paths = changed(git, base, tip)?;
        let Some(whole) = patch(git, base, tip)? else { continue };
        theirs.extend(patches_of(git, tip, others, &paths)?);
        if let Some(commit) = theirs.get(&whole) {
            return Ok(Some(vec![commit.clone()]));
        }
    }
    let range = [&[tip, "--not"], &words(others)[..]].concat();
    let merges = git.text(&[&["rev-list", "--merges"], &range[..]].concat())?;
    let own = git.lines(&[&["rev-list", "--no-merges"], &range[..]].concat())?;
    if !merges.is_empty() || own.len() > MOST_OWN {
        return Ok(None);
    }
    let mut found = Vec::new();
    for commit in own {
        let Some(own) = patch(git, &format!("{commit}^"), &commit)? else { continue };
        let Some(theirs) = theirs.get(&own) else { return Ok(None) };
        found.push(theirs.clone());
    }
    Ok((!found.is_empty()).then_some(found))
}

/// Where the branch left the others, the last ones only: an old branch says nothing that a newer one does not.
fn forks(git: &Git, tip: &str, others: &BTreeSet<&str>) -> Result<Vec<String>> {
    let mut found = BTreeSet::new();
    for other in others {
        found.extend(fork(git, tip, other)?);
    }
    let words = ["merge-base", "--independent"].into_iter().chain(found.iter().map(String::as_str));
    if found.is_empty() { Ok(Vec::new()) } else { git.lines(&words.collect::<Vec<_>>()) }
}

fn words<'a>(others: &BTreeSet<&'a str>) -> Vec<&'a str> {
    others.iter().copied().collect()
}

/// The last commit that both have.
fn fork(git: &Git, one: &str, other: &str) -> Result<Option<String>> {
    let answer = git.ask(&["merge-base", one, other])?;
    Ok(Some(answer.text()).filter(|text| answer.is_yes() && !text.is_empty()))
}

/// The paths that differ between two commits.
fn changed(git: &Git, from: &str, to: &str) -> Result<Vec<String>> {
    let bytes = git.bytes(&["diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to])?;
    Ok(git::entries(&bytes).map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

/// What changes from one commit to the other; nothing where nothing does.
fn patch(git: &Git, from: &str, to: &str) -> Result<Option<Patch>> {
    let text = git.bytes(&[CHANGES, &[from, to]].concat())?;
    Ok((!text.is_empty()).then(|| essence(text.split(|byte| *byte == b'\n'))))
}

/// The changes of all commits that others have and `tip` has not, as far as they touch these paths.
fn patches_of(
    git: &Git,
    tip: &str,
    others: &BTreeSet<&str>,
    paths: &[String],
) -> Result<BTreeMap<Patch, String>> {
    let mut only = vec!["--"];
    if paths.len() <= MOST_PATHS && paths.iter().all(|path| !path.contains('\u{fffd}')) {
        only.extend(paths.iter().map(String::as_str));
    }
    let range = [&["rev-list", "--no-merges", MOST_COMMITS], &words(others)[..], &["--not", tip], &only[..]];
    let commits = git.lines(&range.concat())?;
    let mut found = BTreeMap::new();
    for batch in commits.chunks(BATCH) {
        let words = [CHANGES, &["--root", "--stdin"], &only[..]].concat();
        let answer = git.feed(&words, (batch.join("\n") + "\n").as_bytes())?;
        if !answer.is_yes() {
            return Err(git.failed(&words, &answer));
        }
        let mut of: Option<&[u8]> = None;
        let mut lines = Vec::new();
        for line in answer.stdout.split(|byte| *byte == b'\n') {
            if is_commit(line) {
                note(&mut found, of, &lines);
                lines.clear();
                of = Some(line);
            } else {
                lines.push(line);
            }
        }
        note(&mut found, of, &lines);
    }
    Ok(found)
}

fn note(found: &mut BTreeMap<Patch, String>, commit: Option<&[u8]>, lines: &[&[u8]]) {
    if let (Some(commit), true) = (commit, lines.iter().any(|line| !line.is_empty())) {
        let commit = String::from_utf8_lossy(commit).into_owned();
        found.entry(essence(lines.iter().copied())).or_insert(commit);
    }
}

/// Lines of a patch begin with a word, a sign or a blank, never with forty digits and nothing more. A binary patch's
/// lines begin with their length in a letter, and are longer or shorter.
fn is_commit(line: &[u8]) -> bool {
    matches!(line.len(), 40 | 64) && line.iter().all(u8::is_ascii_hexdigit)
}

/// A patch without the places in the files: those move when something else changes above.
fn essence<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Patch {
    let mut hasher = DefaultHasher::new();
    let mut pending: Option<&[u8]> = None;
    for line in lines.filter(|line| !line.is_empty()) {
        if line.starts_with(b"index ") {
            pending = Some(line);
            continue;
        }
        // The contents' names matter where the contents themselves are not shown.
        if let Some(index) = pending.take().filter(|_| line.starts_with(b"GIT binary")) {
            index.hash(&mut hasher);
        }
        if line.starts_with(b"@@ ") {
            b"@@".hash(&mut hasher);
        } else {
            line.hash(&mut hasher);
        }
    }
    hasher.finish()
}
