//! The strongest backend: a view of the machine made by bubblewrap, with every namespace, and the
//! helper inside it.

mod options;
mod probe;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use contract::sandbox::{ChannelEnds, Child, Hosts, Network, SandboxError};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::channel::PrivateChannel;
use crate::cleanup::Cleanup;
use crate::deny_mounts::Mounts;
use crate::failure::{Cause, Failure, start_error};
use crate::launch::{self, Descriptors, Launcher, Outcome, Started, Unsettled};
use crate::mount_check::ExpectedMounts;
use crate::plan::{Plan, Restrictions};
use crate::proxy::{self, Proxy};
use crate::request::Request;
use crate::running::{End, Running};
use crate::self_restrict;
use crate::system_program::trusted;
use crate::tree;
use crate::trusted_copies::TrustedCopies;
use crate::{HELPER_COMMAND, Settings, helper};
use options::Options;
pub(crate) use probe::probe;

/// The only places where bubblewrap is looked for.
const PLACES: [&str; 4] =
    ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

const INSIDE: &str = "/run/brynhild/confine";
/// Attempts while other processes move what is to be mounted.
const ATTEMPTS: usize = 10;

/// This backend.
#[derive(Debug)]
pub(crate) struct Bubblewrap {
    /// Versions before 0.8 cannot forbid user namespaces; the system call filter still does.
    has_disable: AtomicBool,
}

impl Default for Bubblewrap {
    fn default() -> Self {
        Self { has_disable: AtomicBool::new(true) }
    }
}

impl Bubblewrap {
    /// Starts `request`.
    pub(crate) fn start(
        &self,
        request: &Request,
        settings: &Settings,
        launcher: &Arc<Launcher>,
    ) -> Result<Child, Failure> {
        let program = find().map_err(Failure::Setup)?;
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            match self.attempt(&program, request, settings, launcher)? {
                Ok(child) => return Ok(child),
                Err(words) => last = words,
            }
        }
        Err(Failure::Fatal(SandboxError::Refused(format!(
            "cannot set up the sandbox ({last}); if another process moves files of the project, stop \
             it and try again"
        ))))
    }

    /// Starts `request`, unless something is exchanged meanwhile.
    fn attempt(
        &self,
        program: &Path,
        request: &Request,
        settings: &Settings,
        launcher: &Arc<Launcher>,
    ) -> Result<Result<Child, String>, Failure> {
        let call = || Waiting::call(program, request, settings, launcher);
        let mut waiting = call()?;
        let (mut after, denied) = prepare(request, settings)?;
        loop {
            let can_disable = self.has_disable.load(Ordering::Relaxed);
            let options = match Options::of(request, (&after, &denied), waiting.helper, can_disable)
            {
                Ok(options) => options,
                Err(error) => return Ok(Err(error.to_string())),
            };
            match waiting.tell(options, request)? {
                Attempt::Runs(child, channel, listener) => {
                    let end = End::Namespace(first_inside(child.id()));
                    if let Some(listener) = listener {
                        start_proxy(listener, request, settings, &mut after)
                            .map_err(|error| start_error(&request.program, error))?;
                    }
                    let child = Running::adopt(*child, channel, end, after, Arc::clone(launcher));
                    return Ok(Ok(child.map_err(|error| start_error(&request.program, error))?));
                }
                Attempt::MountChanged(words) => return Ok(Err(words)),
                Attempt::Broke(words) if words.contains("--disable-userns") => {
                    if !self.has_disable.swap(false, Ordering::Relaxed) {
                        return Err(Failure::Setup(probe::explain(&words)));
                    }
                    waiting = call()?;
                }
                // Files of a project must not lead to a weaker sandbox.
                Attempt::Broke(words) if probe().is_ok() => return Ok(Err(words)),
                Attempt::Broke(words) => return Err(Failure::Setup(probe::explain(&words))),
            }
        }
    }
}

