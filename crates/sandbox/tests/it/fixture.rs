//! A world to attack: a home with secrets, a workspace, a host beside it; and the means to run a
//! script in it, confined and unconfined.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use contract::sandbox::{
    Access, Channel, Child, Exit, Limits, Network, Profile, Sandbox, SandboxError, Spawn, Stdin,
};
use sandbox::{Backend, Settings};
use tokio::io::AsyncReadExt;

pub(crate) const HELPER: &str = env!("CARGO_BIN_EXE_confine-helper");
/// The sandboxes of this machine; missing ones are skipped with a notice.
pub(crate) fn backends() -> Vec<Backend> {
    static USABLE: OnceLock<Vec<Backend>> = OnceLock::new();
    let examine = || {
        let world = World::new();
        let reports = sandbox::doctor(&world.settings(None));
        reports.into_iter().filter(|report| report.usable.is_ok()).map(|it| it.backend).collect()
    };
    let usable = USABLE.get_or_init(|| std::thread::spawn(examine).join().unwrap());
    let known = [Backend::Bubblewrap, Backend::Landlock];
    for backend in known.into_iter().filter(|backend| !usable.contains(backend)) {
        skip(&format!("{backend} does not work on this machine"));
    }
    known.into_iter().filter(|backend| usable.contains(backend)).collect()
}

/// Returns true if this machine has bubblewrap; prints a notice if not.
pub(crate) fn has_bubblewrap() -> bool {
    backends().contains(&Backend::Bubblewrap)
}
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) struct World {
    directory: tempfile::TempDir,
    pub(crate) home: PathBuf,
    pub(crate) work: PathBuf,
    pub(crate) notices: Arc<Mutex<Vec<String>>>,
    pub(crate) profile: Profile,
    host: Option<Host>,
}

struct Host {
    child: std::process::Child,
}

#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) exit: Exit,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The sandbox that a script runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Open,
    Confined(Backend),
}

