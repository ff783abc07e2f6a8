//! The terminal while a live view is on it: its own page, keys one by one, and everything as it was afterwards,
//! however the view ends.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::stdio;
use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::world::World;

/// Another page, without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
/// The cursor, and the page as it was.
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// How long a key is waited for, in tenths of a second.
const WAIT: u8 = 10;

/// The terminal, taken over.
#[derive(Debug)]
pub struct Screen<'a> {
    world: &'a World,
    before: Termios,
    ended: Arc<AtomicBool>,
}

impl<'a> Screen<'a> {
    /// Takes the terminal over; `instead` says what to do where there is none.
    pub fn enter(world: &'a World, instead: &str) -> Result<Self> {
        if !world.terminal.stdin || !world.terminal.stdout {
            return Err(Error::new(Exit::Usage, "a live view needs a terminal").hint(instead));
        }
        let failed = |error: io::Error| Error::new(Exit::Io, "cannot take over the terminal").because(&error);
        let ended = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&ended)).map_err(failed)?;
        }
        let before = termios::tcgetattr(stdio::stdin()).map_err(|error| failed(error.into()))?;
        let mut raw = before.clone();
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = WAIT;
        termios::tcsetattr(stdio::stdin(), OptionalActions::Now, &raw)
            .map_err(|error| failed(error.into()))?;
        world.say.out(ENTER)?;
        Ok(Self { world, before, ended })
    }

    /// How many columns and rows there are now.
    pub fn size() -> (usize, usize) {
        let size = termios::tcgetwinsize(stdio::stdout());
        let (columns, rows) =
            size.map_or((0, 0), |size| (usize::from(size.ws_col), usize::from(size.ws_row)));
        (if columns == 0 { 80 } else { columns }, if rows == 0 { 24 } else { rows })
    }

    /// Draws the page: these lines, as far as they fit.
    pub fn draw(&self, text: &str) -> Result<()> {
        let (columns, rows) = Self::size();
        self.world.say.out(&page(text, columns, rows))
    }

    /// Waits a moment for a key; tells whether the view is to end: q, Ctrl-C, Ctrl-D, or a signal.
    pub fn is_over(&self) -> bool {
        let mut key = [0];
        // Nothing typed reads as nothing; what cannot be read is a terminal that is gone.
        let over = match io::stdin().lock().read(&mut key) {
            Ok(0) => false,
            Ok(_) => matches!(key, [b'q' | b'Q' | 3 | 4]),
            Err(error) => error.kind() != io::ErrorKind::Interrupted,
        };
        over || self.ended.load(Ordering::Relaxed)
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _ = self.world.say.out(LEAVE);
        let _ = termios::tcsetattr(stdio::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Lines cut to the page, over whatever stood there.
fn page(text: &str, columns: usize, rows: usize) -> String {
    let mut page = "\x1b[H".to_owned();
    for (at, line) in text.lines().take(rows).enumerate() {
        if at > 0 {
            page.push_str("\r\n");
        }
        page.extend(line.chars().take(columns));
        page.push_str("\x1b[K");
    }
    page.push_str("\x1b[J");
    page
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn a_page_holds_what_fits() {
        assert_eq!(page("abc\nd\ne", 2, 2), "\x1b[Hab\x1b[K\r\nd\x1b[K\x1b[J");
    }
}
