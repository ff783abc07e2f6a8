//! Who may ask: no web page, no rebound name, and nobody without the token where the gateway's own keys are used.

use shared::host::Host;

use crate::gateway::Gateway;
use crate::wire::field::TOKEN;
use crate::wire::framing::Framing;
use crate::wire::head::Head;
use crate::wire::reply::Reply;

/// Refuses what a web page could send: a foreign name for this machine, a foreign origin, a form. Every field of a name
/// is looked at, as bytes: the one that was not could be the one that counts elsewhere.
pub fn refuse(head: &Head, gateway: &Gateway, id: &str) -> Option<Reply> {
    if !head.all("host").all(is_own_name) {
        return Some(Reply::error(421, "this gateway is reached by a loopback name only", id));
    }
    if !head.all("origin").all(|origin| is_own_origin(origin, &gateway.address))
        || !head.all("sec-fetch-site").all(is_own_site)
    {
        return Some(Reply::error(403, "this gateway serves no web pages", id));
    }
    // A form of another site is sent without asking; JSON, and what carries a credential that no browser adds by
    // itself, is not.
    if head.framing() != Framing::None && !is_json(head) && !head.has_credential_of_its_own() {
        return Some(Reply::error(415, "the content type must be application/json", id));
    }
    None
}

/// Whether the request holds the token.
pub fn has_token(head: &Head, gateway: &Gateway) -> bool {
    !head.repeats(TOKEN) && head.get(TOKEN).is_some_and(|given| gateway.token.is(given))
}

/// Refuses a request without the token.
pub fn refuse_without_token(head: &Head, gateway: &Gateway, id: &str) -> Option<Reply> {
    let message = "this needs the gateway's token in the header x-mo-token; `mo-proxy exec` sends it";
    (!has_token(head, gateway)).then(|| Reply::error(403, message, id))
}

fn is_own_name(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    Host::parse(name).is_some_and(|host| host.is_loopback())
}

fn is_own_origin(origin: &[u8], address: &str) -> bool {
    origin.strip_prefix(b"http://").is_some_and(|place| place == address.as_bytes())
}

/// What a browser says of a page of ours, or of an address that its user typed. No page can say it in its place.
fn is_own_site(site: &[u8]) -> bool {
    site == b"same-origin" || site == b"none"
}

fn is_json(head: &Head) -> bool {
    let kind = |value: &[u8]| {
        let kind = value.split(|byte| *byte == b';').next().unwrap_or_default();
        kind.trim_ascii().eq_ignore_ascii_case(b"application/json")
    };
    head.all("content-type").next().is_some() && head.all("content-type").all(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_are_ours() {
        for own in ["localhost", "localhost:3457", "127.0.0.1:1", "[::1]:80", "[::1]", "LOCALHOST"] {
            assert!(is_own_name(own.as_bytes()), "{own}");
        }
        for other in
            ["evil.example", "evil.example:3457", "127.0.0.1.evil.example", "10.0.0.1", "", "localhost:x"]
        {
            assert!(!is_own_name(other.as_bytes()), "{other}");
        }
        for other in [
            &b"evil\xff.example"[..],
            b"localhost\xff",
            b"\xfflocalhost:1",
            b"evil@127.0.0.1",
            b"0x7f.1",
            b"127.1",
        ] {
            assert!(!is_own_name(other), "{}", other.escape_ascii());
        }
    }

    #[test]
    fn only_our_own_origin_is_ours() {
        assert!(is_own_origin(b"http://127.0.0.1:3457", "127.0.0.1:3457"));
        for other in [
            &b"http://127.0.0.1:34570"[..],
            b"https://127.0.0.1:3457",
            b"null",
            b"http://127.0.0.1:3457.evil.example",
            b"",
        ] {
            assert!(!is_own_origin(other, "127.0.0.1:3457"), "{}", other.escape_ascii());
        }
    }
}
