//! The strongest rung: a view of the machine made by bubblewrap, with every namespace, and the
//! helper inside it.

mod options;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use contract::sandbox::{ChannelEnds, Child, Network, SandboxError};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::channel::Line;
use crate::choose::{Failure, start_error};
use crate::doctor::{self, Cause};
use crate::expected::{EXCHANGED, Expected};
use crate::guard::{After, Linked, Snapshot, Unfinished};
use crate::held;
use crate::launch::{self, Descriptors, Launcher, Outcome, Started};
use crate::mirror::Mirror;
use crate::plan::{Plan, Walls};
use crate::proxy::{self, Proxy};
use crate::request::Request;
use crate::running::{End, Running, Unsettled};
use crate::seals::Mounts;
use crate::stubs::Stubs;
use crate::system_program::trusted;
use crate::view;
use crate::walls;
use crate::{HELPER_COMMAND, Rung, Settings, helper, process_limit};
use options::{Knows, Options};

/// The only places where bubblewrap is looked for.
const PLACES: [&str; 4] =
    ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

const INSIDE: &str = "/run/brynhild/confine";
/// So often it is tried, each time with a new look, while other processes exchange or remove what is to be
/// mounted: tests of the person's own may make and remove projects all the time.
const ATTEMPTS: usize = 25;

/// What one says that mounts by paths alone.
const NO_FOLDERS: [&str; 2] =
    ["bwrap: Unknown option --bind-fd", "bwrap: Unknown option --ro-bind-fd"];

/// What one says to which a part of the outside stays as it is.
const NOT_CLOSED: &str = "bwrap: Can't remount readonly on /newroot";
/// What one says to which the outside is something else.
const NOT_OUTSIDE: [&str; 2] = [
    "bwrap: Can't mkdir /../oldroot/proc/driver:",
    "bwrap: Can't mount tmpfs on /newroot/../oldroot/proc/driver:",
];

/// The rung with what it learned about this machine's bubblewrap.
#[derive(Debug)]
pub(crate) struct Bubblewrap {
    /// Versions before 0.8 cannot forbid user namespaces; the system call filter still does.
    knows_disable: AtomicBool,
    /// Versions before 0.10 mount by paths alone, but for those that were mended.
    knows_folders: AtomicBool,
    /// Whether what lies outside can be made read-only while it works.
    can_close: AtomicBool,
    /// What of it cannot.
    open: Mutex<BTreeSet<PathBuf>>,
}

impl Default for Bubblewrap {
    fn default() -> Self {
        Self {
            knows_disable: AtomicBool::new(true),
            knows_folders: AtomicBool::new(true),
            can_close: AtomicBool::new(true),
            open: Mutex::default(),
        }
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
            "what a command is to see could not be put together ({last}); if another command or server \
             changes the project meanwhile, stop it, otherwise remove what is named"
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
        let (group, door) = process_limit::group(Rung::Bubblewrap, &request.limits).unzip();
        let call = || Waiting::call(program, door.as_ref(), request, settings, launcher);
        let mut waiting = call()?;
        let (mut after, barred) = match view::while_looking(|| prepare(request, settings)) {
            Err(Failure::Exchanged(words)) => return Ok(Err(words)),
            prepared => prepared?,
        };
        after.group = group;
        let open = || self.open.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let knows = Knows {
                disable: self.knows_disable.load(Ordering::Relaxed),
                close: self.can_close.load(Ordering::Relaxed),
                open: open().clone(),
            };
            let is_held = self.knows_folders.load(Ordering::Relaxed);
            let held = if is_held { waiting.roots.clone() } else { BTreeMap::new() };
            let (seen, handed) = ((&after, &barred), (waiting.helper, held));
            let options = match Options::of(request, seen, handed, &knows) {
                Ok(options) => options,
                Err(error) => return Ok(Err(error.to_string())),
            };
            let closed = options.closed.clone();
            let stays = |words: &str| {
                let said = |place: &PathBuf| format!("{NOT_CLOSED}{}: ", place.display());
                closed.iter().find(|place| words.starts_with(&said(place))).cloned()
            };
            match waiting.tell(options, request)? {
                Attempt::Runs(child, channel, listener) => {
                    let end = End::Namespace(first_inside(child.id()));
                    if let (Some(listener), Network::Hosts(hosts)) = (listener, &request.network) {
                        let (rules, egress) = (settings.hosts.clone(), settings.egress.clone());
                        let (proxy, heard) = Proxy::start(listener, hosts, rules, egress)
                            .map_err(|error| start_error(&request.program, error))?;
                        after.proxy = Some(proxy);
                        after.heard = Some(heard);
                    }
                    let child = Running::adopt(*child, channel, end, after, Arc::clone(launcher));
                    return Ok(Ok(child.map_err(|error| start_error(&request.program, error))?));
                }
                Attempt::Exchanged(words) => return Ok(Err(words)),
                Attempt::Broke(words) if words.contains("--disable-userns") => {
                    if !self.knows_disable.swap(false, Ordering::Relaxed) {
                        return Err(Failure::Setup(doctor::explain(&words)));
                    }
                    waiting = call()?;
                }
                Attempt::Broke(words) if NO_FOLDERS.iter().any(|it| words.starts_with(it)) => {
                    self.knows_folders.store(false, Ordering::Relaxed);
                    waiting = call()?;
                }
                Attempt::Broke(words) if NOT_OUTSIDE.iter().any(|it| words.starts_with(it)) => {
                    self.can_close.store(false, Ordering::Relaxed);
                    waiting = call()?;
                }
                Attempt::Broke(words) if let Some(place) = stays(&words) => {
                    open().insert(place);
                    waiting = call()?;
                }
                // What lies in a project must not lead to weaker walls.
                Attempt::Broke(words) if doctor::probe().is_ok() => return Ok(Err(words)),
                Attempt::Broke(words) => return Err(Failure::Setup(doctor::explain(&words))),
            }
        }
    }
}

