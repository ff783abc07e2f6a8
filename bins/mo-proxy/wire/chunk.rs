//! Chunked bodies: a strict decoder, step by step, and the frame around a chunk of ours.
//! What two readers could understand differently is refused: that is how requests are smuggled.

use std::fmt::Write as _;

use super::framing::Step;

/// The longest line of a chunk's size, its extension included.
const LONGEST: usize = 256;
/// The longest trailer.
const LONGEST_TRAILER: usize = 16 << 10;

/// What stands where a chunk should is none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Malformed;

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Before the line with a size.
    #[default]
    Size,
    /// Inside the data; so much is left.
    Data(u64),
    /// Before the line end behind the data.
    DataEnd,
    /// Behind the last chunk.
    Trailer,
    Done,
}

/// Reads chunks, piece by piece.
#[derive(Debug, Default)]
pub struct Decoder {
    state: State,
    trailer: usize,
}

impl Decoder {
    /// What the next bytes are. A step without progress wants more bytes.
    pub fn step(&mut self, inbox: &[u8]) -> Result<Step, Malformed> {
        let mut skip = 0;
        loop {
            let rest = inbox.get(skip..).unwrap_or_default();
            match self.state {
                State::Size => {
                    let Some(line) = line(rest, LONGEST)? else { break };
                    skip += line.len() + 2;
                    self.state = match size(line)? {
                        0 => State::Trailer,
                        size => State::Data(size),
                    };
                }
                State::Data(left) => {
                    let data = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    let left = left - data as u64;
                    self.state = if left == 0 { State::DataEnd } else { State::Data(left) };
                    return Ok(Step { skip, data, end: false });
                }
                State::DataEnd => match rest {
                    [b'\r', b'\n', ..] => {
                        skip += 2;
                        self.state = State::Size;
                    }
                    [] | [b'\r'] => break,
                    _ => return Err(Malformed),
                },
                State::Trailer => {
                    let Some(line) = line(rest, LONGEST_TRAILER)? else { break };
                    skip += line.len() + 2;
                    self.trailer += line.len() + 2;
                    if self.trailer > LONGEST_TRAILER {
                        return Err(Malformed);
                    }
                    if line.is_empty() {
                        self.state = State::Done;
                    }
                }
                State::Done => return Ok(Step { skip, data: 0, end: true }),
            }
        }
        Ok(Step { skip, data: 0, end: false })
    }
}

/// The next line, once its end is there.
fn line(bytes: &[u8], longest: usize) -> Result<Option<&[u8]>, Malformed> {
    match memchr::memchr(b'\n', bytes) {
        Some(at) if at <= longest => {
            let line = bytes.get(..at).and_then(|line| line.strip_suffix(b"\r")).ok_or(Malformed)?;
            if line.contains(&b'\r') { Err(Malformed) } else { Ok(Some(line)) }
        }
        None if bytes.len() <= longest => Ok(None),
        _ => Err(Malformed),
    }
}

fn size(line: &[u8]) -> Result<u64, Malformed> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii_end();
    if digits.is_empty() || digits.len() > 15 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(Malformed);
    }
    let text = std::str::from_utf8(digits).map_err(|_| Malformed)?;
    u64::from_str_radix(text, 16).map_err(|_| Malformed)
}

/// Behind the last chunk.
pub const LAST: &[u8] = b"0\r\n\r\n";

/// Adds a chunk with this data. An empty one would be the end, so nothing is added then.
pub fn write(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    let mut size = String::with_capacity(10);
    let _ = write!(size, "{:x}\r\n", data.len());
    out.extend_from_slice(size.as_bytes());
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Everything decoded from pieces of these sizes.
    fn decode(bytes: &[u8], cuts: &[usize]) -> Result<(Vec<u8>, bool, usize), Malformed> {
        let (mut decoder, mut data, mut inbox, mut used) = (Decoder::default(), Vec::new(), Vec::new(), 0);
        let mut rest = bytes;
        for cut in cuts.iter().copied().chain([bytes.len()]) {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            rest = after;
            inbox.extend_from_slice(piece);
            loop {
                let step = decoder.step(&inbox)?;
                data.extend_from_slice(&inbox[step.skip..step.skip + step.data]);
                inbox.drain(..step.skip + step.data);
                used += step.skip + step.data;
                if step.end {
                    return Ok((data, true, used));
                }
                if step.skip + step.data == 0 {
                    break;
                }
            }
        }
        Ok((data, false, used))
    }

    #[test]
    fn what_two_readers_could_understand_differently_is_refused() {
        for bad in [
            &b"5\nhello\r\n"[..],
            b"0x5\r\nhello\r\n",
            b"+5\r\nhello\r\n",
            b"-1\r\n",
            b"\r\n",
            b" 5\r\nhello\r\n",
            b"5\r\nhelloX",
            b"5\r\nhello\n",
            b"5\r\r\nhello\r\n",
            b"fffffffffffffffff\r\n",
            b"5_0\r\n",
        ] {
            assert_eq!(decode(bad, &[]), Err(Malformed), "{}", bad.escape_ascii());
        }
        assert_eq!(
            decode(b"5;a=b\r\nhello\r\n0\r\nx: y\r\n\r\nGET", &[]).unwrap(),
            (b"hello".to_vec(), true, 25)
        );
        assert_eq!(decode(&[b'1'; 300], &[]), Err(Malformed));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]
        #[test]
        fn any_chunking_and_any_cutting_gives_the_same_data(
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..8),
            cuts in proptest::collection::vec(0usize..9, 0..60),
        ) {
            let mut wire = Vec::new();
            for piece in &pieces {
                write(&mut wire, piece);
            }
            wire.extend_from_slice(LAST);
            let all = wire.len();
            wire.extend_from_slice(b"next");
            prop_assert_eq!(decode(&wire, &cuts).unwrap(), (pieces.concat(), true, all));
        }

        #[test]
        fn no_bytes_make_it_panic_or_run_ahead(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Ok((data, _, used)) = decode(&bytes, &[1, 2, 3]) {
                prop_assert!(used <= bytes.len() && data.len() <= used);
            }
        }
    }
}
