//! Actions that a tool call would take, and the files that it must leave out.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing a tool call would do, stated before it is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Reads a file or directory.
    Read {
        /// Absolute path, symbolic links resolved.
        #[serde(serialize_with = "lossy")]
        #[schemars(with = "String")]
        path: PathBuf,
    },
    /// Creates, changes or removes a file.
    Write {
        /// Absolute path, symbolic links of the existing part resolved.
        #[serde(serialize_with = "lossy")]
        #[schemars(with = "String")]
        path: PathBuf,
        /// The change as a unified diff, where it can be told beforehand.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
    },
    Run {
        command: String,
        /// The working directory.
        #[serde(serialize_with = "lossy")]
        #[schemars(with = "String")]
        cwd: PathBuf,
    },
    Connect {
        /// The host's name, with its port if it has one; `*` for any host.
        host: String,
    },
    /// Runs the command of the same call on the host, outside the sandbox.
    LeaveSandbox { command: String },
    /// Runs code whose effects are not known beforehand (a plugin's tool).
    Opaque {
        /// A description.
        what: String,
    },
}

/// A path that is not UTF-8 must not keep an event out of the log.
fn lossy<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Why a call that goes through directories leaves a file out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// A rule denies reading it, or wants to be asked first.
    Ruled,
    /// Its name says that it holds a secret.
    Secret,
}

/// Says of a file whether a call that goes through directories must leave it out.
#[derive(Clone, Default)]
pub struct View(Option<Arc<Look>>);

type Look = dyn Fn(&Path) -> Option<Hidden> + Send + Sync;

impl View {
    /// A view from which `look` takes files.
    pub fn new(look: impl Fn(&Path) -> Option<Hidden> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(look)))
    }

    /// Why a file is left out; none where it is not.
    pub fn hidden(&self, path: &Path) -> Option<Hidden> {
        self.0.as_ref().and_then(|look| look(path))
    }
}

impl fmt::Debug for View {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "View(partial)" } else { "View(whole)" })
    }
}
