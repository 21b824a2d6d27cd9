//! What a confined start costs over a plain one: `cargo bench -p sandbox [-- RUNG]`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::policy::Access;
use contract::sandbox::{Limits, Network, Profile, Sandbox, Spawn, Stdin};
use sandbox::{Rung, Settings};
use tokio::io::AsyncReadExt;

const ROUNDS: usize = 300;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(measure());
}

async fn measure() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (home, work) = (folder.path().join("home"), folder.path().join("home/work"));
    std::fs::create_dir_all(work.join(".git")).expect("a workspace");
    let settings = |rung| Settings {
        helper: PathBuf::from(env!("CARGO_BIN_EXE_confine-helper")),
        state: folder.path().join("state"),
        home: Some(home.clone()),
        rung,
        notice: None,
    };
    let mut out = std::io::stdout();
    let mut say = |name: &str, times: &[Duration], plain: &[Duration]| {
        let at =
            |times: &[Duration], share: usize| times[times.len() * share / 100].as_secs_f64() * 1e3;
        let _ = writeln!(
            out,
            "{name:<12} p50 {:6.2} ms  p95 {:6.2} ms  added p50 {:6.2} ms  p95 {:6.2} ms",
            at(times, 50),
            at(times, 95),
            at(times, 50) - at(plain, 50),
            at(times, 95) - at(plain, 95),
        );
    };
    let plain = plainly(&work);
    say("plain", &plain, &plain);
    let confined: [(&str, Arc<dyn Sandbox>); 3] = [
        ("none", sandbox::unconfined(settings(None))),
        ("landlock", sandbox::ladder(settings(Some(Rung::Landlock)))),
        ("bubblewrap", sandbox::ladder(settings(Some(Rung::Bubblewrap)))),
    ];
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let is_asked = |name: &str| asked.iter().all(|word| word.starts_with('-') || word == name);
    for (name, sandbox) in confined.into_iter().filter(|(name, _)| is_asked(name)) {
        say(name, &through(sandbox.as_ref(), &work).await, &plain);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the plain start that the others are measured against"
)]
fn plainly(work: &Path) -> Vec<Duration> {
    sorted((0..ROUNDS).map(|_| {
        let start = Instant::now();
        let output = std::process::Command::new("/bin/true").current_dir(work).output();
        assert!(output.is_ok_and(|output| output.status.success()));
        start.elapsed()
    }))
}

async fn through(sandbox: &dyn Sandbox, work: &Path) -> Vec<Duration> {
    let profile = Profile {
        workspace: work.to_owned(),
        access: Access::Workspace,
        read: Vec::new(),
        write: Vec::new(),
        network: Network::None,
        env: BTreeMap::new(),
        limits: Limits::default(),
    };
    let spawn = Spawn {
        program: PathBuf::from("/bin/true"),
        args: Vec::new(),
        cwd: work.to_owned(),
        stdin: Stdin::Null,
        env: BTreeMap::new(),
    };
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut child = sandbox.start(&spawn, &profile).expect("a rung that works");
        let mut bytes = Vec::new();
        child.stdout.read_to_end(&mut bytes).await.expect("a stream that ends");
        assert!(child.process.wait().await.is_ok_and(contract::sandbox::Exit::is_success));
        times.push(start.elapsed());
    }
    sorted(times.into_iter())
}

fn sorted(times: impl Iterator<Item = Duration>) -> Vec<Duration> {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times
}
