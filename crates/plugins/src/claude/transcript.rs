//! The transcript that hooks read: JSON lines, deleted with the conversation.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use contract::hook::{HookContext, HookError, Moment};
use contract::id::Timestamp;
use serde_json::{Value, json};

use super::input;
use crate::hooks::moment::{Listener, Occurrence, Reply};

pub(crate) struct Transcripts {
    directory: PathBuf,
    written: Mutex<Vec<Written>>,
}

struct Written {
    path: PathBuf,
    lines: u64,
    last: Option<String>,
}

/// The id of a line, in the form of ids that are unlike all others.
fn id(path: &Path, line: u64) -> String {
    let text = format!("{}:{line}:{}", path.display(), std::process::id());
    let hex = blake3::hash(text.as_bytes()).to_hex();
    let part = |from: usize, to: usize| &hex[from..to];
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

impl Transcripts {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory, written: Mutex::default() }
    }

    pub(crate) fn file(&self, hook_context: &HookContext) -> Option<PathBuf> {
        self.made(hook_context.session.as_str())
    }

    pub(crate) fn file_within(&self, hook_context: &HookContext) -> Option<PathBuf> {
        let within = hook_context.within.as_ref()?;
        self.made(&format!("{}-agent-{}", hook_context.session, within.call))
    }

    fn made(&self, name: &str) -> Option<PathBuf> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name: String = name.chars().filter(|c| is_plain(*c)).take(200).collect();
        let path = self.directory.join(format!("{name}.jsonl"));
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.iter().all(|file| file.path != path) {
            let mut maker = fs::DirBuilder::new();
            maker.recursive(true).mode(0o700).create(&self.directory).ok()?;
            let _ = fs::remove_file(&path);
            open(&path).ok()?;
            written.push(Written { path: path.clone(), lines: 0, last: None });
        }
        Some(path)
    }

    pub(crate) fn clear(&self) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for file in written.drain(..) {
            // One that is gone is what is wanted.
            let _ = fs::remove_file(file.path);
        }
    }

    fn add(&self, hook_context: &HookContext, role: &str, content: &Value) {
        let session = hook_context.session.as_str();
        let path = self.file_within(hook_context).or_else(|| self.file(hook_context));
        let Some(path) = path else { return };
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = written.iter_mut().find(|file| file.path == path) else { return };
        let before = file.last.take();
        let after = id(&path, file.lines);
        file.lines += 1;
        file.last = Some(after.clone());
        let line = json!({
            "type": role,
            "message": {"role": role, "content": [content]},
            "uuid": after,
            "parentUuid": before,
            "sessionId": session,
            "cwd": hook_context.cwd.display().to_string(),
            "timestamp": Timestamp::now().to_string(),
        });
        // What hooks read beside their input is a courtesy; the session's own log is elsewhere.
        let _ = open(&path).and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[async_trait]
impl Listener for Transcripts {
    fn name(&self) -> &'static str {
        "transcript"
    }

    fn wants(&self, moment: Moment) -> bool {
        matches!(
            moment,
            Moment::BeforeMessage | Moment::BeforeTool | Moment::AfterTool | Moment::BeforeStop
        )
    }

    async fn hear(
        &self,
        hook_context: &HookContext,
        what: Occurrence<'_>,
    ) -> Result<Reply, HookError> {
        let (role, content) = match what {
            Occurrence::Message(text) => ("user", json!({"type": "text", "text": text})),
            Occurrence::Call(call) => {
                let name = input::tool_name(call.tool);
                let args = input::arguments(call.args, &hook_context.cwd);
                let use_of =
                    json!({"type": "tool_use", "id": call.id, "name": name, "input": args});
                ("assistant", use_of)
            }
            Occurrence::CallResult(result) => {
                let content = json!({
                    "type": "tool_result",
                    "tool_use_id": result.call.id,
                    "content": result.output.for_model(),
                    "is_error": !result.output.success,
                });
                ("user", content)
            }
            Occurrence::TurnEnd(ending) => {
                ("assistant", json!({"type": "text", "text": ending.reply}))
            }
            _ => return Ok(Reply::default()),
        };
        self.add(hook_context, role, &content);
        Ok(Reply::default())
    }
}
