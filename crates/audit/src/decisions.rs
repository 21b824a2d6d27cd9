//! Decisions that grant or refuse access. Each line has the hash of the line before
//! it, so that a change in the middle is detected; truncation at the end is not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use contract::event::{Answer, CallOutcome, Event, EventKind};
use contract::id::{CallId, Timestamp};
use contract::log::{Log, LogError};
use contract::text::head;
use files::private;
use serde::{Deserialize, Serialize};

/// A file of this size is renamed to a numbered one.
const MAX_FILE_BYTES: u64 = 8 << 20;
/// Details are cut to this many bytes.
const MAX_DETAIL_BYTES: usize = 500;
/// The last line is searched for in this many bytes first, then in the whole file.
const TAIL: u64 = 64 << 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub at: Timestamp,
    pub what: String,
    pub detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// The hash of the line before; empty for the first.
    before: String,
    hash: String,
}

impl Entry {
    fn own_hash(&self) -> String {
        let Self { at, what, detail, project, before, .. } = self;
        let bytes = serde_json::json!([at, what, detail, project, before]).to_string();
        blake3::hash(bytes.as_bytes()).to_hex().to_string()
    }
}

/// The log file and the numbered older ones.
#[derive(Clone, Debug)]
pub struct Audit {
    directory: PathBuf,
    warn: fn(&str),
}

impl Audit {
    /// The log in a directory. `warn` shows a warning.
    pub fn new(config_dir: &Path, warn: fn(&str)) -> Self {
        Self { directory: config_dir.to_owned(), warn }
    }

    /// Appends an entry. Errors are messages for the user.
    pub fn note(&self, what: &str, detail: &str, project: Option<&Path>) -> Result<(), String> {
        let path = self.file();
        let cannot = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
        let _lock = private::lock(&path).map_err(cannot)?;
        let before = self.last()?;
        if fs::metadata(&path).is_ok_and(|found| found.len() > MAX_FILE_BYTES) {
            let number = self.aside().len() + 1;
            fs::rename(&path, self.directory.join(format!("audit-{number}.jsonl")))
                .map_err(cannot)?;
        }
        let mut entry = Entry {
            at: Timestamp::now(),
            what: what.to_owned(),
            detail: head(detail, MAX_DETAIL_BYTES).to_owned(),
            project: project.map(Path::to_owned),
            before,
            hash: String::new(),
        };
        entry.hash = entry.own_hash();
        let line = serde_json::to_string(&entry).map_err(|error| error.to_string())?;
        private::append_line(&path, &line).map_err(cannot)
    }

    /// Appends an entry, or warns once if that fails.
    pub fn note_or_warn(&self, what: &str, detail: &str, project: Option<&Path>) {
        static TOLD: OnceLock<()> = OnceLock::new();
        if let Err(problem) = self.note(what, detail, project)
            && TOLD.set(()).is_ok()
        {
            (self.warn)(&format!("decisions are not recorded: {problem}"));
        }
    }

    /// All entries, oldest first, and problems with them.
    pub fn read(&self) -> Result<(Vec<Entry>, Vec<String>), String> {
        let (mut entries, mut problems) = (Vec::new(), Vec::new());
        let mut before = String::new();
        for path in self.aside().into_iter().chain([self.file()]) {
            let shown = path.display();
            let text = private::read(&path);
            let text = text.map_err(|error| format!("cannot read {shown}: {error}"))?;
            let text = text.unwrap_or_default();
            let lines = text.split(|byte| *byte == b'\n').enumerate();
            for (index, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()) {
                let place = format!("{shown}:{}", index + 1);
                let Ok(entry) = serde_json::from_slice::<Entry>(line) else {
                    problems.push(format!("{place}: this is not an entry"));
                    before = hash_of(line);
                    continue;
                };
                if entry.hash != entry.own_hash() {
                    problems.push(format!("{place}: it was changed"));
                } else if entry.before != before {
                    problems.push(format!("{place}: what stood before it was changed or removed"));
                }
                before.clone_from(&entry.hash);
                entries.push(entry);
            }
        }
        Ok((entries, problems))
    }

    fn file(&self) -> PathBuf {
        self.directory.join("audit.jsonl")
    }

    /// The numbered files, oldest first.
    fn aside(&self) -> Vec<PathBuf> {
        let each = (1..).map(|number| self.directory.join(format!("audit-{number}.jsonl")));
        each.take_while(|path| path.is_file()).collect()
    }

    fn last(&self) -> Result<String, String> {
        let aside = std::iter::once_with(|| self.aside().pop()).flatten();
        for path in [self.file()].into_iter().chain(aside) {
            let line = last_line(&path);
            let line = line.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            if let Some(line) = line {
                let entry = serde_json::from_slice::<Entry>(&line);
                return Ok(entry.map_or_else(|_| hash_of(&line), |entry| entry.hash));
            }
        }
        Ok(String::new())
    }
}

