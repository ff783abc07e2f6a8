//! The prompt that does not show what is typed. However it ends, the terminal is left as it was found.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;

use rustix::termios::{self, OptionalActions, Termios};
use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::secret::Secret;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use zeroize::Zeroizing;

enum Event {
    Typed(io::Result<Zeroizing<String>>),
    Signal,
}

/// Asks for the key. A signal that means the end cancels it.
pub fn key(prompt: &str) -> Result<Secret> {
    let failed = |error: io::Error| Error::new(Exit::Io, "cannot read from the terminal").because(&error);
    let terminal = Terminal::open().map_err(failed)?;
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT]).map_err(failed)?;
    let (sender, events) = mpsc::channel();
    let (typed, prompt) = (sender.clone(), prompt.to_owned());
    // Reading cannot be interrupted: after a signal its thread ends with the process.
    thread::spawn(move || typed.send(Event::Typed(rpassword::prompt_password(prompt).map(Zeroizing::new))));
    thread::spawn(move || signals.forever().next().map(|_| sender.send(Event::Signal)));
    match events.recv() {
        // While it reads, Ctrl-C is no signal but a letter, which it tells as this.
        Ok(Event::Typed(Err(error))) if error.kind() == io::ErrorKind::Interrupted => {
            Err(cancelled(terminal))
        }
        Ok(Event::Typed(typed)) => Secret::parse(typed.map_err(failed)?.as_bytes()),
        Ok(Event::Signal) | Err(_) => Err(cancelled(terminal)),
    }
}

fn cancelled(terminal: Terminal) -> Error {
    terminal.restore();
    Error::new(Exit::Cancelled, "cancelled: nothing was stored")
}

/// The terminal as it was before the question.
struct Terminal {
    file: File,
    found: Termios,
}

impl Terminal {
    fn open() -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        let found = termios::tcgetattr(&file)?;
        Ok(Self { file, found })
    }

    /// What was typed so far is thrown away: the shell must not get half a key.
    fn restore(mut self) {
        // A terminal that has gone needs nothing.
        let _ = termios::tcsetattr(&self.file, OptionalActions::Flush, &self.found);
        let _ = self.file.write_all(b"\n");
    }
}
