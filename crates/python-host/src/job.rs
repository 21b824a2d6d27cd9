//! A command that runs to its end, confined: the look at an interpreter, the making of a venv.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::sandbox::{Exit, Profile, Sandbox, Spawn};
use contract::text;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The largest output, in bytes.
const OUTPUT_LIMIT: usize = 1 << 20;
const TAIL_LINES: usize = 20;
const LINE_LIMIT: usize = 400;

/// The output of a command, and how it ended.
pub(crate) struct CommandOutput {
    /// How it ended.
    pub(crate) exit: Exit,
    /// Its standard output.
    pub(crate) stdout: String,
    /// The last lines of both its streams, safe to show.
    pub(crate) last: String,
}

/// Runs a command to its end.
pub(crate) async fn run(
    sandbox: &dyn Sandbox,
    (spawn, profile): (&Spawn, &Profile),
    time: Duration,
) -> Result<CommandOutput, String> {
    let mut child = sandbox.start(spawn, profile).map_err(|error| error.to_string())?;
    let last = Arc::new(Mutex::new(VecDeque::new()));
    let hear = |line: &[u8]| {
        let line = text::visible(String::from_utf8_lossy(line).trim_end()).into_owned();
        if line.is_empty() {
            return;
        }
        let line = text::head(&line, LINE_LIMIT).to_owned();
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() == TAIL_LINES {
            last.pop_front();
        }
        last.push_back(line);
    };
    let work = async {
        let (stdout, _) =
            tokio::join!(collect(&mut child.stdout, &hear), collect(&mut child.stderr, &hear));
        child.process.wait().await.map(|exit| (exit, stdout)).map_err(|error| error.to_string())
    };
    let (exit, stdout) = tokio::time::timeout(time, work)
        .await
        .map_err(|_| format!("it did not end within {} seconds", time.as_secs()))??;
    let last = last.lock().unwrap_or_else(PoisonError::into_inner);
    let last: Vec<&str> = last.iter().map(String::as_str).collect();
    Ok(CommandOutput {
        exit,
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        last: last.join("\n"),
    })
}

async fn collect(
    source: &mut (dyn AsyncRead + Send + Unpin),
    hear: &(dyn Fn(&[u8]) + Sync),
) -> Vec<u8> {
    let mut all = Vec::new();
    let mut partial = Vec::new();
    let mut chunk = vec![0; 8 << 10];
    while let Ok(count @ 1..) = source.read(&mut chunk).await {
        let room = OUTPUT_LIMIT.saturating_sub(all.len()).min(count);
        all.extend_from_slice(&chunk[..room]);
        for piece in chunk[..count].split_inclusive(|&byte| byte == b'\n') {
            let room = (4 * LINE_LIMIT).saturating_sub(partial.len()).min(piece.len());
            partial.extend_from_slice(&piece[..room]);
            if piece.ends_with(b"\n") {
                hear(&partial);
                partial.clear();
            }
        }
    }
    hear(&partial);
    all
}
