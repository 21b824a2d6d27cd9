//! The settings of the host: directories, configuration, and who hears about plugins.

use std::path::PathBuf;
use std::sync::Arc;

use contract::policy::Mode;
use contract::sandbox::Sandbox;
use files::surroundings::Surroundings;
use serde_json::Value;

use crate::output::Listener;

/// The settings of the host.
#[derive(Clone)]
pub struct Settings {
    /// The directory for state between runs.
    pub state: PathBuf,
    /// Starts processes.
    pub sandbox: Arc<dyn Sandbox>,
    /// The directories and environment variables around workers.
    pub surroundings: Surroundings,
    /// Changes with the environment variables that every plugin sees.
    pub environment: String,
    /// The mode at the beginning.
    pub mode: Mode,
    /// The interpreter for plugins without a venv; none for `python3`.
    pub python: Option<PathBuf>,
    /// The configuration in force, without secrets.
    pub config: Value,
    /// Hears what plugins print.
    pub on_output: Listener,
    /// Hears what is done for a plugin and takes time.
    pub on_progress: Listener,
    pub tracebacks: Tracebacks,
}

/// How much of a traceback is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracebacks {
    /// The frames of the plugin's own files.
    Author,
    Whole,
}

/// How to treat declared packages that are not installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Install them; that may take minutes.
    Install,
    /// Say so.
    Report,
}
