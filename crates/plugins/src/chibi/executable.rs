//! A plugin that can be run: what of it is started, under which profile, for how long.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ::files::bounded;
use contract::policy::Mode;
use contract::sandbox::{Access, Channel, Profile, SandboxError, Spawn, Stdin};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Host;
use super::call::{Call, Purpose};
use super::find::Candidate;
use super::run::{self, Keyboard, OUTPUT_LIMIT, Ran, Watch};
use super::schema_cache::{self, SchemaResult};
use crate::confine::{self, home_among};
use crate::plugin::Plugin;
use crate::problem::Problem;
use crate::process::{End, Limits};
use crate::remedy::{Around, remedy};

const USUAL_TIME: Duration = Duration::from_secs(30);
const HEAD: usize = 64 << 10;
/// Bytes, and lines, of what a plugin said that a message repeats.
const QUOTED: usize = 300;
const QUOTED_LINES: usize = 5;

pub(crate) struct Executable {
    pub(crate) plugin: Plugin,
    pub(crate) path: PathBuf,
    pub(crate) host: Arc<Host>,
    directory: PathBuf,
}

#[derive(Debug)]
pub(crate) enum RunError {
    Sandbox(SandboxError),
    Other(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sandbox(error) => error.fmt(f),
            Self::Other(words) => f.write_str(words),
        }
    }
}

impl Executable {
    pub(crate) fn new(candidate: Candidate, host: Arc<Host>) -> Self {
        let Candidate { plugin, executable, directory } = candidate;
        Self { plugin, path: executable, host, directory }
    }

    pub(crate) fn is_active(&self) -> bool {
        self.plugin.is_active()
    }

    pub(crate) fn time(&self) -> Duration {
        self.plugin.settings.timeout.unwrap_or(USUAL_TIME)
    }

    pub(crate) async fn run(
        &self,
        call: &Call<'_>,
        cancel: &CancellationToken,
    ) -> Result<Ran, RunError> {
        let deadline = Instant::now() + self.time();
        let settings = &self.host.settings;
        let profile = self.profile(call.purpose)?;
        let in_variables = self.plugin.settings.own.get("legacy") == Some(&Value::Bool(true));
        let (program, mut args) = self.program();
        let is_schema = matches!(call.purpose, Purpose::Schema);
        if is_schema {
            args.push("--schema".into());
        }
        let console = settings.console.as_ref().filter(|_| !is_schema);
        let is_tool = matches!(call.purpose, Purpose::Tool(_));
        let keyboard = if is_tool { Keyboard::Open } else { Keyboard::Closed };
        let console = console.and_then(|open| Some((open(self.plugin.name()).ok()?, keyboard)));
        let has_home = settings.is_confined && !is_schema;
        let spawn = Spawn {
            program,
            args,
            cwd: settings.surroundings.directory().to_owned(),
            stdin: if is_schema { Stdin::Null } else { Stdin::Piped },
            channel: if console.is_some() { Channel::Terminal } else { Channel::None },
            env: call.variables(in_variables),
            home: has_home.then(|| home_among(&settings.data.join(self.plugin.name()))),
        };
        let child = settings.sandbox.start(&spawn, &profile).map_err(RunError::Sandbox)?;
        let limits =
            Limits { output: OUTPUT_LIMIT, deadline: Some(deadline), cancel: Some(cancel) };
        let watch = Watch { plugin: self.plugin.name(), listener: &settings.on_output, console };
        let ran = run::run(child, &call.bytes(), limits, watch).await;
        ran.map_err(|error| RunError::Other(format!("its end was not seen: {error}")))
    }

    /// The grant that would let a call do what `words` say it could not; the user reads it once.
    pub(crate) fn advice(&self, words: &str) -> Option<String> {
        let settings = &self.host.settings;
        let around = Around {
            surroundings: &settings.surroundings,
            home: None,
            opens_workspace: true,
            mode: self.host.mode(),
        };
        let advice =
            settings.is_confined.then(|| remedy(&self.plugin, &around, words)).flatten()?;
        self.host.tell_once(self.plugin.name(), &contract::text::visible(&advice));
        Some(advice)
    }

    /// Has it describe itself. An error is the machine's, and not the plugin's.
    pub(crate) async fn schema(&self) -> Result<SchemaResult, Problem> {
        let call = Call { purpose: Purpose::Schema, context: None, input: None };
        let fault = |what: String, hint: &str| Problem::new(&self.path, what, hint);
        let ran = match self.run(&call, &CancellationToken::new()).await {
            Ok(ran) => ran,
            Err(RunError::Sandbox(SandboxError::Start { source, .. })) => {
                let what = format!("the plugin does not start: {source}");
                let hint = format!(
                    "check the interpreter in its first line; one outside the system's directories \
                     needs `brynhild plugin grant {} --exec INTERPRETER`",
                    self.plugin.name()
                );
                return Ok(schema_cache::failed(fault(what, &hint)));
            }
            Err(RunError::Sandbox(SandboxError::Unavailable { cause, hint })) => {
                return Err(fault(format!("no sandbox to run the plugin in: {cause}"), &hint));
            }
            Err(error) => {
                return Err(fault(error.to_string(), "see `brynhild sandbox doctor`"));
            }
        };
        let printed = ran.stdout.text.trim();
        let said = [ran.stderr.trim(), printed].into_iter().find(|text| !text.is_empty());
        let said = said.map(|said| format!(": {}", quoted(said)));
        let said = said.unwrap_or_default();
        let retry = "fix it, or append `.disabled` to its name; the plugin is retried when its \
                     file changes";
        let what = match ran.end {
            End::Exited(0) => match serde_json::from_str::<Value>(printed) {
                Ok(value) => return Ok(SchemaResult::Printed(value)),
                Err(error) => format!("`--schema` prints no JSON ({error}){said}"),
            },
            End::Exited(code) => format!("`--schema` ended with exit code {code}{said}"),
            End::Late | End::Cancelled => {
                let time = self.time().as_secs_f64();
                format!("`--schema` did not end within {time} s{said}")
            }
        };
        let is_missing_uv = ran.end == End::Exited(127) && what.contains("uv");
        let hint = if is_missing_uv {
            let name = self.plugin.name();
            format!("if you trust the plugin: `brynhild plugin grant {name} --exec uv --network`")
        } else {
            retry.to_owned()
        };
        Ok(schema_cache::failed(fault(what, &hint)))
    }

