//! A hook that does nothing: asked about a call, against the same command started by hand, in the
//! sandbox and without one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::files::surroundings::Surroundings;
use contract::hook::{CallView, Hook, HookContext};
use contract::id::{CallId, SessionId};
use contract::policy::{Decision, Mode};
use contract::sandbox::{Access, Channel, Limits, Network, Profile, Sandbox, Spawn, Stdin};
use contract::trust_check::TrustCheck;
use plugins::hooks::{HookHost, Ledger, Reported, Settings, Sources, load};
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::runtime::Runtime;

use crate::job::command;
use crate::report::{Aim, Report, Row, Unit, median, milliseconds};

const RUNS: usize = 200;
const SHELL: &str = "/bin/sh";
const HOOKS: &str =
    "hooks:\n  pre_tool_use:\n    - {name: nothing, type: command, command: 'true'}\n";

/// Measures it.
pub(crate) fn measure(report: &mut Report) {
    let rig = Rig::new();
    let hook = rig.hook();
    let context = HookContext {
        session: SessionId::parse("bench").expect("a name"),
        cwd: rig.path("work"),
        within: None,
    };
    let (id, args) = (CallId("bench".to_owned()), json!({"command": "true"}));
    let call = CallView {
        id: &id,
        tool: "Bash",
        args: &args,
        original: &args,
        actions: &[],
        decision: Decision::Allow,
    };
    let sandbox = rig.sandbox();
    let (mut figures, mut confined, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let started = Instant::now();
        let asked = hook.before_tool(&context, call);
        rig.runtime.block_on(asked).expect("a hook that lets it run");
        figures.push(started.elapsed());
        confined.push(rig.runtime.block_on(by_hand(sandbox.as_ref(), &rig.profile())));
        bare.push(plain());
    }
    let (figure, confined, bare) =
        (milliseconds(median(figures)), milliseconds(median(confined)), milliseconds(median(bare)));
    let row = |what: &str, limit, aim| Row {
        what: what.to_owned(),
        unit: Unit::Milliseconds,
        figure,
        limit: Some(limit),
        aim,
    };
    let what = "command hook that does nothing, against the same command in the same sandbox";
    report.add(row(what, confined, Aim::Ratio(1.3)));
    let what = "command hook that does nothing, against a bare spawn of the same command";
    report.add(row(what, bare, Aim::Nothing));
}

struct Rig {
    directory: tempfile::TempDir,
    runtime: Runtime,
}

impl Rig {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["work", "home", "config"] {
            fs::create_dir(directory.path().join(name)).expect("a directory");
        }
        fs::write(directory.path().join("config/hooks.yaml"), HOOKS).expect("a file");
        Self { directory, runtime: runtime.expect("one") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn sandbox(&self) -> Arc<dyn Sandbox> {
        sandbox::strongest(sandbox::Settings {
            helper: crate::helper(),
            state: self.path("sandbox"),
            home: Some(self.path("home")),
            backend: None,
            notice: None,
            on_proxy_request: None,
            rules: None,
            hosts: None,
            host_env: std::collections::BTreeMap::new(),
            tracker: None,
            signs_commits: false,
        })
    }

    fn profile(&self) -> Profile {
        Profile {
            workspace: self.path("work"),
            access: Access::ReadOnly,
            read: Vec::new(),
            write: Vec::new(),
            own: Vec::new(),
            fixed: Vec::new(),
            network: Network::None,
            env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            limits: Limits::default(),
        }
    }

    fn hook(&self) -> Arc<dyn Hook> {
        let surroundings = Surroundings {
            workspace: self.path("work"),
            cwd: self.path("work"),
            env: BTreeMap::new(),
            variables: BTreeMap::new(),
            home: Some(self.path("home")),
        };
        let host = HookHost {
            sandbox: self.sandbox(),
            is_confined: true,
            surroundings,
            profile: self.profile(),
            data: self.path("config/plugin-data"),
            notice: Arc::new(|text| panic!("{text}")),
            reported: Reported::default(),
            trust: TrustCheck::default(),
        };
        let settings = Settings {
            host,
            mode: Mode::Normal,
            config_dir: Some(self.path("config")),
            python: None,
            ask: None,
            ledger: Arc::new(Ledger::default()),
        };
        let global = Some(self.path("config/hooks.yaml"));
        let sources = Sources { global, project: None, plugins: &[], offers: Vec::new() };
        let mut loaded = load(sources, settings);
        assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
        loaded.hooks.pop().expect("a hook")
    }
}

/// Starts the command in the sandbox and reads it to its end.
async fn by_hand(sandbox: &dyn Sandbox, profile: &Profile) -> Duration {
    let spawn = Spawn {
        program: PathBuf::from(SHELL),
        args: vec!["-c".into(), "true".into()],
        cwd: profile.workspace.clone(),
        stdin: Stdin::Piped,
        channel: Channel::None,
        env: BTreeMap::new(),
        home: None,
    };
    let started = Instant::now();
    let mut child = sandbox.start(&spawn, profile).expect("a process");
    drop(child.stdin.take());
    let mut output = Vec::new();
    child.stdout.read_to_end(&mut output).await.expect("its end");
    child.process.wait().await.expect("an end");
    child.process.kill();
    started.elapsed()
}

/// Starts the command without anything around it.
fn plain() -> Duration {
    let started = Instant::now();
    let mut command = command(Path::new(SHELL));
    command.args(["-c", "true"]).stdin(Stdio::null()).stdout(Stdio::null());
    assert!(command.status().expect("a process").success());
    started.elapsed()
}
