//! What of the head of a provider's answer reaches the client: what it reads, and nothing that could send it
//! elsewhere, leave something with it, or speak in the gateway's own name.

/// The fields that a client of the Messages API reads, or a person who looks for an error.
const NAMES: [&[u8]; 12] = [
    b"cache-control",
    b"content-encoding",
    b"content-length",
    b"content-type",
    b"date",
    b"request-id",
    b"retry-after",
    b"retry-after-ms",
    b"server",
    b"vary",
    b"x-request-id",
    b"x-should-retry",
];
/// How the names of limits begin.
const BEGINNINGS: [&[u8]; 3] = [b"anthropic-ratelimit-", b"ratelimit-", b"x-ratelimit-"];

/// Whether a field of this name is passed on.
pub fn is(name: &[u8]) -> bool {
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
        || BEGINNINGS
            .iter()
            .any(|start| name.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_client_reads_is_passed_on() {
        for name in [
            "Content-Type",
            "retry-after",
            "Request-Id",
            "X-RateLimit-Remaining-Tokens",
            "anthropic-ratelimit-x",
        ] {
            assert!(is(name.as_bytes()), "{name}");
        }
        for name in [
            "location",
            "refresh",
            "set-cookie",
            "set-cookie2",
            "alt-svc",
            "content-location",
            "www-authenticate",
            "proxy-authenticate",
            "link",
            "x-mo-upstream",
            "clear-site-data",
            "strict-transport-security",
            "x-api-key",
            "authorization",
            "access-control-allow-origin",
            "service-worker-allowed",
            "ratelimit",
            "",
            "retry-after-x",
        ] {
            assert!(!is(name.as_bytes()), "{name}");
        }
    }
}
