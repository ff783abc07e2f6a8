//! All dispatch records together: listed, and one of them found by its id.

use std::fs;
use std::path::PathBuf;

use crate::dispatch_id::DispatchId;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::paths::Paths;
use crate::record::Record;
use crate::redact::typed;

/// The fewest characters that name a dispatch: `d-` and some of its id.
const SHORTEST: usize = 6;

/// The files of all records, the oldest first.
pub fn files(paths: &Paths) -> Result<Vec<PathBuf>> {
    let months = fs::read_dir(paths.dispatch()?).into_iter().flatten().flatten();
    // `by-session` and `slots` lie beside the months.
    let months = months.filter(|month| month.file_name().to_string_lossy().starts_with('2'));
    let files = months.flat_map(|month| fs::read_dir(month.path()).into_iter().flatten().flatten());
    let files = files.map(|file| file.path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
    files.sort();
    Ok(files)
}

/// The record with this id, or with the only id that begins so.
pub fn find(paths: &Paths, named: &str) -> Result<(PathBuf, Record)> {
    let whole = DispatchId::parse(named).is_ok();
    if !whole && (named.len() < SHORTEST || !named.starts_with("d-")) {
        return Err(Error::new(Exit::Usage, format!("`{}` is no dispatch id", typed(named)))
            .hint("`mo-spawn ps --all` shows them; the beginning is enough where it is unique"));
    }
    let mut found = files(paths)?;
    found.retain(|path| {
        path.file_stem().and_then(|stem| stem.to_str()).is_some_and(|id| id.starts_with(named))
    });
    let path = match found.as_slice() {
        [path] => path.clone(),
        [] => {
            return Err(Error::new(Exit::CouldNot, format!("there is no dispatch `{}`", typed(named)))
                .hint("`mo-spawn ps --all` shows them"));
        }
        more => {
            return Err(Error::new(
                Exit::Usage,
                format!("{} dispatches begin with `{}`", more.len(), typed(named)),
            )
            .hint("give more of the id"));
        }
    };
    let record = Record::read(&path)?
        .ok_or_else(|| Error::new(Exit::CouldNot, "the record has just gone:").at(&path))?;
    Ok((path, record))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Env;

    #[test]
    fn a_dispatch_is_found_by_the_beginning_of_its_id_where_that_is_unique() {
        let home = tempfile::tempdir().unwrap();
        let env: Env = [("HOME", home.path())].into_iter().collect();
        let paths = Paths::of(&env);
        let ids = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-02-01T00:00:00Z"].map(|time| {
            let now = time.parse().unwrap();
            let id = DispatchId::new(now);
            let record = Record { id: id.to_string(), ..Record::default() };
            record.write(&Record::path(&paths, &id, now).unwrap()).unwrap();
            id.to_string()
        });
        assert_eq!(files(&paths).unwrap().len(), 3);
        for id in &ids {
            assert_eq!(find(&paths, id).unwrap().1.id, *id);
        }
        assert_eq!(find(&paths, &ids[2][..20]).unwrap().1.id, ids[2]);
        // Two of one second share their beginning.
        assert_eq!(find(&paths, &ids[0][..6]).unwrap_err().exit(), Exit::Usage);
        assert_eq!(find(&paths, "d-zzzzzz").unwrap_err().exit(), Exit::CouldNot);
        assert_eq!(find(&paths, "../../etc").unwrap_err().exit(), Exit::Usage);
    }
}
