//! The transcript that hooks read: one JSON object a line, written as the conversation goes on and
//! deleted with it. It holds what hooks are asked about: prompts, calls, results, last words.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use contract::hook::{
    Advice, CallView, Ending, Hook, HookError, Moment, OutputVerdict, ResultView, Scene,
    StopVerdict, ToolVerdict, WordsVerdict,
};
use serde_json::{Value, json};

use super::input;

/// Keeps the transcripts of conversations.
pub(crate) struct Transcripts {
    folder: PathBuf,
    written: Mutex<Vec<PathBuf>>,
}

impl Transcripts {
    /// Keeps them in a folder, which is made when it is needed.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, written: Mutex::default() }
    }

    /// The file of a session's own conversation, which is there once this returns; none where it
    /// cannot be made.
    pub(crate) fn file(&self, scene: &Scene) -> Option<PathBuf> {
        self.made(scene.session.as_str())
    }

    /// The file of the conversation within a session that a scene belongs to.
    pub(crate) fn file_within(&self, scene: &Scene) -> Option<PathBuf> {
        let within = scene.within.as_ref()?;
        self.made(&format!("{}-agent-{}", scene.session, within.call))
    }

    fn made(&self, name: &str) -> Option<PathBuf> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name: String = name.chars().filter(|c| is_plain(*c)).take(200).collect();
        let path = self.folder.join(format!("{name}.jsonl"));
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if !written.contains(&path) {
            let mut maker = fs::DirBuilder::new();
            maker.recursive(true).mode(0o700).create(&self.folder).ok()?;
            let _ = fs::remove_file(&path);
            open(&path).ok()?;
            written.push(path.clone());
        }
        Some(path)
    }

    /// Deletes them.
    pub(crate) fn clear(&self) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for path in written.drain(..) {
            // One that is gone is what is wanted.
            let _ = fs::remove_file(path);
        }
    }

    fn add(&self, scene: &Scene, role: &str, content: &Value) {
        let session = scene.session.as_str();
        let path = self.file_within(scene).or_else(|| self.file(scene));
        let Some(path) = path else { return };
        let line = json!({
            "type": role,
            "message": {"role": role, "content": [content]},
            "sessionId": session,
            "cwd": scene.cwd.display().to_string(),
        });
        // What hooks read beside their input is a courtesy; the session's own log is elsewhere.
        let _ = open(&path).and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[async_trait]
impl Hook for Transcripts {
    fn name(&self) -> &'static str {
        "transcript"
    }

    fn wants(&self, moment: Moment) -> bool {
        matches!(
            moment,
            Moment::BeforeMessage | Moment::BeforeTool | Moment::AfterTool | Moment::BeforeStop
        )
    }

    async fn before_message(
        &self,
        scene: &Scene,
        text: &str,
    ) -> Result<Advice<WordsVerdict>, HookError> {
        self.add(scene, "user", &json!({"type": "text", "text": text}));
        Ok(Advice::default())
    }

    async fn before_tool(
        &self,
        scene: &Scene,
        call: CallView<'_>,
    ) -> Result<Advice<ToolVerdict>, HookError> {
        let (name, args) = (input::tool_name(call.tool), input::arguments(call, &scene.cwd));
        let id = input::call_id(call);
        let content = json!({"type": "tool_use", "id": id, "name": name, "input": args});
        self.add(scene, "assistant", &content);
        Ok(Advice::default())
    }

    async fn after_tool(
        &self,
        scene: &Scene,
        result: ResultView<'_>,
    ) -> Result<Advice<OutputVerdict>, HookError> {
        let content = json!({
            "type": "tool_result",
            "tool_use_id": input::call_id(result.call),
            "content": result.output.for_model(),
            "is_error": !result.output.success,
        });
        self.add(scene, "user", &content);
        Ok(Advice::default())
    }

    async fn before_stop(
        &self,
        scene: &Scene,
        ending: Ending<'_>,
    ) -> Result<Advice<StopVerdict>, HookError> {
        self.add(scene, "assistant", &json!({"type": "text", "text": ending.reply}));
        Ok(Advice::default())
    }
}