/// Looks at what the command must not touch, and holds it.
fn prepare(request: &Request, settings: &Settings) -> Result<(After, Mounts), Failure> {
    let barred = Mounts::find(request, settings)?;
    let mut after = After::default();
    let writable = request.writable();
    if !writable.is_empty() {
        let user = settings.user.at(request.home.as_deref());
        after = After::watch(&writable, Some(&user), settings.notice.clone());
        let stubs = Stubs::new(&settings.state);
        for (root, nested) in after.nested.iter().filter(|(root, _)| root.is_dir()) {
            let hold = stubs.hold(root, nested)?;
            if !hold.more.is_empty() {
                after.snapshots.push(Snapshot::of(root, hold.more.clone())?);
            }
            let links = barred.found.links.iter().filter(|link| link.starts_with(root));
            let links: Vec<PathBuf> = links.cloned().collect();
            if !links.is_empty() {
                after.snapshots.push(Snapshot::of(root, links)?);
            }
            let linked = Linked::find(root, &hold.present)?;
            after.linked.extend(linked.map(|linked| (root.clone(), linked)));
            after.holds.push(hold);
        }
        after.unfinished = Some(Unfinished::begin(&settings.state, &after)?);
    }
    // The stubs that protect names are among what it shows.
    after.mirror = Mirror::of(request, &settings.state, &after.holds, &barred.found.kept)?;
    after.disks.extend(request.private());
    after.memory = Some(request.limits.memory);
    after.notice.clone_from(&settings.notice);
    Ok((after, barred))
}

/// The sockets of other programs in what the command sees; a walk that was made is not made again.
fn sockets(request: &Request, after: &After) -> Vec<PathBuf> {
    let walked = |root: &PathBuf| after.nested.iter().find(|(walked, _)| walked == root);
    let near = |root: &PathBuf| match walked(root) {
        Some((_, nested)) => nested.sockets.clone(),
        None => view::sockets_near(root),
    };
    let mut found: BTreeSet<PathBuf> = request.roots.iter().flat_map(near).collect();
    found.extend(view::sockets_listed(&request.roots));
    found.into_iter().collect()
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
    /// Something else was found than was meant.
    Exchanged(String),
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
    /// The numbers under which it has the roots.
    roots: BTreeMap<PathBuf, RawFd>,
}

