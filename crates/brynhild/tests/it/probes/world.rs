//! A world to attack: a home with secrets, a workspace, a host beside it; and the ways to run a
//! script in it, plainly and through the program, for each user and on each backend.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, Weak};

use serde_json::{Value, json};
use tempfile::TempDir;

/// An id that no account has.
const ORDINARY: u32 = 47113;

/// The user that attacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum User {
    /// The user that runs the tests.
    Same,
    /// An unprivileged user, if root runs the tests.
    Ordinary,
}

/// By which confinement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backend {
    Bubblewrap,
    Landlock,
}

/// By which command of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    Run,
    Tool,
}

/// The place in which a script runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) backend: Backend,
    pub(super) door: Door,
}

pub(super) struct World {
    _directory: TempDir,
    pub(super) base: PathBuf,
    pub(super) home: PathBuf,
    pub(super) work: PathBuf,
    user: User,
    variables: BTreeMap<String, String>,
    host: Option<std::process::Child>,
    shipped: Arc<Shipped>,
}

impl World {
    pub(super) fn new(user: User) -> Self {
        let directory = tempfile::Builder::new().prefix("brynhild-probe-").tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let base = fs::canonicalize(directory.path()).unwrap();
        let (home, work, tools) = (base.join("home"), base.join("home/work"), base.join("tools"));
        for name in ["outside", "run", "work", ".ssh", ".aws", ".config/brynhild/plugins"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        for name in [".local/bin", ".cargo/bin"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        for path in [&tools, &base.join("tmp")] {
            fs::create_dir(path).unwrap();
        }
        let config = format!("sandbox:\n  read_paths: ['{}']\n", tools.display());
        for (name, text) in [
            ("outside/canary.txt", "original"),
            (".ssh/id_ed25519", "SECRET-KEY"),
            (".aws/credentials", "SECRET-AWS"),
            (".cargo/credentials.toml", "SECRET-CARGO"),
            (".cargo/config.toml", "[registry]\ntoken = \"SECRET-CARGO-CONFIG\"\n"),
            (".gem/credentials", "SECRET-GEM"),
            (".gem/ruby/3.4.0/x", "tool"),
            (".local/share/uv/credentials/credentials.toml", "SECRET-UV"),
            (".dotnet/corefx/cryptography/x509stores/my/a.pfx", "SECRET-DOTNET"),
            (".nvm/versions/node/v22.1.0/etc/npmrc", "//r.test/:_authToken=SECRET-NPM\n"),
            (".nvm/versions/node/v22.1.0/bin/node", "tool"),
            ("miniconda3/.condarc", "channels: [https://c.test/t/SECRET-CONDA/x]\n"),
            ("miniconda3/bin/conda", "tool"),
            (".bashrc", "# shell"),
            (".local/bin/git-x", "tool"),
            (".config/brynhild/config.yaml", config.as_str()),
        ] {
            fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
            fs::write(home.join(name), text).unwrap();
        }
        for name in ["tmp_canary", "inherited"] {
            fs::write(base.join(name), "original").unwrap();
        }
        symlink(home.join("outside/canary.txt"), work.join("planted_link")).unwrap();
        symlink(home.join("outside"), work.join("planted_dir")).unwrap();
        fs::write(tools.join("sysprobe.py"), include_str!("sysprobe.py")).unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let variables = BTreeMap::from([
            ("REAL".to_owned(), text(&home)),
            ("BASE".to_owned(), text(&base)),
            ("C".to_owned(), text(&home.join("outside/canary.txt"))),
            ("W".to_owned(), text(&work)),
            ("SP".to_owned(), format!("{} {}/sysprobe.py", python(), text(&tools))),
        ]);
        let shipped = Shipped::shared();
        let world =
            Self { _directory: directory, base, home, work, user, variables, host: None, shipped };
        world.give_away();
        world
    }

    /// Like `new`, with a committed git repository as the workspace.
    pub(super) fn with_git(user: User) -> Self {
        let world = Self::new(user);
        let made = world.plainly(
            "git init -q -b main . && git config user.email a@b.c && git config user.name a && \
             echo x > a.txt && git add a.txt && git commit -qm a",
        );
        assert!(made.status.success(), "{made:?}");
        world
    }

    /// Starts the host's sockets, ports and secrets.
    pub(super) fn start_host(&mut self) {
        let name = format!("brynhild{}", self.base.display()).replace('/', "-");
        let agent = format!("/tmp/{name}.sock");
        let script = include_str!("hostd.py");
        let mut words = self.as_user();
        words.extend([python(), "-c".to_owned(), script.to_owned()]);
        words.extend([self.text("run"), self.text("work"), name.clone(), agent.clone()]);
        let mut child = plain(&words)
            .env_clear()
            .env("VICTIM_SECRET", "SECRET-ENVIRONMENT")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let numbers: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(numbers.len(), 4, "the host did not start");
        for (key, value) in ["VPID", "TCP", "UDP", "SHM"].into_iter().zip(numbers) {
            self.variables.insert(key.to_owned(), value.to_owned());
        }
        self.variables.insert("NAME".to_owned(), name);
        self.variables.insert("AGENT".to_owned(), agent);
        self.host = Some(child);
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// Runs `script` without a sandbox, as the same user.
    pub(super) fn plainly(&self, script: &str) -> Output {
        let script = format!("{}\n{}{script}", self.leak(), self.prelude());
        let mut words = self.as_user();
        words.extend(["/bin/bash".to_owned(), "-c".to_owned(), script]);
        self.environment(&mut plain(&words)).env("TMPDIR", self.base.join("tmp")).output().unwrap()
    }

    /// Runs `script` through the program.
    pub(super) fn confined(&self, place: Place, script: &str) -> Output {
        self.command(place, script).output().unwrap()
    }

    /// The program, about to run `script`.
    pub(super) fn command(&self, place: Place, script: &str) -> Command {
        let script = self.prelude() + script;
        let words = match place.door {
            Door::Run => {
                ["sandbox", "run", "--", "/bin/bash", "-c", &script].map(str::to_owned).into()
            }
            Door::Tool => {
                // The policy would deny some of these commands; here the sandbox is tested.
                fs::write(self.work.join("attack.sh"), script).unwrap();
                let input = json!({ "command": "bash attack.sh", "timeout": 120_000 }).to_string();
                let words = ["tools", "exec", "Bash", "--mode", "yolo", "--input"];
                [words.map(str::to_owned).as_slice(), &[input]].concat()
            }
        };
        self.program(place.backend, &words)
    }

    /// The program with these arguments, on `backend`.
    pub(super) fn program(&self, backend: Backend, words: &[String]) -> Command {
        let mut line = without(backend);
        line.extend(self.as_user());
        let leak = format!("{}; exec \"$@\"", self.leak());
        line.extend(["/bin/bash", "-c", &leak, "bash"].map(str::to_owned));
        line.push(self.shipped.path.to_str().unwrap().to_owned());
        line.extend(words.iter().cloned());
        let mut command = plain(&line);
        self.environment(&mut command);
        command
    }

    /// Runs `script` through the program with a workspace on a disk of 64 megabytes. Only root can.
    pub(super) fn on_a_small_disk(&self, place: Place, script: &str) -> Output {
        self.after_mounting("mount -t tmpfs -o size=64m none . && cd \"$PWD\"", place, script)
    }

    /// Runs `script` through the program after mounts that only it sees. Only root can.
    pub(super) fn after_mounting(&self, mounts: &str, place: Place, script: &str) -> Output {
        self.mounted(mounts, &self.command(place, script))
    }

    /// Runs a command after such mounts.
    pub(super) fn mounted(&self, mounts: &str, command: &Command) -> Output {
        let mounts = format!("{mounts} && exec \"$@\"");
        let mut words: Vec<String> =
            ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", &mounts, "sh"]
                .map(str::to_owned)
                .into();
        let inner = std::iter::once(command.get_program()).chain(command.get_args());
        words.extend(inner.map(|word| word.to_str().unwrap().to_owned()));
        self.environment(&mut plain(&words)).output().unwrap()
    }

    /// Keeps the program from writing down which directories it has looked at, as it does whenever one
    /// has come to rest: what changes in the home is then the attack's doing.
    pub(super) fn freeze_caches(&self) {
        let cache = self.home.join(".config/brynhild/cache");
        fs::create_dir_all(cache.join("directories.json")).unwrap();
        fs::write(cache.join("directories.json/in-the-way"), "original").unwrap();
        self.give_away();
    }

    /// Everything outside of the workspace, to see what changed.
    pub(super) fn surroundings(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        walk(&self.base, &mut found, &self.work);
        found
    }

    fn environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .current_dir(&self.work)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", &self.home)
            .env("LANG", "C.UTF-8")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("ANTHROPIC_API_KEY", "SECRET-API-KEY")
            .env("AWS_SESSION_TOKEN", "SECRET-TOKEN")
            .env("SSH_AUTH_SOCK", self.variables.get("AGENT").map_or("/none", String::as_str))
            .stdin(Stdio::null())
    }

    /// A careless parent leaves a descriptor open.
    fn leak(&self) -> String {
        format!("exec 9>>'{}/inherited'", self.base.display())
    }

    fn prelude(&self) -> String {
        let exports = self.variables.iter().map(|(name, value)| format!("{name}='{value}'\n"));
        exports.collect()
    }

    fn text(&self, name: &str) -> String {
        self.home.join(name).to_str().unwrap().to_owned()
    }

    fn as_user(&self) -> Vec<String> {
        if self.user == User::Same {
            return Vec::new();
        }
        let id = |flag: &str| format!("--{flag}={ORDINARY}");
        let words = ["--clear-groups".to_owned(), "--inh-caps=-all".to_owned(), "--".to_owned()];
        [vec!["/usr/bin/setpriv".to_owned(), id("reuid"), id("regid")], words.to_vec()].concat()
    }

    /// Makes all of it the ordinary user's.
    fn give_away(&self) {
        if self.user == User::Ordinary {
            give(&self.base);
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(mut child) = self.host.take() {
            // A tracer may have left it stopped.
            let id = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
            let _ = id.map(|id| rustix::process::kill_process(id, rustix::process::Signal::CONT));
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

/// The users that this machine lets the tests be.
pub(super) fn users() -> Vec<User> {
    if !rustix::process::geteuid().is_root() {
        skip("attacks by root: the tests run as an ordinary user");
        return vec![User::Same];
    }
    if Path::new("/usr/bin/setpriv").exists() {
        return vec![User::Same, User::Ordinary];
    }
    skip("attacks by an ordinary user: setpriv is not installed");
    vec![User::Same]
}

/// Returns true if `backend` works here for `user`; prints a notice if not.
pub(super) fn has(backend: Backend, user: User) -> bool {
    let world = World::new(user);
    let words = ["sandbox", "doctor", "--json"].map(str::to_owned);
    let output = world.program(backend, &words).output().unwrap();
    let reports: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let name = format!("{backend:?}").to_lowercase();
    let is_chosen = |report: &Value| report["backend"] == *name && report["chosen"] == true;
    let has = reports.as_array().is_some_and(|reports| reports.iter().any(is_chosen));
    if !has {
        skip(&format!("{backend:?} as {user:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    has
}

/// Says on the real standard error what was not tested.
pub(super) fn skip(what: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}");
}

pub(super) fn python() -> String {
    let places = ["/usr/bin/python3", "/usr/local/bin/python3"];
    let found = places.into_iter().find(|place| Path::new(place).exists());
    found.expect("the tests need a system-wide python3").to_owned()
}

/// The arguments that hide sandboxes stronger than `backend`.
fn without(backend: Backend) -> Vec<String> {
    const HIDE: &str = "for f in /usr/bin/bwrap /bin/bwrap /usr/local/bin/bwrap; do \
                        [ ! -e $f ] || mount --bind /dev/null $f || exit 125; done; exec \"$@\"";
    if backend == Backend::Bubblewrap {
        return Vec::new();
    }
    let mut words = vec!["/usr/bin/unshare", "--mount"];
    if !rustix::process::geteuid().is_root() {
        words.extend(["--user", "--map-current-user", "--keep-caps"]);
    }
    words.extend(["/bin/sh", "-c", HIDE, "sh"]);
    words.into_iter().map(str::to_owned).collect()
}

/// The shipped program where every user can run it. Its copy goes with the last world.
struct Shipped {
    _directory: Option<TempDir>,
    path: PathBuf,
}

impl Shipped {
    fn shared() -> Arc<Self> {
        static COPY: Mutex<Weak<Shipped>> = Mutex::new(Weak::new());
        let mut copy = COPY.lock().unwrap();
        copy.upgrade().unwrap_or_else(|| {
            let made = Arc::new(Self::new());
            *copy = Arc::downgrade(&made);
            made
        })
    }

    fn new() -> Self {
        let built = Path::new(env!("CARGO_BIN_EXE_brynhild"));
        if !rustix::process::geteuid().is_root() {
            return Self { _directory: None, path: built.to_owned() };
        }
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = directory.path().join("brynhild");
        fs::copy(built, &path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self { _directory: Some(directory), path }
    }
}

#[expect(clippy::disallowed_methods, reason = "the host side of the tests")]
fn plain(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

fn give(path: &Path) {
    let kind = fs::symlink_metadata(path).unwrap().file_type();
    if kind.is_symlink() {
        return;
    }
    chown(path, Some(ORDINARY), Some(ORDINARY)).unwrap();
    if kind.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path());
        }
    }
}

fn walk(path: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>, skipped: &Path) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let path = entry.path();
        if path == skipped {
            continue;
        }
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            walk(&path, found, skipped);
        }
        let mut bytes =
            if kind.is_file() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
        let mode = entry.metadata().unwrap().permissions().mode();
        bytes.extend_from_slice(&mode.to_le_bytes());
        found.insert(path, bytes);
    }
}
