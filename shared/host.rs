//! A host: a name or an address, and whether it is this machine or Anthropic.
//! What stands around it in a URL is left to `base_url`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host in lower case; an IPv6 address stands in brackets.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Host(String);

impl Host {
    /// Checks the host. Numbers that only some resolvers read as an address (`127.1`, `0x7f000001`) are
    /// refused: whether they are this machine must never be a matter of opinion.
    pub fn parse(typed: &str) -> Option<Self> {
        let host = typed.to_ascii_lowercase();
        if let Some(inner) = host.strip_prefix('[') {
            let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self(format!("[{address}]")));
        }
        let name = host.strip_suffix('.').unwrap_or(&host);
        if name.len() > 253 || !name.split('.').all(is_label) {
            return None;
        }
        let last = name.rsplit('.').next().unwrap_or_default();
        let numeric = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
        if numeric && name.parse::<Ipv4Addr>().is_err() {
            return None;
        }
        Some(Self(host))
    }

    /// The host as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a connection to it stays on this machine.
    pub fn is_loopback(&self) -> bool {
        let name = self.name();
        if name == "localhost" || name.ends_with(".localhost") {
            return true;
        }
        match name.trim_matches(['[', ']']).parse() {
            Ok(IpAddr::V4(address)) => stays_here(address),
            Ok(IpAddr::V6(address)) => {
                address.is_loopback()
                    || address.is_unspecified()
                    || address.to_ipv4_mapped().is_some_and(stays_here)
            }
            Err(_) => false,
        }
    }

    /// Whether it is Anthropic's.
    pub fn is_anthropic(&self) -> bool {
        self.name() == "anthropic.com" || self.name().ends_with(".anthropic.com")
    }

    fn name(&self) -> &str {
        self.0.trim_end_matches('.')
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// 0.0.0.0 too: a connection to it reaches this machine (and proxies print it as their address).
fn stays_here(address: Ipv4Addr) -> bool {
    address.is_loopback() || address.is_unspecified()
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(typed: &str) -> Host {
        Host::parse(typed).unwrap()
    }

    #[test]
    fn loopback_is_told_from_look_alikes() {
        for here in [
            "localhost",
            "LocalHost.",
            "a.localhost",
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "[::1]",
            "[::]",
            "[0:0::1]",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(host(here).is_loopback(), "{here}");
        }
        for elsewhere in [
            "localhost.example",
            "127.0.0.1.example",
            "10.0.0.1",
            "192.168.1.7",
            "[fe80::1]",
            "[::ffff:10.0.0.1]",
            "notlocalhost",
        ] {
            assert!(!host(elsewhere).is_loopback(), "{elsewhere}");
        }
    }

    #[test]
    fn anthropic_is_told_from_look_alikes() {
        for theirs in ["api.anthropic.com", "API.Anthropic.com.", "anthropic.com"] {
            assert!(host(theirs).is_anthropic(), "{theirs}");
        }
        for other in ["api.z.ai", "anthropic.com.evil.example", "notanthropic.com"] {
            assert!(!host(other).is_anthropic(), "{other}");
        }
    }

    #[test]
    fn what_resolvers_disagree_on_is_no_host() {
        for typed in [
            "",
            ".",
            "a..b",
            "a b",
            "a\u{0}b",
            "ü.example",
            "127.1",
            "2130706433",
            "0x7f000001",
            "1.2.3.4.5",
            "[::1",
            "[::g]",
            "[]",
        ] {
            assert_eq!(Host::parse(typed), None, "{typed:?}");
        }
        assert_eq!(Host::parse(&format!("{}.example", "a".repeat(64))), None);
    }
}
