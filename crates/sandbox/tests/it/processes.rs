//! How confined processes start, talk, end and die, and what they leave behind.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use contract::sandbox::{Exit, SandboxError, Spawn, Stdin};
use sandbox::{Backend, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fixture::{HELPER, Mode, World, backends, collect, has_bubblewrap, plain, skip};

/// Unconfined, and with each sandbox that this machine has.
pub(crate) fn modes() -> Vec<Mode> {
    [Mode::Open].into_iter().chain(backends().into_iter().map(Mode::Confined)).collect()
}

/// Returns true if a process with `mark` in its command line runs on the machine.
pub(crate) fn runs(mark: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).split('\0').any(|word| word == mark)
    })
}

pub(crate) fn eventually(what: &str, is: impl Fn() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::yield_now();
    }
}

/// The processes that any thread of the process `id` started.
/// A number for `sleep` that no other test uses.
pub(crate) fn mark(world: &World) -> String {
    let name = world.base().to_string_lossy().bytes().fold(7_u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte)) % 1_000_000_007
    });
    format!("{}.{name}", 100_000 + std::process::id())
}

#[tokio::test]
async fn streams_and_exit_codes_are_those_of_the_command() {
    for mode in modes() {
        let world = World::new();
        let output = world.run(mode, "echo out; echo err >&2; exit 7").await;
        assert_eq!(output.exit, Exit::Code(7), "{mode:?}");
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("out\n", "err\n"));
        let output = world.run(mode, "kill -SEGV $$").await;
        assert_eq!(output.exit, Exit::Signal(11), "{mode:?}");
    }
}

#[tokio::test]
async fn a_command_starts_with_no_signal_blocked() {
    for mode in modes() {
        let world = World::new();
        let output = world.run(mode, "exec grep SigBlk /proc/self/status").await;
        assert_eq!(output.stdout, "SigBlk:\t0000000000000000\n", "{mode:?}");
    }
}

#[tokio::test]
async fn standard_input_reaches_the_command() {
    for mode in modes() {
        let world = World::new();
        let spawn = Spawn { stdin: Stdin::Piped, ..world.spawn("cat; echo end") };
        let mut child = world.sandbox(mode).start(&spawn, &world.profile).unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"hello\n").await.unwrap();
        stdin.shutdown().await.unwrap();
        drop(stdin);
        assert_eq!(collect(child).await.stdout, "hello\nend\n", "{mode:?}");
    }
}

#[tokio::test]
async fn missing_program_fails_the_start() {
    for mode in modes() {
        let world = World::new();
        let spawn = Spawn {
            program: PathBuf::from("no-such-program"),
            args: Vec::new(),
            ..world.spawn("")
        };
        match world.sandbox(mode).start(&spawn, &world.profile) {
            Err(SandboxError::Start { program, source }) => {
                assert_eq!(program, "no-such-program");
                assert_eq!(source.kind(), std::io::ErrorKind::NotFound, "{mode:?}");
            }
            other => panic!("{mode:?}: {:?}", other.map(|_| ())),
        }
        assert_eq!(fs::read_dir(&world.work).unwrap().count(), 0, "{mode:?}");
    }
}

#[tokio::test]
async fn program_is_looked_up_inside_the_sandbox() {
    for mode in modes() {
        let world = World::new();
        let spawn = Spawn {
            program: PathBuf::from("echo"),
            args: vec![OsString::from("a b"), OsString::from("$HOME")],
            ..world.spawn("")
        };
        let child = world.sandbox(mode).start(&spawn, &world.profile).unwrap();
        assert_eq!(collect(child).await.stdout, "a b $HOME\n", "{mode:?}");
    }
}

#[tokio::test]
async fn separate_home_persists_and_needs_no_process() {
    for mode in modes().into_iter().filter(|mode| *mode != Mode::Open) {
        let mut world = World::new();
        let data = world.base().join("data");
        fs::create_dir(&data).unwrap();
        fs::create_dir_all(world.home.join(".cargo/bin")).unwrap();
        world.profile.own.push(data.clone());
        let script =
            "echo $$ $HOME; cd; echo x >> .count; cat .count; [ -d .cargo/bin ] && echo shared";
        let spawn = Spawn { home: Some(data.join("home")), ..world.spawn(script) };
        let mut last = String::new();
        for _ in 0..2 {
            let child = world.sandbox(mode).start(&spawn, &world.profile).unwrap();
            last = collect(child).await.stdout;
        }
        let (process, rest) = last.split_once(' ').unwrap();
        assert!(
            mode != Mode::Confined(Backend::Bubblewrap) || process == "2",
            "{mode:?}: {process}"
        );
        let home = data.join("home");
        assert_eq!(rest, format!("{}\nx\nx\nshared\n", home.display()), "{mode:?}");
        assert!(!world.home.join(".count").exists(), "{mode:?}");
    }
}

