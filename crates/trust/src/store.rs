//! The user's decisions about workspaces, in an append-only file in the configuration directory.
//! Beside it is a copy of the files of each workspace that were decided on, to show later what
//! changed.

use std::path::{Path, PathBuf};

use contract::id::Timestamp;
use files::private;
use serde::{Deserialize, Serialize};

use crate::program::Program;
use crate::snapshot::{Entry, Kind, Snapshot};

const MAX_COPY: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub path: PathBuf,
    pub decision: Decision,
    pub hash: String,
    pub at: Timestamp,
}

impl Record {
    pub fn day(&self) -> String {
        self.at.to_string().chars().take(10).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Trusted,
    /// Text may be read; nothing may run or redirect.
    TextOnly,
    /// Nothing may be used, and no question is asked about these bytes.
    Declined,
    Withdrawn,
}

impl Decision {
    /// The decision that an answer to [`crate::review::QUESTION`] means. Only an explicit yes trusts.
    pub fn from_answer(line: &str) -> Self {
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Self::Trusted,
            "t" | "text" => Self::TextOnly,
            _ => Self::Declined,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::TextOnly => "text only",
            Self::Declined => "not trusted",
            Self::Withdrawn => "trust withdrawn",
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KnownFile {
    pub(crate) path: String,
    pub(crate) mode: u32,
    pub(crate) hash: String,
    /// Its text; none if it is not UTF-8, is large, or usually has secrets.
    pub(crate) text: Option<String>,
}

/// A plugin whose hook guards calls, and the point at which it is asked.
pub type PluginGuard = (String, String);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct TrustedCopy {
    hash: String,
    pub(crate) files: Vec<KnownFile>,
    pub(crate) guards: Vec<PluginGuard>,
}

#[derive(Clone, Debug)]
pub struct Store {
    file: PathBuf,
    copies: PathBuf,
    pub(crate) program: &'static Program,
}

impl Store {
    pub fn new(config_dir: &Path, program: &'static Program) -> Self {
        Self { file: config_dir.join("trust.jsonl"), copies: config_dir.join("trust"), program }
    }

    pub(crate) fn snapshot(&self, root: &Path) -> Result<Snapshot, String> {
        Snapshot::read(root, self.program)
    }

    /// Compares the files that a decision is about with those that are there.
    pub fn state(&self, record: &Record) -> &'static str {
        match self.snapshot(&record.path) {
            Ok(snapshot) if snapshot.hash == record.hash => "unchanged",
            Ok(_) => "changed",
            Err(_) => "cannot be read",
        }
    }

    /// The decisions that were not withdrawn, oldest first. Lines before a line that cannot be read
    /// are ignored, because that line may have withdrawn them.
    pub fn read(&self) -> Result<(Vec<Record>, Option<String>), String> {
        let shown = self.file.display();
        let bytes = private::read(&self.file)
            .map_err(|error| format!("cannot read {shown}: {error}"))?
            .unwrap_or_default();
        let mut records: Vec<Record> = Vec::new();
        let mut problem = None;
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice::<Record>(line) {
                Ok(record) => {
                    records.retain(|other| other.path != record.path);
                    records.extend(Some(record).filter(|it| it.decision != Decision::Withdrawn));
                }
                Err(error) => {
                    records.clear();
                    problem = Some(format!(
                        "{shown}:{}: this line is not a trust decision, so all lines before it are \
                         ignored: {error}",
                        index + 1
                    ));
                }
            }
        }
        Ok((records, problem))
    }

    /// The decision about a workspace, unless it was withdrawn, and what is wrong with the file.
    pub fn record(&self, root: &Path) -> Result<(Option<Record>, Option<String>), String> {
        let (records, problem) = self.read()?;
        Ok((records.into_iter().find(|record| record.path == root), problem))
    }

    pub(crate) fn decide(
        &self,
        root: &Path,
        snapshot: &Snapshot,
        decision: Decision,
    ) -> Result<(), String> {
        let _lock = private::lock(&self.file).map_err(|error| self.cannot_write(&error))?;
        let files = snapshot.entries.iter().map(known).collect();
        let copy = TrustedCopy { hash: snapshot.hash.clone(), files, guards: Vec::new() };
        self.put_copy(root, &copy)?;
        let (path, hash) = (root.to_owned(), snapshot.hash.clone());
        self.add(&Record { path, decision, hash, at: Timestamp::now() })
    }

    pub fn withdraw(&self, root: &Path) -> Result<Option<Record>, String> {
        let _lock = private::lock(&self.file).map_err(|error| self.cannot_write(&error))?;
        let found = self.record(root)?.0;
        if let Some(record) = &found {
            let decision = Decision::Withdrawn;
            self.add(&Record { decision, at: Timestamp::now(), ..record.clone() })?;
            // A copy that stays is ignored, because no decision has its hash.
            let _ = std::fs::remove_file(self.copy_path(root));
        }
        Ok(found)
    }

    /// The files that a decision was about; none if there is no copy.
    pub(crate) fn copy(&self, record: &Record) -> TrustedCopy {
        let bytes = private::read(&self.copy_path(&record.path)).ok().flatten();
        let copy = bytes.and_then(|bytes| serde_json::from_slice::<TrustedCopy>(&bytes).ok());
        copy.filter(|copy| copy.hash == record.hash).unwrap_or_default()
    }

    /// Stores the plugins whose hooks guard calls while the project is trusted as it is.
    pub(crate) fn note_guards(&self, root: &Path, guards: &[PluginGuard]) -> Result<(), String> {
        let Some(record) = self.record(root)?.0 else { return Ok(()) };
        let copy = self.copy(&record);
        if copy.guards == guards {
            return Ok(());
        }
        self.put_copy(root, &TrustedCopy { guards: guards.to_owned(), ..copy })
    }

    fn add(&self, record: &Record) -> Result<(), String> {
        let line = serde_json::to_string(record)
            .map_err(|error| format!("cannot store {}: {error}", record.path.display()))?;
        private::append_line(&self.file, &line).map_err(|error| self.cannot_write(&error))?;
        let directory = self.file.parent().unwrap_or(&self.file);
        (self.program.note)(directory, record.decision.word(), &record.hash, &record.path)
    }

    fn put_copy(&self, root: &Path, copy: &TrustedCopy) -> Result<(), String> {
        let bytes = serde_json::to_vec(copy).map_err(|error| self.cannot_write(&error.into()))?;
        private::replace(&self.copy_path(root), &bytes, private::Durability::Synced)
            .map_err(|error| self.cannot_write(&error))
    }

    fn copy_path(&self, root: &Path) -> PathBuf {
        let name = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
        self.copies.join(format!("{name}.json"))
    }

    fn cannot_write(&self, error: &std::io::Error) -> String {
        format!("cannot write {}: {error}", self.file.display())
    }
}

fn known(entry: &Entry) -> KnownFile {
    let path = entry.part.path.clone();
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_copied =
        entry.part.kind == Kind::File && entry.bytes.len() <= MAX_COPY && !name.starts_with(".env");
    let text = is_copied.then(|| String::from_utf8(entry.bytes.clone()).ok()).flatten();
    KnownFile { path, mode: entry.mode, hash: entry.hash.clone(), text }
}
