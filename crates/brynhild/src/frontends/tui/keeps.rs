//! What the interface keeps between runs: what was sent, what is being written, the theme. All of it
//! in the user's own directory, readable by them alone; nothing where there is no such directory.

use std::path::{Path, PathBuf};

use files::private;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use super::name_of;
use crate::exit::Problem;
use crate::world::World;

/// Messages that are kept.
const MOST: usize = 1000;
/// Bytes of them that are kept, about.
const MOST_BYTES: usize = 4 << 20;
/// A message that is longer is not kept: somebody pasted a file.
const LONGEST: usize = 256 << 10;

/// Where things are kept; nothing is where there is no directory for it.
pub(crate) struct Keeps {
    directory: Option<PathBuf>,
    /// What the names of this project's drafts begin with.
    draft: String,
}

#[derive(Default, Deserialize, Serialize)]
struct State {
    #[serde(default)]
    theme: Option<String>,
}

impl Keeps {
    /// In the user's own directory, for the project of this run.
    pub(crate) fn new(world: &World) -> Self {
        let directory = world.keeping_dir().map(|dir| dir.join("interface"));
        // A run that only looks leaves nothing behind.
        let directory = directory.filter(|_| !world.global.safe);
        Self { directory, draft: format!("draft-{}-", name_of(world.place())) }
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.directory.as_ref().map(|directory| directory.join(name))
    }

    /// What was sent before, the newest last.
    pub(crate) fn history(&self) -> Vec<String> {
        let end = |path: PathBuf| private::read_end(&path, private::SIZE_LIMIT).ok();
        let bytes = self.path("history.jsonl").and_then(end).unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        let lines: Vec<String> =
            lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        let skipped = lines.len().saturating_sub(MOST);
        lines.into_iter().skip(skipped).collect()
    }

    /// Keeps what was sent.
    pub(crate) async fn remember(&self, text: String) -> Result<(), Problem> {
        let Some(path) = self.path("history.jsonl") else { return Ok(()) };
        if text.len() > LONGEST {
            return Ok(());
        }
        let kept = self.history();
        blocking(move || {
            let _lock = private::lock(&path)?;
            let line = serde_json::to_string(&text)?;
            let size = std::fs::metadata(&path).map_or(0, |file| file.len());
            if kept.len() < MOST && size < MOST_BYTES as u64 {
                return private::append_line(&path, &line);
            }
            // Half of it goes, so that this is rare.
            let mut lines = vec![line];
            let mut room = MOST_BYTES / 2;
            for text in kept.iter().rev().take(MOST / 2) {
                let line = serde_json::to_string(text)?;
                let Some(left) = room.checked_sub(line.len()) else { break };
                room = left;
                lines.push(line);
            }
            lines.reverse();
            private::replace(
                &path,
                format!("{}\n", lines.join("\n")).as_bytes(),
                private::Durability::Synced,
            )
        })
        .await
    }

    /// The draft of this program alone: others may be at work in the same project.
    fn own_draft(&self) -> Option<PathBuf> {
        self.path(&format!("{}{}.txt", self.draft, std::process::id()))
    }

    /// What was being written when a program ended. It is this one's from here on.
    pub(crate) fn draft(&self) -> String {
        let Some(own) = self.own_draft() else { return String::new() };
        let taken = self.orphans().into_iter().find(|path| std::fs::rename(path, &own).is_ok());
        let bytes = taken.and_then(|_| private::read(&own).ok());
        String::from_utf8(bytes.flatten().unwrap_or_default()).unwrap_or_default()
    }

    /// Drafts of programs that have ended, the last one first.
    fn orphans(&self) -> Vec<PathBuf> {
        let entries =
            self.directory.iter().filter_map(|directory| std::fs::read_dir(directory).ok());
        let is_orphan = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let writer = name.strip_prefix(&self.draft).and_then(|it| it.strip_suffix(".txt"));
            let process = writer.and_then(|it| it.parse().ok()).and_then(Pid::from_raw);
            process.is_some_and(|process| {
                let is_own = process == rustix::process::getpid();
                is_own || test_kill_process(process) == Err(rustix::io::Errno::SRCH)
            })
        };
        let paths = entries.flatten().flatten().map(|entry| entry.path());
        let mut orphans: Vec<PathBuf> = paths.filter(is_orphan).collect();
        let written = |path: &PathBuf| path.metadata().and_then(|it| it.modified()).ok();
        orphans.sort_by_key(|path| std::cmp::Reverse(written(path)));
        orphans
    }

    /// Keeps what is being written.
    pub(crate) async fn save_draft(&self, text: String) -> Result<(), Problem> {
        let Some(path) = self.own_draft() else { return Ok(()) };
        blocking(move || {
            if text.is_empty() {
                return match std::fs::remove_file(&path) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                };
            }
            private::replace(&path, text.as_bytes(), private::Durability::Synced)
        })
        .await
    }

    /// The theme that was chosen.
    pub(crate) fn theme(&self) -> Option<String> {
        let bytes = private::read(&self.path("state.json")?).ok()??;
        serde_json::from_slice::<State>(&bytes).ok()?.theme
    }

    /// Keeps the theme that was chosen.
    pub(crate) async fn keep_theme(&self, theme: String) -> Result<(), Problem> {
        let Some(path) = self.path("state.json") else { return Ok(()) };
        blocking(move || {
            let _lock = private::lock(&path)?;
            private::replace(
                &path,
                &serde_json::to_vec(&State { theme: Some(theme) })?,
                private::Durability::Synced,
            )
        })
        .await
    }
}

async fn blocking(
    work: impl FnOnce() -> std::io::Result<()> + Send + 'static,
) -> Result<(), Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(std::io::Error::other).and_then(|done| done);
    done.map_err(|error| Problem::failed(format!("cannot keep this: {error}")))
}

/// Has the user edit a text with their editor.
pub(super) async fn edit(world: &World, text: &str) -> Result<String, Problem> {
    let environment = &world.environment;
    let editor = environment.variable("VISUAL").or_else(|| environment.variable("EDITOR"));
    let Some(editor) = editor else {
        return Err(Problem::misuse("no editor is set: the variable EDITOR names one"));
    };
    let mut words = editor.split_whitespace().map(str::to_owned);
    let program = words.next().unwrap_or_default();
    let name = format!("brynhild-{}-{}.md", environment.user(), std::process::id());
    let path = environment.temp.join(name);
    private::replace(&path, text.as_bytes(), private::Durability::Synced)?;
    let args: Vec<String> = words.chain([path.display().to_string()]).collect();
    let (cwd, file) = (environment.cwd.clone(), path.clone());
    let ended = tokio::task::spawn_blocking(move || sandbox::foreground(&program, &args, &cwd));
    let result = match ended.await {
        Ok(Ok(true)) => read_back(&file),
        Ok(Ok(false)) => Err(Problem::failed("the editor failed; the text is as it was")),
        Ok(Err(error)) => Err(Problem::failed(format!("cannot start `{editor}`: {error}"))),
        Err(error) => Err(Problem::failed(error.to_string())),
    };
    // Whatever it holds has been read or is not wanted.
    let _ = std::fs::remove_file(&path);
    result
}

fn read_back(path: &Path) -> Result<String, Problem> {
    let bytes = private::read(path)?.unwrap_or_default();
    String::from_utf8(bytes).map_err(|_| Problem::failed("the text is not UTF-8 and is not taken"))
}