#[tokio::test]
async fn background_processes_end_with_the_command() {
    for mode in modes() {
        let world = World::new();
        let mark = mark(&world);
        let script = format!("(setsid nohup sleep {mark} >/dev/null 2>&1 </dev/null &) ; exit 3");
        let output = world.run(mode, &script).await;
        assert_eq!(output.exit, Exit::Code(3), "P13 {mode:?}: {output:?}");
        eventually(&format!("P13 {mode:?}"), || !runs(&mark));
    }
}

#[tokio::test]
async fn kill_ends_processes_that_ignore_signals() {
    for mode in modes() {
        let world = World::new();
        let mark = mark(&world);
        let script = format!(
            "trap '' TERM INT HUP; setsid sleep {mark} & (setsid sleep {mark} &); echo ready; wait; sleep {mark}"
        );
        let mut child = world.start(mode, &script).unwrap();
        let mut line = [0; 6];
        child.stdout.read_exact(&mut line).await.unwrap();
        eventually("the children start", || runs(&mark));
        child.process.kill();
        assert_eq!(child.process.wait().await.unwrap(), Exit::Signal(9), "{mode:?}");
        assert_eq!(child.process.wait().await.unwrap(), Exit::Signal(9), "{mode:?}");
        eventually(&format!("{mode:?} leaves children"), || !runs(&mark));
    }
}

#[tokio::test]
async fn a_dropped_child_is_killed() {
    for mode in modes() {
        let world = World::new();
        let mark = mark(&world);
        let child = world.start(mode, &format!("sleep {mark} & setsid sleep {mark}")).unwrap();
        eventually("the children start", || runs(&mark));
        drop(child);
        eventually(&format!("{mode:?} leaves children"), || !runs(&mark));
        assert_eq!(fs::read_dir(&world.work).unwrap().count(), 0, "{mode:?} leaves stubs");
    }
}

#[tokio::test]
async fn a_wait_can_be_cancelled_and_repeated() {
    for mode in modes() {
        let world = World::new();
        let spawn = Spawn { stdin: Stdin::Piped, ..world.spawn("read x; exit 4") };
        let mut child = world.sandbox(mode).start(&spawn, &world.profile).unwrap();
        tokio::select! {
            biased;
            _ = child.process.wait() => panic!("the command waits for input"),
            () = std::future::ready(()) => {}
        }
        drop(child.stdin.take());
        assert_eq!(child.process.wait().await.unwrap(), Exit::Code(4), "{mode:?}");
    }
}

/// The thread that asked for a start may end; the process goes on.
#[tokio::test]
async fn process_outlives_the_thread_that_started_it() {
    for mode in modes() {
        let world = World::new();
        let sandbox = world.sandbox(mode);
        let spawn = Spawn { stdin: Stdin::Piped, ..world.spawn("read x; echo alive") };
        let profile = world.profile.clone();
        let runtime = tokio::runtime::Handle::current();
        let start = move || {
            let _context = runtime.enter();
            sandbox.start(&spawn, &profile).unwrap()
        };
        let mut child = std::thread::spawn(start).join().unwrap();
        child.stdin.take().unwrap().write_all(b"x\n").await.unwrap();
        assert_eq!(collect(child).await.stdout, "alive\n", "{mode:?}");
    }
}

#[tokio::test]
async fn two_sandboxes_share_a_workspace() {
    if !has_bubblewrap() {
        return;
    }
    let world = World::with_git();
    let mode = Mode::Confined(Backend::Bubblewrap);
    let wait = Spawn {
        stdin: Stdin::Piped,
        ..world.spawn("read x; mkdir .vscode 2>/dev/null; echo x > .vscode/x; echo done > long")
    };
    let mut long = world.sandbox(mode).start(&wait, &world.profile).unwrap();
    for _ in 0..3 {
        world.run(mode, "echo x > short; echo x > .idea").await;
        assert!(!world.work.join(".idea").exists(), "H4");
    }
    drop(long.stdin.take());
    assert!(collect(long).await.exit.is_success());
    let names = fs::read_dir(&world.work).unwrap().flatten().map(|entry| entry.file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, [".brynhild-quarantine", ".git", "a.txt", "long", "short"], "H4");
    assert_eq!(fs::read_to_string(world.work.join("long")).unwrap(), "done\n");
}

