//! Who wrote a piece of thinking. Its signature is good only where it was made: another provider refuses it, or
//! takes somebody else's thoughts for its own.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use crate::route::{Leg, Way};
use crate::scan::Value;

/// So many signatures are remembered: the thinking of a few long sessions.
const MOST: usize = 8_192;
/// Anthropic's signatures are longer than this.
const LONG: usize = 100;

/// The signatures that went by, and whose they are.
#[derive(Debug, Default)]
pub struct Minted {
    whose: HashMap<u64, String>,
    order: VecDeque<u64>,
    hasher: RandomState,
}

impl Minted {
    /// This upstream wrote thinking with this signature.
    pub fn note(&mut self, signature: &str, upstream: &str) {
        if signature.is_empty() {
            return;
        }
        let hash = self.hasher.hash_one(signature);
        if self.whose.insert(hash, upstream.to_owned()).is_none() {
            self.order.push_back(hash);
        }
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.whose.remove(&oldest);
        }
    }

    /// Whether a thinking block may go to this place: what the place wrote itself, and where nobody remembers, what
    /// does not look like Anthropic's to others, and what does to Anthropic.
    pub fn may_go(&self, block: Value<'_>, leg: &Leg) -> bool {
        let to_anthropic = match &leg.way {
            Way::Anthropic => true,
            Way::Provider(provider) => provider.base_url.is_anthropic(),
        };
        let signature = block.get("signature").and_then(Value::text).unwrap_or_default();
        if let Some(upstream) = self.whose.get(&self.hasher.hash_one(signature.as_ref())) {
            return upstream == leg.upstream();
        }
        // Only Anthropic hides thinking.
        let is_redacted = block.get("type").is_some_and(|kind| kind.is_text("redacted_thinking"));
        (is_redacted || looks_like_anthropics(&signature)) == to_anthropic
    }
}

/// Anthropic's signatures are base64 of a message whose first field is number 2: they begin with `E`.
fn looks_like_anthropics(signature: &str) -> bool {
    let base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    signature.len() >= LONG
        && matches!(signature.as_bytes(), [b'E', b'g'..=b'v', ..])
        && signature.bytes().all(base64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Body;

    fn anthropic() -> Leg {
        Leg { way: Way::Anthropic, model: "claude-x".into(), profile: None }
    }

    fn goes(minted: &Minted, signature: &str) -> bool {
        let text = format!(r#"{{"type":"thinking","thinking":"t","signature":"{signature}"}}"#);
        minted.may_go(Body::read(text.as_bytes()).unwrap().whole(), &anthropic())
    }

    #[test]
    fn what_is_remembered_wins_over_looks() {
        let mut minted = Minted::default();
        let theirs = format!("EqQB{}", "x".repeat(200));
        assert!(goes(&minted, &theirs));
        assert!(!goes(&minted, "") && !goes(&minted, "b1946ac92492d2347c6235b4d2611184"));
        minted.note(&theirs, "zai");
        assert!(!goes(&minted, &theirs));
        minted.note("short", "anthropic");
        assert!(goes(&minted, "short"));
    }

    #[test]
    fn memory_has_an_end() {
        let mut minted = Minted::default();
        for number in 0..MOST + 10 {
            minted.note(&format!("s{number}"), "zai");
        }
        assert_eq!((minted.whose.len(), minted.order.len()), (MOST, MOST));
        minted.note("", "zai");
        assert_eq!(minted.whose.len(), MOST);
    }
}
