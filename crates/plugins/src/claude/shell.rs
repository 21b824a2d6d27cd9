//! Runs the commands that stand in a command's text, and gives back what they print.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use contract::hook::HookError;
use contract::sandbox::{Channel, Profile, Sandbox, Spawn, Stdin};
use contract::text::{head, visible};
use tokio::time::timeout;

use crate::hooks::failure;

const COMMAND_TIMEOUT: Duration = Duration::from_mins(2);
/// Bytes of what it prints that get into a prompt.
const MAX_OUTPUT_BYTES: usize = 30_000;

pub async fn output(
    sandbox: &dyn Sandbox,
    profile: &Profile,
    line: &str,
    cwd: &Path,
) -> Result<String, String> {
    let spawn = Spawn {
        program: shell().to_owned(),
        args: vec!["-c".into(), format!("exec 2>&1\n{line}").into()],
        cwd: cwd.to_owned(),
        stdin: Stdin::Null,
        channel: Channel::None,
        env: BTreeMap::new(),
        home: None,
    };
    let running = failure::run(sandbox, &spawn, profile, &[]);
    let ended = match timeout(COMMAND_TIMEOUT, running).await {
        Ok(ended) => ended.map_err(|failed| HookError::from(failed).to_string())?,
        Err(_) => return Err(format!("it took longer than {} s", COMMAND_TIMEOUT.as_secs())),
    };
    let printed = ended.stdout.text.trim_end();
    let mut text = visible(head(printed, MAX_OUTPUT_BYTES)).into_owned();
    if printed.len() > MAX_OUTPUT_BYTES || ended.stdout.is_cut {
        text.push_str("\n[the rest is left out]");
    }
    if ended.code() != 0 {
        let _ = write!(text, "\n[exit code {}]", ended.code());
    }
    Ok(text)
}

pub(super) fn shell() -> &'static Path {
    let bash = Path::new("/bin/bash");
    if bash.exists() { bash } else { Path::new("/bin/sh") }
}