/// Serves the hosts of the request on `listener`; without any, refuses and records each.
fn start_proxy(
    listener: TcpListener,
    request: &Request,
    settings: &Settings,
    after: &mut Cleanup,
) -> io::Result<()> {
    let none = Hosts::default();
    let (hosts, told) = match &request.network {
        Network::Hosts(hosts) => {
            (hosts, (settings.notice.clone(), settings.on_proxy_request.clone()))
        }
        Network::None | Network::Host => (&none, (None, None)),
    };
    let rules = settings.hosts.clone();
    after.proxy = Some(Proxy::start(listener, hosts, rules, told, after.blocked.clone())?);
    Ok(())
}

/// Finds what the command must not touch.
fn prepare(request: &Request, settings: &Settings) -> Result<(Cleanup, Mounts), Failure> {
    let denied = Mounts::find(request, settings)?;
    let trees = tree::all(&request.writable(), settings)?;
    let mut after = Cleanup::begin(trees, request.private(), settings)?;
    let mut held: BTreeSet<PathBuf> = denied.found.read_only.clone();
    held.extend(after.mounts().flat_map(|it| it.read_only.iter().chain(&it.pinned)).cloned());
    after.trusted = TrustedCopies::of(request, &settings.state, held)?;
    Ok((after, denied))
}

/// Finds bubblewrap at a place that only root can change.
pub(crate) fn find() -> Result<PathBuf, Cause> {
    let mut rejected = None;
    for place in PLACES.map(Path::new) {
        match trusted(place) {
            Ok(path) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => rejected = Some(format!("{} {error}", place.display())),
        }
    }
    Err(match rejected {
        Some(what) => Cause::new(&what, "reinstall bubblewrap from your distribution"),
        None => {
            Cause::new("the program `bwrap` is not installed", "install the package `bubblewrap`")
        }
    })
}

enum Attempt {
    Runs(Box<tokio::process::Child>, Option<ChannelEnds>, Option<TcpListener>),
    MountChanged(String),
    Broke(String),
}

/// A bubblewrap that waits for its options. It takes its time to load, so it is called before it is
/// known what the command may touch. Dropping it ends it.
struct Waiting {
    started: Started,
    options: PipeWriter,
    plan: File,
    status: PipeReader,
    channel: Option<ChannelEnds>,
    proxy: Option<UnixStream>,
    /// The number under which it has the helper.
    helper: RawFd,
}

