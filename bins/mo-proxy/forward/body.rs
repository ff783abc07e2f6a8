//! The body of a request, read whole: its model decides where it goes, and a retry needs it again.

use std::time::Duration;

use tokio::time::timeout;

use crate::wire::framing::{Framing, Reader};
use crate::wire::head::Head;
use crate::wire::line::Line;
use crate::wire::reply::Reply;

/// So much is made ready for a body before its bytes come: a length alone costs a client nothing.
const AHEAD: usize = 1 << 20;
/// So much more than a body is read: a read that is not full tells that nothing more has come, and saves asking.
const SPARE: usize = 64;
/// How long a client may fall silent within a body.
const SILENCE: Duration = Duration::from_secs(30);

/// Why there is no body.
#[derive(Debug)]
pub enum Trouble {
    /// It is refused.
    Refused(Reply),
    /// The client left.
    Gone,
}

/// Reads the body of a request into this buffer.
pub async fn read(
    line: &mut Line,
    head: &Head,
    id: &str,
    largest: u64,
    mut body: Vec<u8>,
) -> Result<Vec<u8>, Trouble> {
    if head.framing() == Framing::None {
        return Ok(body);
    }
    if matches!(head.framing(), Framing::Length(length) if length > largest) {
        return Err(too_large(id, largest));
    }
    if head.expects() && line.inbox().is_empty() {
        line.send(b"HTTP/1.1 100 Continue\r\n\r\n").await.map_err(|_| Trouble::Gone)?;
    }
    match head.framing() {
        Framing::Length(length) => exactly(line, &mut body, length as usize, id).await?,
        _ => chunks(line, &mut body, id, largest).await?,
    }
    Ok(body)
}

async fn exactly(line: &mut Line, body: &mut Vec<u8>, length: usize, id: &str) -> Result<(), Trouble> {
    body.reserve(length.min(AHEAD) + SPARE);
    let here = line.inbox().get(..length).unwrap_or(line.inbox());
    body.extend_from_slice(here);
    line.used(body.len());
    while body.len() < length {
        let left = length - body.len();
        if body.capacity() <= body.len() + SPARE {
            body.reserve(left.min(body.len().max(AHEAD)) + SPARE);
        }
        progress(line.fill_into(body, left + SPARE), id).await?;
    }
    // What came behind the body is the next request's.
    line.unused(body.get(length..).unwrap_or_default());
    body.truncate(length);
    Ok(())
}

async fn chunks(line: &mut Line, body: &mut Vec<u8>, id: &str, largest: u64) -> Result<(), Trouble> {
    let mut reader = Reader::new(Framing::Chunked);
    loop {
        let step = reader.step(line.inbox()).map_err(|_| {
            Trouble::Refused(Reply::error(400, "a chunk of the body is malformed", id).closing())
        })?;
        let data = line.inbox().get(step.skip..step.skip + step.data).unwrap_or_default();
        if (body.len() + data.len()) as u64 > largest {
            return Err(too_large(id, largest));
        }
        body.extend_from_slice(data);
        line.used(step.skip + step.data);
        if step.end {
            return Ok(());
        }
        if step.skip + step.data == 0 {
            progress(line.fill(), id).await?;
        }
    }
}

/// Waits for more bytes.
async fn progress(reading: impl Future<Output = std::io::Result<usize>>, id: &str) -> Result<(), Trouble> {
    match timeout(SILENCE, reading).await {
        Ok(Ok(1..)) => Ok(()),
        Ok(_) => Err(Trouble::Gone),
        Err(_) => Err(Trouble::Refused(Reply::error(408, "the body took too long", id).closing())),
    }
}

fn too_large(id: &str, largest: u64) -> Trouble {
    let message = format!("the request is larger than {} MiB", largest >> 20);
    Trouble::Refused(Reply::error(413, &message, id).closing())
}
