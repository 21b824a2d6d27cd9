//! Stored state of the interface: prompt history, drafts, theme. Blocks, so the interface's thread
//! must not call it.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::{fs, io};

use contract::event::Level;
use files::private::{self, Durability};
use rustix::process::{Pid, getpid, test_kill_process};
use serde_json::{Value, json};

use crate::host::{Answer, Request};

const MAX_PROMPTS: usize = 1000;
const MAX_HISTORY_BYTES: usize = 4 << 20;
/// A longer prompt is not stored: it is a pasted file.
const MAX_PROMPT_BYTES: usize = 256 << 10;

/// The stored state of the interface.
pub struct InterfaceStore {
    directory: Option<PathBuf>,
    draft_prefix: String,
}

impl InterfaceStore {
    /// The state in a directory, with the drafts of a project. Without a directory nothing is stored.
    #[must_use]
    pub fn new(directory: Option<PathBuf>, project: &Path) -> Self {
        let project = blake3::hash(project.as_os_str().as_encoded_bytes()).to_hex();
        Self { directory, draft_prefix: format!("draft-{}-", &project[..16]) }
    }

    /// Answers a request about stored state.
    ///
    /// # Errors
    ///
    /// Returns any other request.
    pub fn answer(&self, request: Request) -> Result<Answer, Request> {
        let stored = match request {
            Request::History => return Ok(Answer::History(self.history())),
            Request::Draft => return Ok(Answer::Draft(self.draft())),
            Request::Remember(text) => self.remember(&text),
            Request::SaveDraft(text) => self.save_draft(&text),
            Request::SaveTheme { theme } => self.save_theme(&theme),
            other => return Err(other),
        };
        let told = |error| {
            let text = format!("cannot store this: {error}");
            Answer::Tell { level: Level::Error, text, hint: None }
        };
        Ok(stored.map_or_else(told, |()| Answer::Done))
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.directory.as_ref().map(|directory| directory.join(name))
    }

    /// Earlier prompts, the newest last.
    #[must_use]
    pub fn history(&self) -> Vec<String> {
        let end = |path: PathBuf| private::read_end(&path, private::SIZE_LIMIT).ok();
        let bytes = self.path("history.jsonl").and_then(end).unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        let prompts: Vec<String> =
            lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        let skipped = prompts.len().saturating_sub(MAX_PROMPTS);
        prompts.into_iter().skip(skipped).collect()
    }

    /// Adds a prompt to the history.
    ///
    /// # Errors
    ///
    /// If the history cannot be written.
    pub fn remember(&self, text: &str) -> io::Result<()> {
        let Some(path) = self.path("history.jsonl") else { return Ok(()) };
        if text.len() > MAX_PROMPT_BYTES {
            return Ok(());
        }
        let _lock = private::lock(&path)?;
        let line = serde_json::to_string(text)?;
        let history = self.history();
        let size = fs::metadata(&path).map_or(0, |file| file.len());
        if history.len() < MAX_PROMPTS && size < MAX_HISTORY_BYTES as u64 {
            return private::append_line(&path, &line);
        }
        // Half of it is dropped, so that this is rare.
        let mut lines = vec![line];
        let mut room = MAX_HISTORY_BYTES / 2;
        for text in history.iter().rev().take(MAX_PROMPTS / 2) {
            let line = serde_json::to_string(text)?;
            let Some(left) = room.checked_sub(line.len()) else { break };
            room = left;
            lines.push(line);
        }
        lines.reverse();
        let bytes = format!("{}\n", lines.join("\n"));
        private::replace(&path, bytes.as_bytes(), Durability::Synced)
    }

    /// The draft of this process: others may run in the same project.
    fn own_draft(&self) -> Option<PathBuf> {
        self.path(&format!("{}{}.txt", self.draft_prefix, std::process::id()))
    }

    /// The draft of a process that has ended, now owned by this one.
    fn draft(&self) -> String {
        let Some(own) = self.own_draft() else { return String::new() };
        // Another request of this process may have taken one.
        let _ = self.orphans().into_iter().any(|path| fs::rename(path, &own).is_ok());
        let bytes = private::read(&own).ok().flatten();
        String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default()
    }

    /// Drafts of processes that have ended, the last one first.
    fn orphans(&self) -> Vec<PathBuf> {
        let is_orphan = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let writer = name.strip_prefix(&self.draft_prefix);
            let writer = writer.and_then(|it| it.strip_suffix(".txt")?.parse().ok());
            writer.and_then(Pid::from_raw).is_some_and(|writer| {
                writer == getpid() || test_kill_process(writer) == Err(rustix::io::Errno::SRCH)
            })
        };
        let entries = self.directory.iter().filter_map(|directory| fs::read_dir(directory).ok());
        let paths = entries.flatten().flatten().map(|entry| entry.path());
        let mut orphans: Vec<PathBuf> = paths.filter(is_orphan).collect();
        let modified = |path: &PathBuf| path.metadata().and_then(|it| it.modified()).ok();
        orphans.sort_by_key(|path| Reverse(modified(path)));
        orphans
    }

    fn save_draft(&self, text: &str) -> io::Result<()> {
        match self.own_draft() {
            Some(path) if text.is_empty() => private::remove(&path),
            Some(path) => private::replace(&path, text.as_bytes(), Durability::Synced),
            None => Ok(()),
        }
    }

    /// The chosen theme.
    #[must_use]
    pub fn theme(&self) -> Option<String> {
        let bytes = private::read(&self.path("state.json")?).ok()??;
        let state: Value = serde_json::from_slice(&bytes).ok()?;
        state.get("theme")?.as_str().map(str::to_owned)
    }

    fn save_theme(&self, theme: &str) -> io::Result<()> {
        let Some(path) = self.path("state.json") else { return Ok(()) };
        let _lock = private::lock(&path)?;
        let state = json!({"theme": theme}).to_string();
        private::replace(&path, state.as_bytes(), Durability::Synced)
    }
}
