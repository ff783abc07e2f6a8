//! Bodies packed with gzip, deflate, br or zstd, unpacked piece by piece as they pass.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::FrameDecoder;

/// The buffer of the br decoder, and of what zstd gives at once.
const BUFFER: usize = 16 * 1024;
/// The largest zstd window that a browser must take (RFC 9659).
const LARGEST_WINDOW: u64 = 8 << 20;
/// The longest header of a zstd frame.
const LONGEST_HEADER: usize = 18;
/// The most packed bytes that wait for a whole zstd block: a block has at most 128 KiB.
const MOST_WAITING: usize = 256 * 1024;

/// Takes plain bytes; tells whether it wants more.
type Take<'a> = &'a mut dyn FnMut(&[u8]) -> bool;

/// The unpacking of one body.
pub enum Unpack {
    /// Not packed.
    Plain,
    /// Packed with something that we do not know.
    Nothing,
    /// gzip.
    Gzip(Box<MultiGzDecoder<Plain>>),
    /// deflate, which is zlib by the standard.
    Deflate(Box<ZlibDecoder<Plain>>),
    /// br.
    Brotli(Box<DecompressorWriter<Plain>>),
    /// zstd.
    Zstd(Box<Zstd>),
}

impl std::fmt::Debug for Unpack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain => "Plain",
            Self::Nothing => "Nothing",
            Self::Gzip(_) => "Gzip",
            Self::Deflate(_) => "Deflate",
            Self::Brotli(_) => "Brotli",
            Self::Zstd(_) => "Zstd",
        })
    }
}

/// What a decoder has written and nobody has taken yet.
#[derive(Debug, Default)]
pub struct Plain(Vec<u8>);

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Unpack {
    /// For this `content-encoding`; nothing where it is unknown, or more than one.
    pub fn of(encoding: &str) -> Option<Self> {
        let encoding = encoding.trim().to_ascii_lowercase();
        Some(match encoding.as_str() {
            "" | "identity" => Self::Plain,
            "gzip" | "x-gzip" => Self::Gzip(Box::new(MultiGzDecoder::new(Plain::default()))),
            "deflate" => Self::Deflate(Box::new(ZlibDecoder::new(Plain::default()))),
            "br" => Self::Brotli(Box::new(DecompressorWriter::new(Plain::default(), BUFFER))),
            "zstd" => Self::Zstd(Box::default()),
            _ => return None,
        })
    }

    /// Unpacks the next piece; tells whether all went well and the taker wants more.
    pub fn feed(&mut self, bytes: &[u8], take: Take<'_>) -> bool {
        match self {
            Self::Nothing => false,
            Self::Plain => take(bytes),
            // In small bites, so that a bomb is noticed before it has grown.
            Self::Gzip(decoder) => bites(bytes, |bite| {
                decoder.write_all(bite).and_then(|()| decoder.flush()).is_ok()
                    & taken(decoder.get_mut(), take)
            }),
            Self::Deflate(decoder) => bites(bytes, |bite| {
                decoder.write_all(bite).and_then(|()| decoder.flush()).is_ok()
                    & taken(decoder.get_mut(), take)
            }),
            Self::Brotli(decoder) => bites(bytes, |bite| {
                decoder.write_all(bite).and_then(|()| decoder.flush()).is_ok()
                    & taken(decoder.get_mut(), take)
            }),
            Self::Zstd(decoder) => decoder.feed(bytes, take),
        }
    }
}

/// The longest bite: what it can grow to stays small.
const BITE: usize = 4 * 1024;

fn bites(bytes: &[u8], mut each: impl FnMut(&[u8]) -> bool) -> bool {
    bytes.chunks(BITE).all(&mut each)
}

fn taken(plain: &mut Plain, take: Take<'_>) -> bool {
    let wants_more = plain.0.is_empty() || take(&plain.0);
    plain.0.clear();
    wants_more
}

/// zstd, frame by frame.
#[derive(Default)]
pub struct Zstd {
    decoder: FrameDecoder,
    /// Packed bytes that are no whole header or block yet.
    waiting: Vec<u8>,
    started: bool,
}

impl Zstd {
    fn feed(&mut self, bytes: &[u8], take: Take<'_>) -> bool {
        self.waiting.extend_from_slice(bytes);
        let mut target = [0; BUFFER];
        loop {
            if !self.started {
                if self.waiting.len() < LONGEST_HEADER {
                    return true;
                }
                self.decoder = FrameDecoder::new();
                self.decoder.set_max_window_size(LARGEST_WINDOW);
                self.started = true;
            }
            let Ok((read, written)) = self.decoder.decode_from_to(&self.waiting, &mut target) else {
                return false;
            };
            if read > self.waiting.len() {
                // The frame's checksum has not come whole.
                return true;
            }
            self.waiting.drain(..read);
            if written > 0 && !target.get(..written).is_some_and(&mut *take) {
                return false;
            }
            if self.decoder.is_finished() && self.decoder.can_collect() == 0 && written == 0 {
                self.started = false;
                if self.waiting.is_empty() {
                    return true;
                }
            } else if read == 0 && written == 0 {
                return self.waiting.len() <= MOST_WAITING;
            }
        }
    }
}