impl Waiting {
    /// Calls one.
    fn call(
        program: &Path,
        door: Option<&File>,
        request: &Request,
        settings: &Settings,
        launcher: &Launcher,
    ) -> Result<Self, Failure> {
        let helper = open(settings.helper.path(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        let helper = helper.map_err(|error| {
            let path = settings.helper.path().display();
            SandboxError::Refused(format!("the helper {path} cannot be used: {error}"))
        })?;
        Self::begin(program, helper, door, request, launcher)
            .map_err(|error| start_error(&request.program, error).into())
    }

    fn begin(
        program: &Path,
        helper: OwnedFd,
        door: Option<&File>,
        request: &Request,
        launcher: &Launcher,
    ) -> io::Result<Self> {
        let (status, told) = io::pipe()?;
        let (awaited, options) = io::pipe()?;
        let (channel, theirs) = Line::split(Line::open(request.channel)?);
        let mut handed = Descriptors::default();
        let plan = handed.add_empty(helper::PLAN)?;
        handed.add(helper::STATUS, told.into());
        handed.add_channel(theirs);
        let mut proxy = None;
        if let Network::Hosts(_) = request.network {
            let (ours, theirs) = UnixStream::pair()?;
            handed.add(helper::PROXY, theirs.into());
            proxy = Some(ours);
        }
        if let Some(door) = door {
            handed.add(helper::GROUP, door.try_clone()?.into());
        }
        let mut command = launch::command(program, request.stdin);
        command
            .args(["--args", &awaited.as_raw_fd().to_string(), "--"])
            .args([INSIDE, HELPER_COMMAND, helper::BECOME])
            .args(&handed.words)
            .kill_on_drop(true);
        let number = helper.as_raw_fd();
        handed.inherited.extend([OwnedFd::from(awaited), helper]);
        let mut roots = BTreeMap::new();
        for path in &request.roots {
            // One that is there no more is missed when it is to be mounted.
            if let Ok(folder) = held::folder(path) {
                roots.insert(path.clone(), folder.as_raw_fd());
                handed.inherited.push(folder);
            }
        }
        let started = launcher.begin(command, handed.inherited)?;
        Ok(Self { started, options, plan, status, channel, proxy, helper: number, roots })
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
            Outcome::Failed(words) if words.starts_with(EXCHANGED) => {
                Ok(Attempt::Exchanged(format!("the helper {words}")))
            }
            Outcome::Failed(words) => {
                Err(SandboxError::Refused(format!("the helper {words}")).into())
            }
            Outcome::Silent => Ok(Attempt::Broke(last_words(&mut child))),
        }
    }
}

/// Why bubblewrap itself could not be started. Where that lies with its file, another rung may do.
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

/// What a failed bubblewrap said; it has closed its streams.
fn last_words(child: &mut tokio::process::Child) -> String {
    let words = child
        .stderr
        .take()
        .and_then(|stderr| stderr.into_owned_fd().ok())
        .and_then(|stderr| io::read_to_string(std::fs::File::from(stderr)).ok())
        .unwrap_or_default();
    words.trim().to_owned()
}

fn plan(request: &Request, expected: Expected) -> Result<Plan, String> {
    let mut env = request.env.clone();
    let home = request.home.as_deref().unwrap_or(Path::new("/tmp"));
    let home = home.to_string_lossy().into_owned();
    env.entry("HOME".to_owned()).or_insert(home);
    env.insert("TMPDIR".to_owned(), "/tmp".to_owned());
    if let Network::Hosts(hosts) = &request.network {
        env.extend(proxy::variables(hosts));
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
        walls: Walls::Inner,
        limits: request.limits,
        read: vec![PathBuf::from("/")],
        write,
        devices: Vec::new(),
        expected,
        filter: walls::filter(Walls::Inner, &request.network, request.access)?,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::ffi::OsStrExt;

    use contract::policy::Access;
    use contract::sandbox::{Channel, Limits, Profile, Spawn, Stdin};

    use super::*;

    fn request(workspace: &Path) -> Request {
        let spawn = Spawn {
            program: PathBuf::from("true"),
            args: Vec::new(),
            cwd: workspace.to_owned(),
            stdin: Stdin::Null,
            channel: Channel::None,
            env: BTreeMap::new(),
            home: None,
        };
        let profile = Profile {
            workspace: workspace.to_owned(),
            access: Access::Workspace,
            read: Vec::new(),
            write: Vec::new(),
            own: Vec::new(),
            fixed: Vec::new(),
            network: Network::None,
            env: BTreeMap::new(),
            limits: Limits::default(),
        };
        Request::check(&spawn, &profile, None, &crate::led::Writable::default()).unwrap()
    }

    const KNOWS: Knows = Knows { disable: true, close: true, open: BTreeSet::new() };

    fn settings(base: &Path, helper: &str) -> Settings {
        Settings {
            helper: crate::Helper::file(std::fs::canonicalize(helper).unwrap()),
            state: base.join("state"),
            user: crate::User::default(),
            rung: None,
            notice: None,
            egress: None,
            rules: None,
            hosts: None,
        }
    }

    #[tokio::test]
    async fn nothing_is_made_where_a_link_leads_that_took_the_place_of_a_root() {
        if doctor::probe().is_err() {
            return;
        }
        for knows_folders in [true, false] {
            let base = tempfile::tempdir().unwrap();
            let base = std::fs::canonicalize(base.path()).unwrap();
            let (work, other) = (base.join("work"), base.join("other"));
            for folder in ["work/deep/.vscode", "other/deep"] {
                std::fs::create_dir_all(base.join(folder)).unwrap();
            }
            let (settings, request) = (settings(&base, "/bin/true"), request(&work));
            let (program, launcher) = (find().unwrap(), Launcher::new().unwrap());
            let (after, barred) = prepare(&request, &settings).unwrap();
            let waiting = Waiting::call(&program, None, &request, &settings, &launcher).unwrap();
            let held = if knows_folders { waiting.roots.clone() } else { BTreeMap::new() };
            let handed = (waiting.helper, held);
            let options = Options::of(&request, (&after, &barred), handed, &KNOWS).unwrap();
            std::fs::rename(&work, base.join("aside")).unwrap();
            std::os::unix::fs::symlink(&other, &work).unwrap();
            assert!(!matches!(waiting.tell(options, &request), Ok(Attempt::Runs(..))));
            let count = |name: &str| std::fs::read_dir(base.join(name)).unwrap().count();
            assert_eq!((count("other"), count("other/deep")), (1, 0), "{knows_folders}");
        }
    }

    #[test]
    fn nothing_is_mounted_in_a_root_before_the_outside_is_closed() {
        let base = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(base.path()).unwrap();
        let work = base.join("work");
        for folder in ["work/a/b/.vscode", "work/inner/own", "apart"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        std::fs::write(work.join("a/b/.vscode/tasks.json"), "{}").unwrap();
        let mut request = request(&work);
        request.roots.push(work.join("inner"));
        request.own = vec![base.join("apart"), work.join("inner/own")];
        let (after, barred) = prepare(&request, &settings(&base, "/bin/true")).unwrap();
        let held = request.roots.iter().cloned().zip(7..).collect();
        let options = Options::of(&request, (&after, &barred), (3, held), &KNOWS).unwrap();
        let words: Vec<&[u8]> = options.bytes.split(|&byte| byte == 0).collect();
        let closed = words.iter().rposition(|word| word.starts_with(b"/../oldroot")).unwrap();
        assert_eq!(words[closed - 1], b"--remount-ro");
        // Where something is mounted follows what is.
        let within = [work.as_os_str().as_bytes(), b"/"].concat();
        let is_deep =
            |words: &[&[u8]]| words[0].starts_with(b"--") && words[2].starts_with(&within);
        let mounted: Vec<&[u8]> = words
            .windows(3)
            .enumerate()
            .filter(|(_, it)| is_deep(it))
            .map(|(at, it)| {
                assert!(closed < at, "{}", String::from_utf8_lossy(it[2]));
                it[2]
            })
            .collect();
        for path in ["a", "a/b", "a/b/.vscode", "inner", "inner/own"] {
            assert!(mounted.contains(&work.join(path).as_os_str().as_bytes()), "{path}");
        }
    }

    #[tokio::test]
    async fn where_the_end_of_its_options_is_missing_bubblewrap_runs_nothing() {
        let base = tempfile::tempdir().unwrap();
        let workspace = base.path().join("work");
        std::fs::create_dir_all(workspace.join(".git")).unwrap();
        // Says what it is told whenever it is run.
        let settings = settings(base.path(), "/bin/echo");
        // Not every machine lets it work.
        if doctor::probe().is_err() {
            return;
        }
        let (program, launcher) = (find().unwrap(), Launcher::new().unwrap());
        let request = request(&workspace);
        let (after, barred) = prepare(&request, &settings).unwrap();
        let mut left = 0;
        loop {
            let waiting = Waiting::call(&program, None, &request, &settings, &launcher).unwrap();
            let handed = (waiting.helper, waiting.roots.clone());
            let options = Options::of(&request, (&after, &barred), handed, &KNOWS).unwrap();
            let mut words = options.bytes.split_inclusive(|&byte| byte == 0).collect::<Vec<_>>();
            if left > words.len() {
                break;
            }
            words.truncate(words.len() - left);
            launch::send(waiting.options, &words.concat()).unwrap();
            let said = waiting.started.child().unwrap().wait_with_output().await.unwrap().stdout;
            let was_run = String::from_utf8_lossy(&said).contains(helper::BECOME);
            assert_eq!(was_run, left == 0, "{left} words are missing");
            left += 1;
        }
    }
}