impl Waiting {
    /// Calls one.
    fn call(
        program: &Path,
        request: &Request,
        settings: &Settings,
        launcher: &Launcher,
    ) -> Result<Self, Failure> {
        let helper = open(&settings.helper, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        let helper = helper.map_err(|error| {
            let path = settings.helper.display();
            SandboxError::Refused(format!("the helper {path} cannot be used: {error}"))
        })?;
        Self::begin(program, helper, request, launcher)
            .map_err(|error| start_error(&request.program, error).into())
    }

    fn begin(
        program: &Path,
        helper: OwnedFd,
        request: &Request,
        launcher: &Launcher,
    ) -> io::Result<Self> {
        let (status, told) = io::pipe()?;
        let (awaited, options) = io::pipe()?;
        let (channel, theirs) = PrivateChannel::split(PrivateChannel::open(request.channel)?);
        let mut handed = Descriptors::default();
        let plan = handed.add_empty(helper::PLAN)?;
        handed.add(helper::STATUS, told.into());
        handed.add_channel(theirs);
        let mut proxy = None;
        if request.network != Network::Host {
            let (ours, theirs) = UnixStream::pair()?;
            handed.add(helper::PROXY, theirs.into());
            proxy = Some(ours);
        }
        let mut command = launch::command(program, request.stdin);
        command
            .args(["--args", &awaited.as_raw_fd().to_string(), "--"])
            .args([INSIDE, HELPER_COMMAND, helper::BECOME])
            .args(&handed.words)
            .kill_on_drop(true);
        let number = helper.as_raw_fd();
        handed.inherited.extend([OwnedFd::from(awaited), helper]);
        let started = launcher.begin(command, handed.inherited)?;
        Ok(Self { started, options, plan, status, channel, proxy, helper: number })
    }

    /// Tells it what to do.
    fn tell(mut self, options: Options, request: &Request) -> Result<Attempt, Failure> {
        let fault = |error| Failure::from(start_error(&request.program, error));
        let plan = plan(request, options.expected).map_err(SandboxError::Refused)?;
        // It is there before anything that could read it.
        self.plan.write_all(&plan.encode()).map_err(fault)?;
        let mut child = self.started.child().map_err(unusable)?;
        let unsettled = Unsettled::of(&child);
        launch::send(self.options, &options.bytes).map_err(fault)?;
        match launch::outcome(self.status) {
            Outcome::Running => {
                let listener = self.proxy.map(|line| proxy::receive(&line)).transpose();
                let listener = listener.map_err(fault)?;
                unsettled.settle();
                Ok(Attempt::Runs(Box::new(child), self.channel, listener))
            }
            Outcome::NotExecuted(error) => Err(fault(error)),
            Outcome::MountChanged(words) => {
                Ok(Attempt::MountChanged(format!("the helper {words}")))
            }
            Outcome::Failed(words) => {
                Err(SandboxError::Refused(format!("the helper {words}")).into())
            }
            Outcome::Silent => Ok(Attempt::Broke(last_words(&mut child))),
        }
    }
}

/// Why bubblewrap itself could not be started. Where that lies with its file, another backend may do.
fn unusable(error: io::Error) -> Failure {
    let is_its_own = [Errno::ACCESS, Errno::PERM, Errno::NOENT, Errno::NOEXEC, Errno::LIBBAD];
    let is_its_own = Errno::from_io_error(&error).is_some_and(|it| is_its_own.contains(&it));
    if is_its_own {
        let words = format!("`bwrap` cannot be started: {error}");
        return Failure::Setup(Cause::new(&words, "reinstall bubblewrap from your distribution"));
    }
    start_error(Path::new("bwrap"), error).into()
}

/// The first process of the namespace that `outer` made.
fn first_inside(outer: Option<u32>) -> Option<OwnedFd> {
    let outer = outer?;
    let text = std::fs::read_to_string(format!("/proc/{outer}/task/{outer}/children")).ok()?;
    let first = Pid::from_raw(text.split_whitespace().next()?.parse().ok()?)?;
    pidfd_open(first, PidfdFlags::empty()).ok()
}

/// The error output of a failed bubblewrap, which has closed its streams.
fn last_words(child: &mut tokio::process::Child) -> String {
    let words = child
        .stderr
        .take()
        .and_then(|stderr| stderr.into_owned_fd().ok())
        .and_then(|stderr| io::read_to_string(std::fs::File::from(stderr)).ok())
        .unwrap_or_default();
    words.trim().to_owned()
}

fn plan(request: &Request, expected: ExpectedMounts) -> Result<Plan, String> {
    let mut env = request.env.clone();
    let home = request.home.as_deref().unwrap_or(Path::new("/tmp"));
    let home = home.to_string_lossy().into_owned();
    env.entry("HOME".to_owned()).or_insert(home);
    env.insert("TMPDIR".to_owned(), "/tmp".to_owned());
    match &request.network {
        Network::Hosts(hosts) => env.extend(proxy::variables(hosts)),
        Network::None => env.extend(proxy::variables(&Hosts::default())),
        Network::Host => {}
    }
    let mut write: Vec<PathBuf> =
        ["/tmp", "/run", "/var", "/dev", "/proc/self"].map(PathBuf::from).into();
    write.extend(request.home.clone());
    write.extend(request.private());
    write.extend(request.writable());
    Ok(Plan {
        program: request.program.clone().into(),
        args: request.args.clone(),
        cwd: request.cwd.clone(),
        env,
        home: request.own_home.clone(),
        restrictions: Restrictions::Inner,
        limits: request.limits,
        read: vec![PathBuf::from("/")],
        write,
        devices: Vec::new(),
        expected,
        filter: self_restrict::filter(Restrictions::Inner, &request.network, request.access)?,
    })
}
