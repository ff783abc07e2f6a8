//! What must hold for any bytes as a request's head: the fuzz target `head` and the tests ask it alike.

use super::field::{self, Kind};
use super::framing::{self, Framing};
use super::head::{Head, LONGEST};

/// A field, as it is told.
type Told = (Vec<u8>, Vec<u8>, Kind);

/// Never a panic; what is taken has one meaning: it is read alike in whatever pieces it comes and whatever follows, and
/// written anew it is read as before.
pub fn check(bytes: &[u8]) {
    let Ok(Some((head, length))) = Head::parse(bytes, 0) else { return };
    let raw = bytes.get(..length).expect("no more than there is");
    assert!(length <= LONGEST + 64, "{length}");
    assert!(head.target().starts_with('/') && !head.method().is_empty(), "{head:?}");
    assert!(
        !raw.iter().enumerate().any(|(at, byte)| *byte == b'\n' && (at == 0 || raw[at - 1] != b'\r'))
            || lead(raw) > 0
    );
    // It is whole with its last byte and not before, and what follows is another's.
    for end in (0..length).rev().take(64) {
        assert!(!matches!(Head::parse(&raw[..end], 0), Ok(Some(_))), "it ends at {end} already");
    }
    let (alone, same) = Head::parse(raw, 0).ok().flatten().expect("the same without what follows");
    assert_eq!((same, told(&alone)), (length, told(&head)));
    one_meaning(&head);
    let again = written(&head);
    let (read, all) = Head::parse(&again, 0).ok().flatten().expect("what was written is read");
    assert_eq!(all, again.len());
    assert_eq!(
        (read.method(), read.target(), read.framing()),
        (head.method(), head.target(), head.framing())
    );
    assert_eq!(told(&read), told(&head));
}

/// Empty lines before a request.
fn lead(raw: &[u8]) -> usize {
    raw.iter().take_while(|byte| b"\r\n".contains(byte)).count()
}

/// At most one length or coding, exactly one host, and no field that holds another.
fn one_meaning(head: &Head) {
    let fields = told(head);
    let of = |wanted: Kind| fields.iter().filter(move |(_, _, kind)| *kind == wanted);
    assert!(of(Kind::Host).count() == 1 || head.is_http10());
    match head.framing() {
        Framing::None => assert_eq!(of(Kind::Length).count() + of(Kind::Coding).count(), 0),
        Framing::Length(length) => {
            let lengths: Vec<_> = of(Kind::Length).map(|(_, value, _)| framing::length(value)).collect();
            assert_eq!((lengths, of(Kind::Coding).count()), (vec![Some(length)], 0));
        }
        Framing::Chunked => assert_eq!((of(Kind::Length).count(), of(Kind::Coding).count()), (0, 1)),
        Framing::Close => panic!("a request does not end with its connection"),
    }
    for (name, value, kind) in &fields {
        assert!(!name.is_empty() && !name.iter().any(|byte| b" :\t\r\n\0".contains(byte)), "{name:?}");
        assert!(!value.iter().any(|byte| b"\r\n\0".contains(byte)), "{value:?}");
        // A credential is never among what everybody may read.
        assert!(*kind != Kind::Credential);
        for secret in ["authorization", "x-api-key", "cookie"] {
            assert!(!name.eq_ignore_ascii_case(secret.as_bytes()));
        }
    }
}

fn told(head: &Head) -> Vec<Told> {
    head.fields().map(|(name, value, kind)| (name.to_vec(), value.to_vec(), kind)).collect()
}

fn written(head: &Head) -> Vec<u8> {
    let version = if head.is_http10() { "HTTP/1.0" } else { "HTTP/1.1" };
    let mut out = format!("{} {} {version}\r\n", head.method(), head.target()).into_bytes();
    for (name, value, _) in head.fields() {
        field::write(&mut out, name, value);
    }
    out.extend_from_slice(b"\r\n");
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn ten_thousand_damaged_heads_have_one_meaning_or_none() {
        crate::scan::replay::replay("head", b"\r\n: \t\0,;G/x1\x80", super::check);
    }
}
