//! Starts processes: confined, or not at all.
//!
//! Backends, tried from the strongest: bubblewrap, Landlock with seccomp, Seatbelt
//! on macOS. What no backend can confine is refused. This is the only crate that starts processes;
//! it decides nothing about what may run and reads neither environment nor working directory.
#![cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "parts of the shared modules serve the backends of Linux only")
)]

mod alive;
mod blocked;
#[cfg(target_os = "linux")]
mod bubblewrap;
mod channel;
mod choose;
mod cleanup;
mod contents;
mod denied_paths;
#[cfg(target_os = "linux")]
mod deny_mounts;
mod doctor;
mod failure;
mod foreground;
mod git_directory;
mod git_global;
mod git_settings;
mod grants;
#[cfg(target_os = "linux")]
mod helper;
mod hide_process;
#[cfg(target_os = "linux")]
mod home;
#[cfg(target_os = "linux")]
mod landlock;
mod launch;
mod low_disk;
#[cfg(target_os = "linux")]
mod mount_check;
mod none;
mod pinned_path;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod process_limit;
mod proxy;
mod quarantine;
mod request;
mod running;
mod saved;
#[cfg(target_os = "linux")]
mod scratch;
mod seatbelt;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod self_restrict;
#[cfg(target_os = "linux")]
mod supervisor;
mod symlinks;
mod system_program;
mod tokens;
mod tree;
#[cfg(target_os = "linux")]
mod trusted_copies;
mod visible_paths;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use contract::sandbox::Sandbox;
use files::changes::ChangeTracker;

pub use alive::running;
pub use denied_paths::{FileRules, is_hidden};
pub use doctor::BackendReport;
pub use failure::Cause;
pub use foreground::{feed, foreground};
pub use git_directory::linked_git_directories;
pub use git_global::{GitGlobal, git_global};
pub use hide_process::hide_process;
pub use pinned_path::directory_metadata;
pub use symlinks::{EscapingSymlink, cwd_moved_out, file_at, granted_paths, project_at};
pub use visible_paths::secrets_around;

/// The first argument with which the program starts itself as the helper.
pub const HELPER_COMMAND: &str = "__confine";

/// The environment of the sandbox.
#[derive(Clone)]
pub struct Settings {
    /// The program whose `main` hands `PROGRAM __confine ARGS` to [`helper_main`].
    pub helper: PathBuf,
    /// A directory of the user, outside of any workspace, for stubs and scratch space.
    pub state: PathBuf,
    /// The home directory of the user, which confined processes must not see.
    pub home: Option<PathBuf>,
    /// Uses this backend and no other.
    pub backend: Option<Backend>,
    /// Told when something was moved to quarantine or a weaker backend was taken.
    pub notice: Option<Notice>,
    /// Told of each host that a process which was granted single hosts asks for, before it is
    /// reached; of too many refused ones only the first. May block.
    pub on_proxy_request: Option<ProxyObserver>,
    /// Files that no process may read or write, in addition to its profile.
    pub rules: Option<Arc<dyn FileRules>>,
    /// Hosts that a process with granted hosts may not reach.
    pub hosts: Option<HostRules>,
    /// The environment of processes that run outside of the sandbox ([`Access::Host`]).
    ///
    /// [`Access::Host`]: contract::sandbox::Access::Host
    pub host_env: BTreeMap<String, String>,
    /// The change tracker of the workspace, if another part of the program has one.
    pub tracker: Option<Arc<ChangeTracker>>,
    /// True if the user's git signs commits, which cannot be done in the sandbox.
    pub signs_commits: bool,
}

/// Says which rule denies a host, with its port.
pub type HostRules = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Hears about ways out.
pub type ProxyObserver = Arc<dyn Fn(&ProxyRequest<'_>) + Send + Sync>;

/// A way out that a process has asked for.
#[derive(Clone, Copy, Debug)]
pub struct ProxyRequest<'a> {
    /// The host, as it was named.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
    /// The key of the configuration that lists what the process may reach.
    pub key: &'a str,
    pub verdict: Verdict,
    /// True if it is the last one reported: further requests of this process are not.
    pub is_last: bool,
}

/// The decision on a request to the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It was.
    Allowed,
    /// It was not.
    Denied,
}

/// Hears about what people should know.
pub type Notice = Arc<dyn Fn(String) + Send + Sync>;

/// One way to confine a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Namespaces by bubblewrap, with seccomp, limits and Landlock inside.
    Bubblewrap,
    /// Landlock, seccomp and limits without namespaces.
    Landlock,
    /// Seatbelt of macOS.
    Seatbelt,
}

impl Backend {
    /// Every backend, strongest first.
    pub const ALL: [Self; 3] = [Self::Bubblewrap, Self::Landlock, Self::Seatbelt];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
            Self::Seatbelt => "seatbelt",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A sandbox that takes the strongest backend that works, chosen at the first start.
pub fn strongest(settings: Settings) -> Arc<dyn Sandbox> {
    Arc::new(choose::StrongestBackend::confined(settings))
}

/// A sandbox that confines nothing: it only gives a process its own session and variables, and
/// kills all that the process started.
pub fn unconfined(settings: Settings) -> Arc<dyn Sandbox> {
    Arc::new(choose::StrongestBackend::open(settings))
}

/// Examines every backend: whether it works here, what it lacks, and what to do about it.
pub fn doctor(settings: &Settings) -> Vec<BackendReport> {
    doctor::examine(settings)
}

/// Does the helper's work with the arguments after [`HELPER_COMMAND`]. `main` calls this before
/// anything else, with no other thread running, and returns its result.
pub fn helper_main(args: &[OsString]) -> ExitCode {
    #[cfg(target_os = "linux")]
    {
        helper::main(args)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = args;
        ExitCode::from(125)
    }
}
