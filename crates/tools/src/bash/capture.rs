//! One output stream of a process: its start and end in memory, all of it in a file if it is long,
//! and its lines as progress while it runs.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use contract::message::ToolCall;
use contract::tool::{Redactor, ToolContext};
use tokio::fs::{DirBuilder, File, OpenOptions};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::process_output::Sink;

/// Bytes of the start, and of the end, in memory: enough for as many characters as a call returns,
/// four bytes each.
const IN_MEMORY: usize = 4 * super::MAX_RETURNED;
/// The most bytes in the file.
const MAX_SPILLED: u64 = 64 << 20;
/// The most bytes of a line of progress.
const MAX_LINE: usize = 4_000;

pub(super) struct Capture {
    name: &'static str,
    open: bool,
    total: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
    spill: Spill,
    progress: mpsc::Sender<String>,
    line: Vec<u8>,
    redactor: Option<Box<dyn Redactor>>,
}

impl Capture {
    pub(super) fn new(name: &'static str, context: &ToolContext, call: &ToolCall) -> Self {
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let id: String = call.id.as_str().chars().take(64).map(safe).collect();
        Self {
            name,
            open: true,
            total: 0,
            head: Vec::new(),
            tail: Vec::new(),
            spill: Spill::Unused(context.spill.join(format!("bash-{id}-{name}"))),
            progress: context.progress.clone(),
            line: Vec::new(),
            redactor: context.redactors.as_ref().map(|redactors| redactors()),
        }
    }

    /// The number of characters; `usize::MAX` if they are more than a call can return.
    pub(super) fn characters(&self) -> usize {
        if self.is_whole() {
            String::from_utf8_lossy(&self.head).chars().count()
        } else {
            usize::MAX
        }
    }

    /// Returns true if `head` has all of the output.
    fn is_whole(&self) -> bool {
        self.total <= IN_MEMORY as u64
    }

    async fn add(&mut self, bytes: &[u8]) {
        let length = bytes.len();
        self.show(bytes);
        let room = IN_MEMORY - self.head.len();
        let (first, rest) = bytes.split_at(room.min(length));
        let before = self.total;
        self.total += length as u64;
        if !rest.is_empty() {
            if before <= IN_MEMORY as u64 {
                self.spill.write(&self.head).await;
                self.spill.write(first).await;
            }
            self.spill.write(rest).await;
            self.tail.extend_from_slice(rest);
            if self.tail.len() > 2 * IN_MEMORY {
                self.tail.drain(..self.tail.len() - IN_MEMORY);
            }
        }
        self.head.extend_from_slice(first);
    }

    /// The output as text. If it is longer than `budget` characters, its middle is replaced by a note
    /// that names the file with all of it.
    pub(super) async fn finish(mut self, budget: usize) -> String {
        if self.is_whole() {
            let whole = String::from_utf8_lossy(&self.head).into_owned();
            if whole.chars().count() <= budget {
                return whole;
            }
            self.spill.write(&self.head).await;
        }
        let note = self.spill.note(self.name, self.total).await;
        let head = whole_start(&self.head);
        // Nothing is missing between the two unless the tail alone is long enough.
        let tail = if self.tail.len() < IN_MEMORY {
            whole_end(&[self.head, self.tail].concat())
        } else {
            whole_end(&self.tail)
        };
        let end = head.char_indices().nth(budget / 2).map_or(head.len(), |(at, _)| at);
        let start = tail.char_indices().nth_back((budget / 2).max(1) - 1).map_or(0, |(at, _)| at);
        format!("{}\n{note}\n{}", &head[..end], &tail[start..])
    }

    /// Sends complete lines as progress, or drops them if the receiver is too slow.
    fn show(&mut self, bytes: &[u8]) {
        let breaks = |&byte: &u8| byte == b'\n' || byte == b'\r';
        for piece in bytes.split_inclusive(breaks) {
            let ends = piece.last().is_some_and(breaks);
            let content = &piece[..piece.len() - usize::from(ends)];
            if self.progress.capacity() > 0 {
                let room = MAX_LINE.saturating_sub(self.line.len());
                self.line.extend_from_slice(&content[..content.len().min(room)]);
            }
            if ends {
                self.send_line();
            }
        }
    }

