//! The way past a company's proxy to a server on this machine. Claude Code sends even what is for 127.0.0.1 through
//! `HTTPS_PROXY` or `HTTP_PROXY` unless `NO_PROXY` names it, key and all (observed with 2.1.332); another machine
//! could not reach it anyway.

use crate::env::Env;

/// What says that there is a proxy.
const PROXIES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
/// The names of the list of exceptions: some programs know one, some the other, some prefer the small letters.
const LISTS: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// The names of this machine.
const LOOPBACK: [&str; 4] = ["localhost", "127.0.0.1", "::1", "[::1]"];

/// Whether a variable has a say in which way requests go.
pub fn decides(name: &str) -> bool {
    PROXIES.contains(&name) || LISTS.contains(&name)
}

/// What is to be set beside these variables so that servers on this machine are reached directly; nothing where no
/// proxy is named.
pub fn for_loopback(env: &Env) -> Vec<(&'static str, String)> {
    let given = |name: &str| env.text(name).filter(|value| !value.trim().is_empty());
    if !PROXIES.iter().any(|name| given(name).is_some()) {
        return Vec::new();
    }
    past_any(env).collect()
}

/// The same whether a proxy is named or not: one may be named later.
pub fn past_any(env: &Env) -> impl Iterator<Item = (&'static str, String)> {
    let given = |name: &str| env.text(name).filter(|value| !value.trim().is_empty());
    let [large, small] = LISTS.map(given);
    let lists = [large.or(small), small.or(large)].map(|list| with_loopback(list.unwrap_or_default()));
    LISTS.into_iter().zip(lists)
}

fn with_loopback(list: &str) -> String {
    let has = |host: &str| list.split([',', ' ']).any(|one| one.trim() == host);
    if has("*") {
        return list.to_owned();
    }
    let missing = LOOPBACK.into_iter().filter(|host| !has(host));
    let own = (!list.trim().is_empty()).then(|| list.trim().trim_end_matches(','));
    own.into_iter().chain(missing).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(variables: &[(&str, &str)]) -> Vec<(&'static str, String)> {
        for_loopback(&variables.iter().copied().collect())
    }

    #[test]
    fn without_a_proxy_nothing_is_set() {
        assert!(set(&[]).is_empty() && set(&[("NO_PROXY", "x"), ("HTTPS_PROXY", " ")]).is_empty());
    }

    #[test]
    fn exceptions_that_there_are_stay() {
        let both = |value: &str| vec![("NO_PROXY", value.to_owned()), ("no_proxy", value.to_owned())];
        assert_eq!(set(&[("HTTPS_PROXY", "p")]), both("localhost,127.0.0.1,::1,[::1]"));
        let given = [("http_proxy", "p"), ("no_proxy", ".corp, 127.0.0.1,")];
        assert_eq!(set(&given), both(".corp, 127.0.0.1,localhost,::1,[::1]"));
        assert_eq!(set(&[("http_proxy", "p"), ("NO_PROXY", "*")]), both("*"));
        let different = set(&[("http_proxy", "p"), ("NO_PROXY", "a"), ("no_proxy", "b")]);
        assert!(different[0].1.starts_with("a,") && different[1].1.starts_with("b,"), "{different:?}");
    }
}
