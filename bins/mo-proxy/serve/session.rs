//! One connection of a client, request after request.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::forward::{self, After};
use crate::gateway::Gateway;
use crate::wire::head::{Head, Refusal};
use crate::wire::line::Line;
use crate::wire::reply::Reply;

/// How long a connection may lie idle between requests.
const IDLE: Duration = Duration::from_secs(300);
/// How soon the next request comes where one follows the other.
const SOON: Duration = Duration::from_secs(2);
/// How long a head may take from its first byte.
const HEAD: Duration = Duration::from_secs(10);
/// How long we listen to a client that we hung up on, so that it gets to read why.
const LINGER: Duration = Duration::from_secs(3);

/// What came, or did not.
enum Next {
    Request(Box<Head>),
    Refused(Reply),
    Over,
}

/// Serves a connection to its end. Where the gateway ends earlier, this is dropped, and accounted for by that.
pub async fn serve(mut line: Line, gateway: Arc<Gateway>) {
    loop {
        let after = match next(&mut line, &gateway).await {
            Next::Over => return,
            Next::Request(head) => forward::exchange(&mut line, &head, &gateway).await,
            Next::Refused(reply) => {
                let bytes = reply.bytes(&gateway.ids.next(), false, false);
                if line.send(&bytes).await.is_ok() { After::Linger } else { After::Close }
            }
        };
        match after {
            After::Keep => {}
            After::Close => return,
            After::Linger => return linger(line).await,
        }
    }
}

async fn next(line: &mut Line, gateway: &Gateway) -> Next {
    if line.inbox().is_empty() {
        // The next request comes soon, or after a while for which the memory is given back.
        let came = if let Ok(came) = timeout(SOON, line.fill()).await {
            came
        } else {
            line.rest();
            timeout(IDLE, line.fill()).await.unwrap_or(Ok(0))
        };
        if !matches!(came, Ok(1..)) {
            return Next::Over;
        }
    }
    timeout(HEAD, head(line, gateway)).await.unwrap_or_else(|_| {
        Next::Refused(Reply::error(408, "the request took too long", &gateway.ids.next()).closing())
    })
}

async fn head(line: &mut Line, gateway: &Gateway) -> Next {
    let mut seen = 0;
    loop {
        let (status, what) = match Head::parse(line.inbox(), seen) {
            Ok(Some((head, length))) => {
                line.used(length);
                return Next::Request(Box::new(head));
            }
            Ok(None) => {
                seen = line.inbox().len();
                match line.fill().await {
                    Ok(1..) => continue,
                    _ => return Next::Over,
                }
            }
            Err(Refusal::TooLong) => (431, "the request's head is too long"),
            Err(Refusal::Malformed(what)) => (400, what),
        };
        return Next::Refused(Reply::error(status, what, &gateway.ids.next()).closing());
    }
}

/// Reads on for a moment: a connection closed with unread bytes is reset, and takes our answer with it.
async fn linger(mut line: Line) {
    if line.finish().await.is_ok() {
        let rest = async {
            while let Ok(1..) = line.fill().await {
                line.used(usize::MAX);
            }
        };
        let _ = timeout(LINGER, rest).await;
    }
}
