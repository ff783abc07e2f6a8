//! How far a long count is, on a terminal: a bar with bytes, rate and time left.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use shared::world::World;

/// Often enough to look alive, seldom enough to cost nothing.
const PAUSE: Duration = Duration::from_millis(100);
const WIDTH: u64 = 24;

/// A bar that draws itself at most every [`PAUSE`].
pub struct Progress<'a> {
    world: &'a World,
    shown: bool,
    begun: Instant,
    last: Mutex<Instant>,
}

impl<'a> Progress<'a> {
    /// A bar on standard error, if that is a terminal and `wanted`.
    pub fn new(world: &'a World, wanted: bool) -> Self {
        let now = Instant::now();
        Self { world, shown: wanted && world.terminal.stderr, begun: now, last: Mutex::new(now) }
    }

    /// Shows how far it is.
    pub fn show(&self, done: u64, total: u64) {
        if !self.shown {
            return;
        }
        // Whoever holds it is drawing already.
        let Ok(mut last) = self.last.try_lock() else { return };
        if last.elapsed() >= PAUSE {
            *last = Instant::now();
            self.world.say.aside(&format!("\r\x1b[K{}", bar(done, total, self.begun.elapsed())));
        }
    }

    /// Wipes the bar.
    pub fn end(&self) {
        if self.shown {
            self.world.say.aside("\r\x1b[K");
        }
    }
}

fn bar(done: u64, total: u64, elapsed: Duration) -> String {
    let total = total.max(done).max(1);
    let filled = (done * WIDTH / total) as usize;
    let rate = done as f64 / elapsed.as_secs_f64().max(0.001);
    let left = ((total - done) as f64 / rate.max(1.0)).ceil() as u64;
    format!(
        "[{}{}] {} of {}, {}/s, {} left",
        "#".repeat(filled),
        ".".repeat(WIDTH as usize - filled),
        bytes(done),
        bytes(total),
        bytes(rate as u64),
        time(left),
    )
}

fn time(seconds: u64) -> String {
    if seconds < 100 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) }
}

/// A number of bytes for people.
pub fn bytes(count: u64) -> String {
    let mut number = count as f64;
    for unit in ["bytes", "kB", "MB"] {
        if number < 1000.0 {
            return if unit == "bytes" { format!("{count} bytes") } else { format!("{number:.1} {unit}") };
        }
        number /= 1000.0;
    }
    format!("{number:.1} GB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_tells_bytes_rate_and_time_left() {
        assert_eq!(
            bar(250_000_000, 1_000_000_000, Duration::from_secs(1)),
            "[######..................] 250.0 MB of 1.0 GB, 250.0 MB/s, 3 s left"
        );
        assert_eq!(
            bar(0, 0, Duration::ZERO),
            "[........................] 0 bytes of 1 bytes, 0 bytes/s, 1 s left"
        );
        assert!(bar(1, 1 << 40, Duration::from_secs(1)).ends_with("min left"));
    }
}
