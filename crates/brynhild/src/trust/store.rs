//! What the person decided about workspaces, in a file that only grows, in the person's own folder.
//! Beside it lie the bytes that were decided on, to show later what changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use contract::id::Timestamp;
use serde::{Deserialize, Serialize};

use super::snapshot::{Kind, Snapshot};
use crate::audit::Audit;
use crate::private_file;

/// Larger files are not kept for comparison.
const LARGEST_COPY: usize = 64 << 10;

/// A decision about the bytes of one workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The workspace; its real path.
    pub(crate) path: PathBuf,
    /// The decision.
    pub(crate) decision: Decision,
    /// The bytes it is about.
    pub(crate) hash: String,
    /// When.
    pub(crate) at: Timestamp,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Decision {
    /// All of it may have its effect.
    Trusted,
    /// Text may be read, nothing may run or redirect.
    TextOnly,
    /// Nothing of it, and no question about these bytes.
    Declined,
    /// An earlier decision was taken back.
    Withdrawn,
}

/// A file as it was when it was decided on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Known {
    /// From the project's root.
    pub(crate) path: String,
    /// Its permission bits.
    pub(crate) mode: u32,
    /// Of its bytes.
    pub(crate) hash: String,
}

/// The decisions.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    file: PathBuf,
    copies: PathBuf,
}

impl Store {
    /// The store in the person's own folder.
    pub(crate) fn new(config_dir: &Path) -> Self {
        Self { file: config_dir.join("trust.jsonl"), copies: config_dir.join("trust") }
    }

    /// The last decision about each workspace, oldest first. What stands before a line that cannot be
    /// read does not count: the line may have taken it back.
    pub(crate) fn read(&self) -> Result<(Vec<Record>, Option<String>), String> {
        let shown = self.file.display();
        let bytes = private_file::read(&self.file)
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
                    records.push(record);
                }
                Err(error) => {
                    records.clear();
                    problem = Some(format!(
                        "{shown}:{}: this is no decision about trust, so what stands before it does \
                         not count: {error}",
                        index + 1
                    ));
                }
            }
        }
        Ok((records, problem))
    }

    /// Writes a decision down, with the bytes it is about.
    pub(crate) fn decide(
        &self,
        root: &Path,
        snapshot: &Snapshot,
        decision: Decision,
    ) -> Result<(), String> {
        let cannot =
            |error: std::io::Error| format!("cannot write {}: {error}", self.file.display());
        let _lock = private_file::lock(&self.file).map_err(cannot)?;
        self.copy(snapshot).map_err(cannot)?;
        let record = Record {
            path: root.to_owned(),
            decision,
            hash: snapshot.hash.clone(),
            at: Timestamp::now(),
        };
        self.add(&record)?;
        let word = match decision {
            Decision::Trusted => "trusted",
            Decision::TextOnly => "text only",
            Decision::Declined => "not trusted",
            Decision::Withdrawn => "trust withdrawn",
        };
        self.note(word, &record)?;
        self.clean()
    }

    fn note(&self, word: &str, record: &Record) -> Result<(), String> {
        let folder = self.file.parent().unwrap_or(&self.file);
        Audit::new(folder).note(word, &record.hash, Some(&record.path))
    }

    /// Takes back what was decided about a workspace; none where nothing was.
    pub(crate) fn withdraw(&self, root: &Path) -> Result<Option<Record>, String> {
        let cannot =
            |error: std::io::Error| format!("cannot write {}: {error}", self.file.display());
        let _lock = private_file::lock(&self.file).map_err(cannot)?;
        let (records, _) = self.read()?;
        let found = records
            .into_iter()
            .find(|record| record.path == root && record.decision != Decision::Withdrawn);
        if let Some(record) = &found {
            let decision = Decision::Withdrawn;
            self.add(&Record { decision, at: Timestamp::now(), ..record.clone() })?;
            self.note("trust withdrawn", record)?;
            self.clean()?;
        }
        Ok(found)
    }

    /// Removes the copies that no standing decision needs. Where it is not known what they need,
    /// nothing is removed.
    fn clean(&self) -> Result<(), String> {
        let (records, problem) = self.read()?;
        if problem.is_some() {
            return Ok(());
        }
        let mut needed = BTreeSet::new();
        for record in records.iter().filter(|record| record.decision != Decision::Withdrawn) {
            needed.insert(format!("{}.json", record.hash));
            let known = self.known(&record.hash).unwrap_or_default();
            needed.extend(known.into_iter().map(|known| known.hash));
        }
        self.keep_only(&needed).map_err(|error| {
            let copies = self.copies.display();
            format!("the decision is kept, but old copies in {copies} cannot be removed: {error}")
        })
    }

    fn keep_only(&self, needed: &BTreeSet<String>) -> std::io::Result<()> {
        let is_ours = |name: &str| {
            let hash = name.strip_suffix(".json").unwrap_or(name);
            hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit())
        };
        let entries = match self.copies.read_dir() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| is_ours(name) && !needed.contains(name)) {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    fn add(&self, record: &Record) -> Result<(), String> {
        let line = serde_json::to_string(record)
            .map_err(|error| format!("cannot write {} down: {error}", record.path.display()))?;
        private_file::append(&self.file, &line)
            .map_err(|error| format!("cannot write {}: {error}", self.file.display()))
    }

    fn copy(&self, snapshot: &Snapshot) -> std::io::Result<()> {
        let known: Vec<Known> = snapshot
            .entries
            .iter()
            .map(|entry| Known {
                path: entry.part.path.clone(),
                mode: entry.mode,
                hash: entry.hash.clone(),
            })
            .collect();
        let list = serde_json::to_vec(&known)?;
        private_file::replace(&self.copies.join(format!("{}.json", snapshot.hash)), &list)?;
        for entry in &snapshot.entries {
            let is_kept = entry.part.kind == Kind::File
                && entry.bytes.len() <= LARGEST_COPY
                && !is_private(&entry.part.path);
            let path = self.copies.join(&entry.hash);
            if is_kept && !path.exists() {
                private_file::replace(&path, &entry.bytes)?;
            }
        }
        Ok(())
    }

    /// The files that a decision was about; none where that is not known any more.
    pub(crate) fn known(&self, hash: &str) -> Option<Vec<Known>> {
        let bytes = self.copied(&format!("{hash}.json"))?;
        serde_json::from_slice(&bytes).ok()
    }

    /// The bytes that a file had; none where they were not kept.
    pub(crate) fn copied(&self, name: &str) -> Option<Vec<u8>> {
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
        is_plain.then(|| private_file::read(&self.copies.join(name)).ok().flatten())?
    }
}

/// Whether a file holds secrets by custom, so that its content is neither kept nor shown.
pub(crate) fn is_private(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(".env"))
}
