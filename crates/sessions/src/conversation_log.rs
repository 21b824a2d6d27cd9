//! A second record of a conversation, for people and their scripts: one JSON object a line with
//! `timestamp`, `event_number` and `event_type`. Nothing is restored from it.

mod document;
mod files;
mod lines;
mod raw;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use contract::event::Event;
use contract::id::Timestamp;
use jiff::tz::TimeZone;

use crate::error::{FileError, cannot};

pub use document::{figures, json_figure, markdown};
pub use files::{Kind, LogFile, list, locate, read, session_of};
pub use raw::{RawExchange, RawLog, exchange, summary};

/// Where conversation logs go.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory.
    pub directory: PathBuf,
    /// The directory is closed to everybody else.
    pub private: bool,
    /// The time zone in which the log tells the time.
    pub zone: TimeZone,
    /// The number of files above which the oldest are deleted; none for the user's own directory.
    pub limit: Option<usize>,
}

/// The number of log files that the default directory keeps.
pub const LOG_FILES_LIMIT: usize = 100;

/// Why there is no conversation log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory is not safe to write to.
    #[error("the log directory {} {why}: remove it, or set `logging.dir` to another directory", directory.display())]
    Unsafe {
        /// The directory.
        directory: PathBuf,
        /// The problem.
        why: &'static str,
    },
    /// There is no such log.
    #[error("no log file {} in {}", name.as_deref().unwrap_or("at all"), directory.display())]
    NotFound {
        /// The directory that was searched.
        directory: PathBuf,
        /// The name that was asked for; none if any would do.
        name: Option<String>,
    },
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Writes down a conversation as it happens.
pub struct ConversationLog {
    /// The file.
    pub path: PathBuf,
    file: File,
    translator: lines::Translator,
}

impl ConversationLog {
    /// Begins a log that is named for the moment, in a file of its own.
    pub fn create(settings: &Settings, at: Timestamp) -> Result<Self, Error> {
        let (path, file) = files::create(settings, at, "brynhild")?;
        Ok(Self { path, file, translator: lines::Translator::new(settings.zone.clone()) })
    }

    /// Begins a log at the end of a named file.
    pub fn append_to(path: PathBuf, zone: TimeZone) -> Result<Self, Error> {
        let file = files::open_named(&path)?;
        Ok(Self { path, file, translator: lines::Translator::new(zone) })
    }

    /// Writes down an event, if it is of a kind that the log has.
    pub fn record(&mut self, event: &Event) -> Result<(), FileError> {
        let mut bytes = Vec::new();
        for line in self.translator.translate(event) {
            bytes.extend_from_slice(line.to_string().as_bytes());
            bytes.push(b'\n');
        }
        self.file.write_all(&bytes).map_err(cannot("write", &self.path))
    }
}

#[cfg(test)]
mod tests;