    fn send_line(&mut self) {
        if !self.line.is_empty() {
            let line = String::from_utf8_lossy(&self.line).into_owned();
            drop(self.progress.try_send(line));
            self.line.clear();
        }
    }
}

impl Sink for Capture {
    fn is_open(&self) -> bool {
        self.open
    }

    fn total(&self) -> u64 {
        self.total
    }

    async fn take(&mut self, read: io::Result<usize>, buffer: &[u8]) {
        let length = read.unwrap_or(0);
        if length == 0 {
            self.open = false;
            if let Some(last) = self.redactor.as_mut().map(|redactor| redactor.finish()) {
                self.add(&last).await;
            }
            self.send_line();
            return;
        }
        let bytes = &buffer[..length];
        match self.redactor.as_mut().map(|redactor| redactor.push(bytes)) {
            Some(bytes) => self.add(&bytes).await,
            None => self.add(bytes).await,
        }
    }
}

/// Text whose last character may have been cut off.
fn whole_start(bytes: &[u8]) -> String {
    let cut = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    };
    String::from_utf8_lossy(cut).into_owned()
}

/// Text whose first character may have been cut off.
fn whole_end(bytes: &[u8]) -> String {
    let continues = |&&byte: &&u8| byte & 0xc0 == 0x80;
    let skipped = bytes.iter().take(3).take_while(continues).count();
    String::from_utf8_lossy(&bytes[skipped..]).into_owned()
}

/// The file for long output.
enum Spill {
    Unused(PathBuf),
    Open { path: PathBuf, file: File, size: u64 },
    Failed(io::Error),
}

impl Spill {
    async fn write(&mut self, bytes: &[u8]) {
        if let Self::Unused(path) = self {
            *self = match create(path).await {
                Ok((path, file)) => Self::Open { path, file, size: 0 },
                Err(error) => Self::Failed(error),
            };
        }
        if let Self::Open { file, size, .. } = self {
            let room = usize::try_from(MAX_SPILLED - *size).unwrap_or(usize::MAX);
            let kept = &bytes[..bytes.len().min(room)];
            *size += kept.len() as u64;
            if let Err(error) = file.write_all(kept).await {
                *self = Self::Failed(error);
            }
        }
    }

    /// The note in place of the output that was cut.
    async fn note(mut self, name: &str, total: u64) -> String {
        if let Self::Open { file, .. } = &mut self
            && let Err(error) = file.flush().await
        {
            self = Self::Failed(error);
        }
        let place = match self {
            Self::Open { path, size, .. } if size < total => {
                let path = path.display();
                format!("The first {size} of {total} bytes of {name} are in {path}")
            }
            Self::Open { path, .. } => {
                let path = path.display();
                format!("All {total} bytes of {name} are in {path}")
            }
            Self::Failed(error) => {
                format!("The rest of the {total} bytes of {name} could not be saved: {error}")
            }
            Self::Unused(_) => format!("{total} bytes of {name} in all"),
        };
        format!("... [TRUNCATED: output exceeded 50,000 characters] ...\n({place})")
    }
}

/// Creates a file that only its owner can read, under a free name.
async fn create(path: &Path) -> io::Result<(PathBuf, File)> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).await?;
        let found = tokio::fs::symlink_metadata(directory).await?;
        let is_ours = found.is_dir()
            && found.uid() == rustix::process::geteuid().as_raw()
            && found.mode().trailing_zeros() >= 6;
        if !is_ours {
            let directory = directory.display();
            return Err(io::Error::other(format!("{directory} is not a private directory")));
        }
    }
    let mut attempt = 1;
    loop {
        let candidate = match attempt {
            1 => path.with_extension("txt"),
            _ => path.with_extension(format!("{attempt}.txt")),
        };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        match options.open(&candidate).await {
            Ok(file) => return Ok((candidate, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1_000 => {
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}