fn last_line(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    for most in [TAIL, private::SIZE_LIMIT] {
        let bytes = private::read_end(path, most)?;
        let is_all = (bytes.len() as u64) < most;
        // If the file is longer, the first line is incomplete.
        let whole = bytes.split(|byte| *byte == b'\n').skip(usize::from(!is_all));
        let line = whole.filter(|line| !line.trim_ascii().is_empty()).last();
        if line.is_some() || is_all {
            return Ok(line.map(<[u8]>::to_vec));
        }
    }
    Err(std::io::Error::other("its last line is too long"))
}

fn hash_of(line: &[u8]) -> String {
    blake3::hash(line).to_hex().to_string()
}

/// A session log that also audits answers and denials.
pub struct Audited {
    inner: Arc<dyn Log>,
    audit: Audit,
    project: PathBuf,
    asked: Mutex<BTreeMap<CallId, String>>,
}

impl Audited {
    pub fn new(inner: Arc<dyn Log>, audit: Audit, project: &Path) -> Self {
        Self { inner, audit, project: project.to_owned(), asked: Mutex::default() }
    }

    fn note(&self, what: &str, detail: &str) {
        self.audit.note_or_warn(what, detail, Some(&self.project));
    }

    fn take(&self, what: &EventKind) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        match what {
            EventKind::Asked { call, tool, args, .. } => {
                asked.insert(call.clone(), format!("{tool} {args}"));
            }
            EventKind::Answered { call, answer, .. } => {
                let what = match answer {
                    Answer::Once | Answer::Session | Answer::Project | Answer::Always => "approved",
                    Answer::Deny { .. } | Answer::Cancel | Answer::Unavailable => "refused",
                };
                self.note(what, &asked.remove(call).unwrap_or_default());
            }
            EventKind::ToolFinished { name, outcome: CallOutcome::Denied, output, .. } => {
                self.note("denied", &format!("{name}: {}", output.for_model()));
            }
            _ => {}
        }
    }
}

impl Log for Audited {
    fn append(&self, events: &[Event]) -> Result<(), LogError> {
        self.inner.append(events)?;
        for event in events {
            self.take(&event.kind);
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), LogError> {
        self.inner.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_chain_detects_changes_except_truncation() {
        let directory = tempfile::tempdir().unwrap();
        let audit = Audit::new(directory.path(), |_| {});
        for detail in ["one", "two", "three"] {
            audit.note("trusted", detail, None).unwrap();
        }
        let file = directory.path().join("audit.jsonl");
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let problems = |text: &str| {
            fs::write(&file, text).unwrap();
            audit.read().unwrap().1.join("\n")
        };
        assert_eq!(problems(&text), "");
        assert!(problems(&text.replace("two", "2wo")).contains("audit.jsonl:2: it was changed"));
        let without = format!("{}\n{}\n", lines[0], lines[2]);
        assert!(problems(&without).contains("audit.jsonl:2: what stood before it"));
        assert!(problems(&format!("{text}torn")).contains("audit.jsonl:4: this is not an entry"));
        audit.note("trusted", "four", None).unwrap();
        let (entries, found) = audit.read().unwrap();
        assert_eq!((entries.len(), found.len()), (4, 1));
        assert_eq!(problems(&format!("{}\n{}\n", lines[0], lines[1])), "");
    }

    #[test]
    fn append_reads_only_the_last_line() {
        let directory = tempfile::tempdir().unwrap();
        let audit = Audit::new(directory.path(), |_| {});
        audit.note("a", "b", None).unwrap();
        let file = directory.path().join("audit.jsonl");
        let line = fs::read_to_string(&file).unwrap();
        // More than is ever read of a file.
        fs::File::create(&file).unwrap().set_len(private::SIZE_LIMIT + 1).unwrap();
        private::append_line(&file, line.trim_end()).unwrap();
        audit.note("c", "d", None).unwrap();
        let added: Entry = serde_json::from_slice(&last_line(&file).unwrap().unwrap()).unwrap();
        let first: Entry = serde_json::from_str(&line).unwrap();
        assert_eq!((added.detail.as_str(), added.before), ("d", first.hash));
        // A line longer than any entry is hashed too.
        let long = "x".repeat(usize::try_from(TAIL).unwrap() + 1);
        fs::write(&file, format!("{line}{long}")).unwrap();
        audit.note("e", "f", None).unwrap();
        let added: Entry = serde_json::from_slice(&last_line(&file).unwrap().unwrap()).unwrap();
        assert_eq!(added.before, hash_of(long.as_bytes()));
    }

    #[test]
    fn full_audit_file_is_rotated_and_the_chain_continues() {
        let directory = tempfile::tempdir().unwrap();
        let audit = Audit::new(directory.path(), |_| {});
        audit.note("a", "b", None).unwrap();
        let file = directory.path().join("audit.jsonl");
        let line = fs::read_to_string(&file).unwrap();
        let size = usize::try_from(MAX_FILE_BYTES).unwrap();
        fs::write(&file, format!("{}{line}", "\n".repeat(size + 1))).unwrap();
        audit.note("c", "d", None).unwrap();
        let (entries, problems) = audit.read().unwrap();
        assert_eq!((entries.len(), problems), (2, Vec::new()));
        assert!(directory.path().join("audit-1.jsonl").is_file());
    }
}
