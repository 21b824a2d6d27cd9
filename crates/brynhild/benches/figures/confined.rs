//! What a confined command costs over a plain one, on each backend of the sandbox that the machine
//! has, with the helper that the shipped program carries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use contract::sandbox::{Access, Channel, Exit, Limits, Network, Profile, Sandbox, Spawn, Stdin};
use sandbox::{Backend, Settings};
use tokio::io::AsyncReadExt;

use crate::report::{Aim, Report, Row, Unit, milliseconds};

const RUNS: usize = 200;

/// What is aimed at, in milliseconds added in the middle.
const BACKENDS: [(Backend, f64); 2] = [(Backend::Bubblewrap, 10.0), (Backend::Landlock, 5.0)];

/// Measures each backend in turns with a plain start.
pub(crate) fn measure(report: &mut Report) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(all(report));
}

async fn all(report: &mut Report) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let home = directory.path().join("home");
    let work = home.join("work");
    std::fs::create_dir_all(work.join(".git")).expect("a workspace");
    let settings = |backend| Settings {
        helper: crate::helper(),
        state: directory.path().join("state"),
        home: Some(home.clone()),
        backend: Some(backend),
        notice: None,
        on_proxy_request: None,
        rules: None,
        hosts: None,
        host_env: std::collections::BTreeMap::new(),
        tracker: None,
        signs_commits: false,
    };
    for (backend, aim) in BACKENDS {
        let reports = sandbox::doctor(&settings(backend));
        if !reports.iter().any(|report| report.backend == backend && report.usable.is_ok()) {
            report.note(format!("{backend} does not work on this machine"));
            continue;
        }
        let sandbox = sandbox::strongest(settings(backend));
        confined(sandbox.as_ref(), &work).await;
        let (mut figures, mut limits) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            figures.push(confined(sandbox.as_ref(), &work).await);
            limits.push(plain(&work));
        }
        figures.sort();
        limits.sort();
        for (name, share, aim) in [("p50", 50, Aim::Figure(aim)), ("p95", 95, Aim::Nothing)] {
            let at = |times: &[Duration]| milliseconds(times[times.len() * share / 100]);
            let row = |what: String, figure, limit, aim| Row {
                what,
                unit: Unit::Milliseconds,
                figure,
                limit,
                aim,
            };
            let (figure, limit) = (at(&figures), at(&limits));
            report.add(row(
                format!("a command in {backend}, {name}, against a plain one"),
                figure,
                Some(limit),
                Aim::Nothing,
            ));
            report.add(row(format!("added by {backend}, {name}"), figure - limit, None, aim));
        }
    }
}

async fn confined(sandbox: &dyn Sandbox, work: &Path) -> Duration {
    let profile = Profile {
        workspace: work.to_owned(),
        access: Access::Workspace,
        read: Vec::new(),
        write: Vec::new(),
        own: Vec::new(),
        fixed: Vec::new(),
        network: Network::None,
        env: BTreeMap::new(),
        limits: Limits::default(),
    };
    let spawn = Spawn {
        program: PathBuf::from("/bin/true"),
        args: Vec::new(),
        cwd: work.to_owned(),
        stdin: Stdin::Null,
        channel: Channel::None,
        env: BTreeMap::new(),
        home: None,
    };
    let start = Instant::now();
    let mut child = sandbox.start(&spawn, &profile).expect("a backend that works");
    let mut bytes = Vec::new();
    child.stdout.read_to_end(&mut bytes).await.expect("a stream that ends");
    assert!(child.process.wait().await.is_ok_and(Exit::is_success));
    start.elapsed()
}

#[expect(clippy::disallowed_methods, reason = "the plain start that the others are compared with")]
fn plain(work: &Path) -> Duration {
    let start = Instant::now();
    let output = std::process::Command::new("/bin/true").current_dir(work).output();
    assert!(output.is_ok_and(|output| output.status.success()));
    start.elapsed()
}
