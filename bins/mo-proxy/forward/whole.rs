//! A short answer of an upstream that is read here and not passed on: an error that is told in other words, a count.

use crate::upstream::outgoing::Sent;
use crate::wire::framing::Reader;
use crate::wire::status_line::Status;

/// The longest that is read.
const LONGEST: usize = 64 << 10;

/// Its body, as far as it came, and whether it came to its end.
pub async fn read(sent: &mut Sent, status: &Status) -> (Vec<u8>, bool) {
    let (mut reader, mut body) = (Reader::new(status.framing()), Vec::new());
    while body.len() < LONGEST {
        let inbox = sent.line().inbox();
        let Ok(step) = reader.step(inbox) else { break };
        body.extend_from_slice(inbox.get(step.skip..step.skip + step.data).unwrap_or_default());
        sent.line().used(step.skip + step.data);
        if step.end {
            return (body, true);
        }
        if step.skip + step.data == 0 && !matches!(sent.line().fill().await, Ok(1..)) {
            break;
        }
    }
    (body, false)
}
