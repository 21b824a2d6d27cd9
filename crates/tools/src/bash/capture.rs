//! One output stream of a process: its beginning and end in memory, the whole in a file once it is
//! long, and its lines passed on while it runs.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use contract::message::ToolCall;
use contract::tool::{Redactor, ToolContext};
use tokio::fs::{DirBuilder, File, OpenOptions};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::process_output::Sink;

/// How many bytes of the beginning, and of the end, stay in memory: enough for as many characters
/// as a call returns, four bytes each.
const KEPT: usize = 4 * super::MAX_RETURNED;
/// How much goes to the file.
const MAX_SPILLED: u64 = 64 << 20;
/// How much of a line is passed on.
const MAX_LINE: usize = 4_000;

/// An output stream.
pub(super) struct Capture {
    name: &'static str,
    open: bool,
    total: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
    spill: Spill,
    progress: mpsc::Sender<String>,
    line: Vec<u8>,
    /// Keeps keys out of all of it.
    veil: Option<Box<dyn Redactor>>,
}

impl Capture {
    /// A stream called `name`, from which nothing has been read.
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
            veil: context.veils.as_ref().map(|veils| veils()),
        }
    }

    /// How many characters came; `usize::MAX` where they are more than a call can return.
    pub(super) fn characters(&self) -> usize {
        if self.is_whole() {
            String::from_utf8_lossy(&self.head).chars().count()
        } else {
            usize::MAX
        }
    }

    /// Whether all that came is in `head`.
    fn is_whole(&self) -> bool {
        self.total <= KEPT as u64
    }

    async fn add(&mut self, bytes: &[u8]) {
        let length = bytes.len();
        self.show(bytes);
        let room = KEPT - self.head.len();
        let (first, rest) = bytes.split_at(room.min(length));
        let before = self.total;
        self.total += length as u64;
        if !rest.is_empty() {
            if before <= KEPT as u64 {
                self.spill.write(&self.head).await;
                self.spill.write(first).await;
            }
            self.spill.write(rest).await;
            self.tail.extend_from_slice(rest);
            if self.tail.len() > 2 * KEPT {
                self.tail.drain(..self.tail.len() - KEPT);
            }
        }
        self.head.extend_from_slice(first);
    }

    /// All that came as text; cut in the middle where it is longer than `budget` characters, with
    /// a note that says where the whole is.
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
        let tail = if self.tail.len() < KEPT {
            whole_end(&[self.head, self.tail].concat())
        } else {
            whole_end(&self.tail)
        };
        let end = head.char_indices().nth(budget / 2).map_or(head.len(), |(at, _)| at);
        let start = tail.char_indices().nth_back((budget / 2).max(1) - 1).map_or(0, |(at, _)| at);
        format!("{}\n{note}\n{}", &head[..end], &tail[start..])
    }

    /// Passes on complete lines, or drops them where nobody keeps up.
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
                self.pass_on();
            }
        }
    }

    fn pass_on(&mut self) {
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
            if let Some(last) = self.veil.as_mut().map(|veil| veil.finish()) {
                self.add(&last).await;
            }
            self.pass_on();
            return;
        }
        let bytes = &buffer[..length];
        match self.veil.as_mut().map(|veil| veil.push(bytes)) {
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

/// A file for what is too long.
enum Spill {
    /// None so far; where it would be.
    Unused(PathBuf),
    /// Open, with what it holds.
    Open { path: PathBuf, file: File, size: u64 },
    /// It could not be written.
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

    /// What to say in place of what is left out.
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
                format!("The rest of the {total} bytes of {name} could not be kept: {error}")
            }
            Self::Unused(_) => format!("{total} bytes of {name} in all"),
        };
        format!("... [TRUNCATED: output exceeded 50,000 characters] ...\n({place})")
    }
}

/// Makes a file that only its owner can read, under a name that is free.
async fn create(path: &Path) -> io::Result<(PathBuf, File)> {
    if let Some(directory) = path.parent() {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(directory).await?;
        let found = tokio::fs::symlink_metadata(directory).await?;
        let is_ours = found.is_dir()
            && found.uid() == rustix::process::geteuid().as_raw()
            && found.mode().trailing_zeros() >= 6;
        if !is_ours {
            let directory = directory.display();
            return Err(io::Error::other(format!("{directory} is not a directory of yours alone")));
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