#[tokio::test]
async fn death_of_the_program_ends_its_children_and_leaves_no_files() {
    for mode in modes() {
        let world = World::with_git();
        let mark = mark(&world);
        let mut child = plain(&std::env::current_exe().unwrap())
            .args(["processes::victim_of_a_kill", "--exact", "--ignored", "--nocapture"])
            .env("VICTIM_WORK", &world.work)
            .env("VICTIM_STATE", world.state())
            .env("VICTIM_MODE", format!("{mode:?}"))
            .env("VICTIM_SCRIPT", format!("setsid sleep {mark} & sleep {mark}"))
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        eventually("the child starts", || runs(&mark));
        child.kill().unwrap();
        child.wait().unwrap();
        eventually(&format!("H5 {mode:?}: a child survives"), || !runs(&mark));
        let names = fs::read_dir(&world.work).unwrap().flatten().map(|entry| entry.file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, [".git", "a.txt"], "H5 {mode:?}");
        collect(world.start(mode, "true").unwrap()).await;
        let scratch = fs::read_dir(world.state().join("scratch"));
        assert_eq!(scratch.map_or(0, Iterator::count), 0, "H5 {mode:?}");
    }
}

#[tokio::test]
#[ignore = "started by another test, to be killed"]
#[expect(clippy::disallowed_methods, reason = "a test process reads its own orders")]
async fn victim_of_a_kill() {
    if std::env::var_os("VICTIM_WORK").is_none() {
        return skip("what another test starts, which this is not");
    }
    let order = |name: &str| std::env::var(name).expect("started by another test");
    let mut world = World::new();
    world.work = PathBuf::from(order("VICTIM_WORK"));
    world.profile.workspace.clone_from(&world.work);
    let backend = backends()
        .into_iter()
        .find(|backend| order("VICTIM_MODE").contains(&format!("{backend:?}")));
    let settings =
        Settings { state: PathBuf::from(order("VICTIM_STATE")), ..world.settings(backend) };
    let sandbox = match backend {
        Some(_) => sandbox::strongest(settings),
        None => sandbox::unconfined(settings),
    };
    let spawn = world.spawn(&order("VICTIM_SCRIPT"));
    let mut child = sandbox.start(&spawn, &world.profile).unwrap();
    child.process.wait().await.unwrap();
}

#[tokio::test]
async fn orphans_are_reaped_while_the_command_runs() {
    for mode in modes() {
        let world = World::new();
        let script = "for i in $(seq 100); do (true & ); done; echo $$ > id; read x";
        let spawn = Spawn { stdin: Stdin::Piped, ..world.spawn(script) };
        let mut child = world.sandbox(mode).start(&spawn, &world.profile).unwrap();
        eventually("the command is half way", || world.work.join("id").exists());
        let id = child.process.id();
        eventually(&format!("{mode:?}: orphans are reaped"), || zombies_below(id) < 10);
        drop(child.stdin.take());
        collect(child).await;
    }
}

/// The number of children of a process that have ended and were not waited for.
fn zombies_below(id: u32) -> usize {
    let status = |path: PathBuf| fs::read_to_string(path.join("status")).unwrap_or_default();
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .map(|entry| status(entry.path()))
        .filter(|text| text.contains(&format!("PPid:\t{id}\n")) && text.contains("State:\tZ"))
        .count()
}

#[tokio::test]
async fn many_starts_leak_no_descriptors() {
    let open = || fs::read_dir("/proc/self/fd").unwrap().count();
    for mode in modes() {
        let world = World::new();
        let sandbox = world.sandbox(mode);
        let spawn = world.spawn("true");
        let once = || async {
            collect(sandbox.start(&spawn, &world.profile).unwrap()).await;
        };
        once().await;
        let before = open();
        for _ in 0..100 {
            once().await;
        }
        // Other tests open files at the same time.
        assert!(open() < before + 60, "{mode:?}");
    }
}

#[tokio::test]
async fn start_without_a_helper_fails() {
    for backend in backends() {
        let world = World::new();
        let helper = "/no/such/helper".into();
        let sandbox = sandbox::strongest(Settings { helper, ..world.settings(Some(backend)) });
        assert!(sandbox.start(&world.spawn("touch made"), &world.profile).is_err(), "{backend}");
        assert!(!world.work.join("made").exists());
    }
    assert!(Path::new(HELPER).exists());
}

#[tokio::test]
async fn sandbox_of_another_system_is_refused_with_its_cause() {
    let world = World::new();
    match world.start(Mode::Confined(Backend::Seatbelt), "true") {
        Err(SandboxError::Unavailable { cause, .. }) => assert!(cause.contains("macOS"), "{cause}"),
        other => panic!("{:?}", other.map(|_| ())),
    }
}

#[tokio::test]
async fn strongest_sandbox_is_chosen_and_reported() {
    let world = World::new();
    let reports = sandbox::doctor(&world.settings(None));
    let Some(best) = reports.iter().find(|report| report.chosen) else {
        return skip("no backend works on this machine");
    };
    let sandbox = sandbox::strongest(world.settings(None));
    collect(sandbox.start(&world.spawn("true"), &world.profile).unwrap()).await;
    assert!(sandbox.describe().starts_with(best.backend.name()));
    assert!(reports.iter().all(|report| !report.lacks.is_empty()));
}
