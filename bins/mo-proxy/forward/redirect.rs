//! An answer that sends the client elsewhere. It ends here, whoever gives it: a client that follows takes its whole
//! request along, our token and its own key among it, to a host that somebody else has named.

use shared::host::Host;

use crate::config::names::ANTHROPIC;
use crate::wire::status_line::Status;

/// Whether an answer with this status is one. All of the class: a client may follow what no standard names.
pub fn is(status: u16) -> bool {
    matches!(status, 300..=399)
}

/// What the client is told instead: who redirects, to which host, and what to do about it.
pub fn told(upstream: &str, place: &str, status: &Status) -> String {
    let advice = if upstream == ANTHROPIC {
        "Anthropic's API redirects nobody: a proxy or a login page of the network may stand between"
            .to_owned()
    } else {
        format!("if its API has moved there, put that into the `base_url` of `{upstream}`")
    };
    let (code, to) = (status.code(), leads_to(status.get("location")));
    format!("{upstream}: {place} redirects ({code}) {to}; nothing was sent there; {advice}")
}

/// Where it leads: the host alone, since what stands around it may hold a secret.
fn leads_to(location: Option<&[u8]>) -> String {
    let Some(location) = location else { return "without saying where".to_owned() };
    let text = String::from_utf8_lossy(location).replace('\\', "/");
    let lower = text.get(..8).unwrap_or(&text).to_ascii_lowercase();
    let scheme = ["https://", "http://", "//"].into_iter().find(|scheme| lower.starts_with(scheme));
    let Some(scheme) = scheme else {
        // A scheme ends before anything of a path, however long its name is.
        let has_scheme = text.split(['/', '?', '#']).next().is_some_and(|first| first.contains(':'));
        return if has_scheme { "to what is no host" } else { "to another path of its own" }.to_owned();
    };
    let rest = text.get(scheme.len()..).unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => (name, Some(port)),
        _ => (authority, None),
    };
    let scheme = scheme.trim_start_matches("//");
    match (Host::parse(name), port) {
        (Some(host), Some(port)) => format!("to {scheme}{}:{port}", host.as_str()),
        (Some(host), None) => format!("to {scheme}{}", host.as_str()),
        (None, _) => "to what is no host".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_leads_is_a_host_or_none_and_never_what_stands_around_it() {
        for (location, told) in [
            ("https://evil.example/stolen?key=sk-secret#x", "to https://evil.example"),
            ("HTTPS://user:sk-secret@Evil.Example:8443/", "to https://evil.example:8443"),
            ("//evil.example/x", "to evil.example"),
            ("\\\\evil.example\\x", "to evil.example"),
            ("http:\\\\evil.example\\@good.example", "to http://evil.example"),
            ("http://[::1]:9/x", "to http://[::1]:9"),
            ("/v2/messages?key=sk-secret", "to another path of its own"),
            ("", "to another path of its own"),
            ("http://\u{1b}[31m/", "to what is no host"),
            ("javascript:alert(1)", "to what is no host"),
        ] {
            assert_eq!(leads_to(Some(location.as_bytes())), told, "{location}");
        }
        assert_eq!(leads_to(Some(b"http://\xff/")), "to what is no host");
        assert_eq!(leads_to(None), "without saying where");
    }

    #[test]
    fn the_whole_class_is_one() {
        assert!([300, 301, 302, 303, 304, 305, 307, 308, 310, 399].into_iter().all(is));
        assert!(![200, 204, 299, 400, 404].into_iter().any(is));
    }
}
