//! What is said on the side: to standard error, as much as the configuration asks for.

use tracing::level_filters::LevelFilter;

use crate::config::Log;

/// From now on what happens is told.
pub fn start(log: Log) {
    let level = match log {
        Log::Off => LevelFilter::OFF,
        Log::Error => LevelFilter::ERROR,
        Log::Warn => LevelFilter::WARN,
        Log::Info => LevelFilter::INFO,
        Log::Debug => LevelFilter::DEBUG,
        Log::Trace => LevelFilter::TRACE,
    };
    let subscriber = tracing_subscriber::fmt().with_max_level(level).with_target(false).with_ansi(false);
    // Set already only where something else in this process did it first.
    let _ = subscriber.with_writer(std::io::stderr).try_init();
}