impl World {
    /// A home with secrets and an empty workspace in it.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(directory.path()).unwrap();
        let home = base.join("home");
        let work = home.join("work");
        for name in [
            "outside",
            "run",
            "work",
            ".ssh",
            ".aws",
            ".config/agent/plugins",
            ".local/bin",
            ".cargo/bin",
        ] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        fs::create_dir(base.join("tools")).unwrap();
        for (name, text) in [
            ("outside/canary.txt", "original"),
            (".ssh/id_ed25519", "SECRET-KEY"),
            (".aws/credentials", "SECRET-AWS"),
            (".cargo/credentials.toml", "SECRET-CARGO"),
            (".bashrc", "# shell"),
            (".local/bin/git-x", "tool"),
        ] {
            fs::write(home.join(name), text).unwrap();
        }
        fs::write(base.join("tmp_canary"), "original").unwrap();
        let probe = base.join("tools/sysprobe.py");
        fs::write(&probe, include_str!("../../../brynhild/tests/it/probes/sysprobe.py")).unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let env = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME", text(&home)),
            ("REAL", text(&home)),
            ("C", text(&home.join("outside/canary.txt"))),
            ("W", text(&work)),
            ("SP", format!("{} {}", text(&python()), text(&probe))),
            ("LANG", "C.UTF-8".to_owned()),
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
        ];
        let profile = Profile {
            workspace: work.clone(),
            access: Access::Workspace,
            read: vec![base.join("tools")],
            write: Vec::new(),
            own: Vec::new(),
            fixed: Vec::new(),
            network: Network::None,
            env: env.map(|(name, value)| (name.to_owned(), value)).into(),
            limits: Limits::default(),
        };
        let notices = Arc::default();
        Self { directory, home, work, notices, profile, host: None }
    }

    /// Like `new`, with a committed git repository as the workspace.
    pub(crate) fn with_git() -> Self {
        let world = Self::new();
        let script = "git init -q -b main . && git config user.email a@b.c && \
                      git config user.name a && echo x > a.txt && git add . && git commit -qm a";
        assert!(host_shell(&world, script).status.success());
        world
    }

    /// Starts the host's sockets, ports and secrets.
    pub(crate) fn start_host(&mut self) {
        let name = format!("brynhild-{}", self.directory.path().display()).replace('/', "-");
        let mut child = plain(&python())
            .args(["-c", include_str!("../../../brynhild/tests/it/probes/hostd.py")])
            .args([self.home.join("run"), self.work.clone(), PathBuf::from(&name)])
            .arg(self.base().join("agent.sock"))
            .env_clear()
            .env("VICTIM_SECRET", "SECRET-ENVIRONMENT")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let numbers: Vec<&str> = line.split_whitespace().collect();
        for (key, value) in ["VPID", "TCP", "UDP", "SHM"].into_iter().zip(numbers) {
            self.profile.env.insert(key.to_owned(), value.to_owned());
        }
        self.profile.env.insert("NAME".to_owned(), name);
        self.host = Some(Host { child });
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.home.parent().unwrap().to_owned()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.base().join("state")
    }

    pub(crate) fn settings(&self, backend: Option<Backend>) -> Settings {
        let ear = Arc::clone(&self.notices);
        Settings {
            helper: HELPER.into(),
            state: self.state(),
            home: Some(self.home.clone()),
            backend,
            notice: Some(Arc::new(move |words| ear.lock().unwrap().push(words))),
            on_proxy_request: None,
            rules: None,
            hosts: None,
            host_env: BTreeMap::from([("OUTSIDE".to_owned(), "yes".to_owned())]),
            tracker: None,
            signs_commits: false,
        }
    }

    pub(crate) fn sandbox(&self, mode: Mode) -> Arc<dyn Sandbox> {
        match mode {
            Mode::Open => sandbox::unconfined(self.settings(None)),
            Mode::Confined(backend) => sandbox::strongest(self.settings(Some(backend))),
        }
    }

    pub(crate) fn spawn(&self, script: &str) -> Spawn {
        Spawn {
            program: PathBuf::from("/bin/bash"),
            args: vec![OsString::from("-c"), OsString::from(script)],
            cwd: self.work.clone(),
            stdin: Stdin::Null,
            channel: Channel::None,
            env: BTreeMap::new(),
            home: None,
        }
    }

    pub(crate) fn start(&self, mode: Mode, script: &str) -> Result<Child, SandboxError> {
        self.sandbox(mode).start(&self.spawn(script), &self.profile)
    }

    pub(crate) async fn run(&self, mode: Mode, script: &str) -> Output {
        collect(self.start(mode, script).unwrap()).await
    }

    /// Everything outside of the workspace, to see whether it changed.
    pub(crate) fn surroundings(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        walk(&self.base(), &mut found, &[self.work.clone(), self.state()]);
        found
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // A tracer may have left it stopped.
        let id = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(id) = id {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::CONT);
        }
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn walk(path: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>, skipped: &[PathBuf]) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if skipped.contains(&path) {
            continue;
        }
        if kind.is_dir() {
            walk(&path, found, skipped);
        } else if kind.is_file() {
            found.insert(path.clone(), fs::read(path).unwrap_or_default());
        } else {
            found.insert(path, Vec::new());
        }
    }
}

/// Reads both streams to their ends and waits.
pub(crate) async fn collect(mut child: Child) -> Output {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let work = async {
        let (out, err) = tokio::join!(
            child.stdout.read_to_end(&mut stdout),
            child.stderr.read_to_end(&mut stderr)
        );
        out.unwrap();
        err.unwrap();
        child.process.wait().await.unwrap()
    };
    let exit = tokio::time::timeout(PATIENCE, work).await.expect("the command ends");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Output { exit, stdout: text(stdout), stderr: text(stderr) }
}

/// Runs a script on the host, beside any sandbox.
pub(crate) fn host_shell(world: &World, script: &str) -> std::process::Output {
    plain(Path::new("/bin/bash"))
        .args(["-c", script])
        .current_dir(&world.work)
        .env_clear()
        .envs(&world.profile.env)
        .output()
        .unwrap()
}

pub(crate) fn python() -> PathBuf {
    ["/usr/bin/python3", "/usr/local/bin/python3"]
        .map(PathBuf::from)
        .into_iter()
        .find(|path| path.exists())
        .expect("the tests need a system-wide python3")
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Says on the real standard error what was not tested.
pub(crate) fn skip(what: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}");
}

#[expect(clippy::disallowed_methods, reason = "the host side of the tests")]
pub(crate) fn plain(program: &Path) -> Command {
    Command::new(program)
}
