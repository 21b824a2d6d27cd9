//! Starting confined processes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};

/// Write access of a confined process.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Nothing but its private scratch space.
    #[default]
    ReadOnly,
    /// The workspace as well.
    Workspace,
    /// Whatever the user may write: the process runs outside the sandbox.
    Host,
}

/// A program to start.
#[derive(Clone, Debug)]
pub struct Spawn {
    /// The program: an absolute path, or a name looked up inside the confinement.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    pub stdin: Stdin,
    /// A connection to the caller beside the standard streams.
    pub channel: Channel,
    /// Environment variables that override those of the profile.
    pub env: BTreeMap<String, String>,
    /// A directory of its own that is its home where it is confined, made when it starts.
    pub home: Option<PathBuf>,
}

/// The standard input of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    Null,
    /// The bytes that the caller writes to [`Child::stdin`].
    Piped,
}

/// A line between a process and its caller, apart from the standard streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Channel {
    #[default]
    None,
    /// Two pipes: the process reads from [`CHANNEL_IN`] and writes to [`CHANNEL_OUT`].
    Private,
    /// A terminal of its own, which it finds at `/dev/tty`; what is written to it is not echoed.
    Terminal,
}

/// The descriptor on which a process hears its caller.
pub const CHANNEL_IN: i32 = 3;
/// The descriptor on which a process answers its caller.
pub const CHANNEL_OUT: i32 = 4;

/// The permissions of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The project; readable always, writable with [`Access::Workspace`].
    pub workspace: PathBuf,
    pub access: Access,
    pub read: Vec<PathBuf>,
    /// Further writable paths; read-only under [`Access::ReadOnly`].
    pub write: Vec<PathBuf>,
    /// Directories of the process' own: writable whatever the access, with no protected names.
    pub own: Vec<PathBuf>,
    /// Files of the workspace that it must find with the bytes that were looked at.
    pub fixed: Vec<Fixed>,
    pub network: Network,
    pub env: BTreeMap<String, String>,
    pub limits: Limits,
}

/// A file that was looked at, and that a process must find as it was then. Where the confinement
/// cannot put it into its place, the process is ended if something else is found there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    pub place: PathBuf,
    pub bytes: Arc<[u8]>,
    pub mode: u32,
}

/// Network access of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// A loopback of its own, and nothing else.
    #[default]
    None,
    /// Single hosts, through a proxy that its variables name; nothing where that cannot be held.
    Hosts(Hosts),
    /// The host's network.
    Host,
}

/// Hosts that a process may talk to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// Names, `*.` and a name for all beneath it, or addresses; each with a port after a colon
    /// where that one is meant and not those of [`is_usual_port`]. A private address counts only
    /// where it stands here itself.
    pub names: Vec<String>,
    /// The key of the configuration that lists them, for people.
    pub key: String,
}

/// Returns true if a grant of `host` without a port opens this port: those of the web, and on the
/// loopback of this machine all ports.
pub fn is_usual_port(host: &str, port: u16) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |address: IpAddr| address.to_canonical().is_loopback();
    [80, 443].contains(&port) || host == "localhost" || host.parse().is_ok_and(is_loopback)
}

/// Upper bounds on what a process takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub processes: u64,
    /// Bytes of data memory of one process.
    pub memory: u64,
    pub file_size: u64,
    pub open_files: u64,
    /// Bytes of scratch space, in memory.
    pub scratch: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const GIB: u64 = 1 << 30;
        Self { processes: 512, memory: 2 * GIB, file_size: 2 * GIB, open_files: 4096, scratch: GIB }
    }
}

/// A running process. Dropping it kills the process and all it started.
pub struct Child {
    /// Its standard input, where [`Stdin::Piped`] was asked for.
    pub stdin: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
    /// The caller's ends of its channel, where [`Channel::Private`] was asked for.
    pub channel: Option<ChannelEnds>,
    pub process: Box<dyn Process>,
}

/// The caller's ends of a channel. Both close when the process and all it started have ended.
pub struct ChannelEnds {
    /// Carries what the process writes to [`CHANNEL_OUT`].
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// Reaches the process on [`CHANNEL_IN`].
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
}

/// The process behind a [`Child`].
#[async_trait]
pub trait Process: Send {
    /// Its id on the host.
    fn id(&self) -> u32;
    /// Waits for its end. Safe to cancel and to call again.
    async fn wait(&mut self) -> std::io::Result<Exit>;
    /// Kills it and all it started, at once.
    fn kill(&mut self);
    /// The requests of this process that the sandbox refused so far, each once.
    fn blocked(&self) -> Vec<Blocked> {
        Vec::new()
    }
}

/// A request of a process that the sandbox refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blocked {
    /// A connection to a host, as it was named, and a port.
    Host(String, u16),
    /// A change of a protected file, undone or moved to quarantine.
    Write(PathBuf),
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

impl Exit {
    /// Returns true if it returned 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

/// Why a process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Nothing on this machine can confine it.
    #[error("no sandbox works on this machine: {cause}")]
    Unavailable { cause: String, hint: String },
    /// The profile asks for something that must not be.
    #[error("the sandbox refuses: {0}")]
    Refused(String),
    /// The program did not start.
    #[error("cannot start {program}: {source}")]
    Start {
        program: String,
        #[source]
        source: std::io::Error,
    },
}

/// The guarantees of a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Enforcement {
    pub confined: bool,
    /// Deny rules for files hold for every process.
    pub file_rules: bool,
    /// A process can be granted single hosts.
    pub single_hosts: bool,
}

/// Starts processes.
pub trait Sandbox: Send + Sync {
    /// One line for people: which confinement this is.
    fn describe(&self) -> String;
    /// The guarantees; none by default.
    fn enforces(&self) -> Enforcement {
        Enforcement::default()
    }
    /// Starts `spawn` under `profile`, its standard streams piped.
    fn start(&self, spawn: &Spawn, profile: &Profile) -> Result<Child, SandboxError>;
}

/// A sandbox with the profile that a ruling gave: all a tool needs to start a process.
#[derive(Clone)]
pub struct Confinement {
    sandbox: Arc<dyn Sandbox>,
    pub profile: Profile,
}

impl Confinement {
    /// Ties a sandbox to a profile.
    pub fn new(sandbox: Arc<dyn Sandbox>, profile: Profile) -> Self {
        Self { sandbox, profile }
    }

    /// Returns a copy with this access.
    #[must_use]
    pub fn with_access(&self, access: Access) -> Self {
        Self::new(Arc::clone(&self.sandbox), Profile { access, ..self.profile.clone() })
    }

    /// Returns a copy with this network.
    #[must_use]
    pub fn with_network(&self, network: Network) -> Self {
        Self::new(Arc::clone(&self.sandbox), Profile { network, ..self.profile.clone() })
    }

    /// Returns a copy with further paths that the call has stated as its actions: readable ones, and
    /// ones that are writable too if the ruling lets anything be written.
    #[must_use]
    pub fn reaching(&self, read: &[PathBuf], write: &[PathBuf]) -> Self {
        let mut profile = self.profile.clone();
        profile.read.extend_from_slice(read);
        profile.write.extend_from_slice(write);
        Self::new(Arc::clone(&self.sandbox), profile)
    }

    /// Starts a process.
    pub fn start(&self, spawn: &Spawn) -> Result<Child, SandboxError> {
        self.sandbox.start(spawn, &self.profile)
    }
}