    /// A tool call was approved: it may do with the workspace what a command of the model may.
    fn profile(&self, purpose: Purpose<'_>) -> Result<Profile, RunError> {
        let settings = &self.host.settings;
        let data = settings.data.join(self.plugin.name());
        fs::create_dir_all(&data).map_err(|error| {
            RunError::Other(format!("its directory for data cannot be made: {error}"))
        })?;
        let mode = self.host.mode();
        let surroundings = &settings.surroundings;
        let (mut profile, problems) = confine::granted(&self.plugin, surroundings, &data, mode);
        for problem in problems {
            self.host.tell_once(self.plugin.name(), &problem.what);
        }
        if matches!(purpose, Purpose::Tool(_)) && mode != Mode::ReadOnly {
            profile.access = Access::Workspace;
        }
        if self.may_see_neighbors() {
            profile.read.push(self.directory.clone());
        }
        let mut set = |name: &str, value: String| profile.env.insert(name.to_owned(), value);
        let path = |path: &Path| path.to_string_lossy().into_owned();
        set("CHIBI_PROJECT_ROOT", path(&surroundings.workspace));
        set("CHIBI_HOME", path(&settings.home));
        set("BRYNHILD_PLUGIN_DATA", path(&data));
        set("UV_CACHE_DIR", path(&data.join("uv")));
        if settings.is_verbose {
            set("CHIBI_VERBOSE", "1".to_owned());
        }
        Ok(profile)
    }

    /// Returns true if a plugin of one file may read the files beside it: not in the home or above.
    fn may_see_neighbors(&self) -> bool {
        let home = self.host.settings.surroundings.home.as_deref();
        let home = home.and_then(|home| fs::canonicalize(home).ok());
        self.plugin.root.is_file() && home.is_none_or(|home| !home.starts_with(&self.directory))
    }

    /// The program to start. A script for `uv` without declared packages needs nothing but Python.
    fn program(&self) -> (PathBuf, Vec<OsString>) {
        if is_plain_python(&self.path) {
            return (PathBuf::from("python3"), vec![self.path.clone().into()]);
        }
        (self.path.clone(), Vec::new())
    }
}

/// The end of the output: a plugin that repeats itself must not fill the screen.
fn quoted(said: &str) -> String {
    let lines: Vec<&str> = contract::text::tail(said, QUOTED).lines().collect();
    lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n")
}

fn is_plain_python(file: &Path) -> bool {
    let head = bounded::head(file, HEAD).unwrap_or_default();
    if !head.starts_with(b"#!") {
        return false;
    }
    let head = String::from_utf8_lossy(&head);
    let first = head.lines().next().unwrap_or_default();
    first.contains("uv run") && first.contains("--script") && !declares_packages(&head)
}

fn declares_packages(script: &str) -> bool {
    let mut lines = script.lines().skip_while(|line| line.trim_end() != "# /// script").skip(1);
    let block: String = lines
        .by_ref()
        .take_while(|line| line.starts_with('#') && line.trim_end() != "# ///")
        .flat_map(|line| [line.trim_start_matches('#'), "\n"])
        .collect();
    let Some((_, list)) = block.split_once("dependencies") else { return false };
    let list = list.split_once(']').map_or(list, |(list, _)| list);
    list.contains(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_for_uv_without_packages_is_plain_python() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("p");
        let line = "#!/usr/bin/env -S uv run --quiet --script\n";
        for (rest, is_plain) in [
            ("import json\n", true),
            ("# /// script\n# dependencies = []\n# ///\n", true),
            ("# /// script\n# requires-python = \">=3.11\"\n# ///\ndependencies = ['x']\n", true),
            ("# /// script\n# dependencies = [\n#   \"httpx\",\n# ]\n# ///\n", false),
        ] {
            fs::write(&file, format!("{line}{rest}")).unwrap();
            assert_eq!(is_plain_python(&file), is_plain, "{rest}");
        }
        fs::write(&file, "#!/usr/bin/env python3\n").unwrap();
        assert!(!is_plain_python(&file));
    }

    #[test]
    fn quoted_output_is_limited() {
        assert_eq!(quoted(&"y\n".repeat(1000)), "y\ny\ny\ny\ny");
        assert_eq!(quoted("one\ntwo"), "one\ntwo");
        assert_eq!(quoted(&"x".repeat(1000)).len(), QUOTED);
    }
}
