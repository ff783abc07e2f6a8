//! The token: who holds it may use what the gateway holds. And the proof that an instance holds it, which
//! gives nothing of it away, and is worth nothing at another address.

use std::path::Path;

use sha2::{Digest, Sha256};
use shared::error::Result;
use shared::file::{self, Durability, PRIVATE};
use shared::secret::Secret;
use uuid::Uuid;

use crate::hex;

/// The longest token file.
const CAP: u64 = 1 << 10;
/// The length of a hash's block.
const BLOCK: usize = 64;

/// The token.
#[derive(Clone, Debug)]
pub struct Token(Secret);

impl Token {
    /// The token in this file; a new one where there is none. It outlives an instance, since sessions that run
    /// know it.
    pub fn load_or_make(path: &Path) -> Result<Self> {
        if let Some(token) = Self::load(path)? {
            return Ok(token);
        }
        let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        file::replace(path, token.as_bytes(), PRIVATE, Durability::Synced)?;
        Ok(Self(Secret::from_file(&token)))
    }

    /// The token in this file.
    pub fn load(path: &Path) -> Result<Option<Self>> {
        let Some(bytes) = file::read_own(path, CAP)? else { return Ok(None) };
        Secret::parse(&bytes).map(|secret| Some(Self(secret)))
    }

    /// The token itself, for the header that carries it.
    pub fn reveal(&self) -> &str {
        self.0.reveal()
    }

    /// Whether this is the token, told in the same time whatever was given.
    pub fn is(&self, given: &[u8]) -> bool {
        // Hashes are compared, so that neither the length nor the place of a difference shows.
        equal(&digest(&[given]), &digest(&[self.0.reveal().as_bytes()]))
    }

    /// What an instance at this address answers to a challenge when it holds the token.
    pub fn proof(&self, address: &str, challenge: &str) -> String {
        let message = format!("mo-proxy\n{address}\n{challenge}");
        hex::text(&hmac(self.0.reveal().as_bytes(), message.as_bytes()))
    }
}

fn equal(one: &[u8; 32], other: &[u8; 32]) -> bool {
    let difference = one.iter().zip(other).fold(0, |sum, (one, other)| sum | (one ^ other));
    std::hint::black_box(difference) == 0
}

fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

/// HMAC-SHA256 (RFC 2104).
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; BLOCK];
    let hashed = digest(&[key]);
    let key = if key.len() > BLOCK { &hashed[..] } else { key };
    for (slot, byte) in block.iter_mut().zip(key) {
        *slot = *byte;
    }
    let inner = digest(&[&block.map(|byte| byte ^ 0x36), message]);
    digest(&[&block.map(|byte| byte ^ 0x5c), &inner])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_for_the_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        let token = Token::load_or_make(&path).unwrap();
        assert!(!file::is_open_to_others(&path));
        let text = std::fs::read(&path).unwrap();
        assert_eq!(text.len(), 64);
        assert!(token.is(&text) && Token::load_or_make(&path).unwrap().is(&text));
        assert!(!token.is(b"") && !token.is(&text[1..]) && !token.is(&[b'a'; 64]));
    }

    #[test]
    fn a_proof_is_bound_to_its_address_and_its_challenge() {
        let token = |text: &str| Token(Secret::from_file(text));
        let proof = token("t").proof("127.0.0.1:1", "c");
        assert_eq!(proof.len(), 64);
        for other in [
            token("u").proof("127.0.0.1:1", "c"),
            token("t").proof("127.0.0.1:2", "c"),
            token("t").proof("127.0.0.1:1", "d"),
        ] {
            assert_ne!(proof, other);
        }
    }

    #[test]
    fn the_mac_is_the_standards() {
        // RFC 4231, test cases 2 and 6.
        assert_eq!(
            hex::text(&hmac(b"Jefe", b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            hex::text(&hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }
}
