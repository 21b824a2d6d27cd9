//! Attacks on the sandbox through the shipped program, and what must keep working inside it: on
//! each backend that the machine has, as root and as an ordinary user. An attack that does not work
//! without walls proves nothing, so each is shown to work first.

mod rounds;
mod table;
mod usability;
mod world;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::process::Output;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use table::{PLANTS, PROBES, Plant, Probe, Proof};
use world::{Backend, Door, Place, User, World, has, skip, users};

/// The output of a script for each attack.
type Printed = BTreeMap<String, String>;

#[test]
fn every_attack_works_without_a_sandbox() {
    for user in users() {
        let failures: Vec<String> = in_parallel(PROBES, |probe| prove(user, probe));
        assert!(failures.is_empty(), "as {user:?}:\n{}", failures.join("\n"));
        let failures: Vec<String> = in_parallel(PLANTS, |plant| {
            let world = prepared_world(user, plant);
            let output = world.plainly(plant.script);
            let took = reaps(&world, plant);
            (!took).then(|| format!("{} proves nothing: {output:?}", plant.id))
        });
        assert!(failures.is_empty(), "as {user:?}:\n{}", failures.join("\n"));
    }
}

#[test]
fn attacks_fail_in_bubblewrap() {
    for user in users() {
        attack(user, Backend::Bubblewrap);
    }
}

#[test]
fn attacks_fail_in_landlock() {
    for user in users() {
        attack(user, Backend::Landlock);
    }
}

#[test]
fn bubblewrap_leaves_no_protected_files() {
    for user in users() {
        sow(user, Backend::Bubblewrap);
    }
}

#[test]
fn landlock_leaves_no_protected_files() {
    for user in users() {
        sow(user, Backend::Landlock);
    }
}

#[test]
fn kill_of_all_processes_stays_inside() {
    each_place(|user, place| {
        let mut world = World::new(user);
        world.start_host();
        world.confined(place, "kill -9 -1");
        let alive = world.plainly("kill -0 $VPID && echo alive");
        assert_eq!(text(&alive), "alive\n", "K02 {user:?} {place:?}");
    });
}

#[test]
fn processes_end_with_the_command() {
    each_place(|user, place| {
        let world = World::new(user);
        let mark = unique_sleep(&world);
        let script = format!(
            "(setsid nohup sleep {mark} >/dev/null 2>&1 </dev/null &); sleep 0.1; \
             echo started > started"
        );
        world.confined(place, &script);
        assert!(world.work.join("started").exists(), "P13 proves nothing");
        assert!(!runs(&mark), "P13 {user:?} {place:?}");
    });
}

#[test]
fn killed_program_leaves_no_processes_and_files() {
    each_place(|user, place| {
        let world = World::new(user);
        let mark = unique_sleep(&world);
        let script = format!("(setsid sleep {mark} &); setsid sleep {mark} & sleep {mark}");
        let mut program = world.command(place, &script).spawn().unwrap();
        eventually("the command starts", || runs(&mark));
        program.kill().unwrap();
        program.wait().unwrap();
        eventually(&format!("H5 {user:?} {place:?}: a process survives"), || !runs(&mark));
        let again = world.confined(place, "true");
        assert!(again.status.success(), "H5 {again:?}");
        let left: Vec<_> = fs::read_dir(&world.work).unwrap().flatten().collect();
        assert_eq!(left.len(), 2, "H5 {user:?} {place:?}: only the planted links stay: {left:?}");
    });
}

#[test]
fn helper_processes_end_with_a_signaled_program() {
    each_place(|user, place| {
        for signal in [Signal::KILL, Signal::TERM, Signal::HUP, Signal::INT] {
            let world = World::new(user);
            let mark = unique_sleep(&world);
            let mut program = world.command(place, &format!("exec sleep {mark}")).spawn().unwrap();
            eventually("the command starts", || runs(&mark));
            let family = family(program.id());
            assert!(family.len() > 2, "{user:?} {place:?}: {family:?}");
            kill_process(Pid::from_child(&program), signal).unwrap();
            program.wait().unwrap();
            // A dead process may wait to be reaped by the first process of the machine.
            let is_gone = |id: &u32| field(*id, 0).is_none_or(|state| state == "Z");
            let left = format!("H6 {user:?} {place:?} {signal:?}: a process survives");
            eventually(&left, || family.iter().all(is_gone));
        }
    });
}

#[test]
fn modes_of_secret_and_read_only_files_are_unchanged() {
    each_place(|user, place| {
        let world = World::with_git(user);
        let before = world.surroundings();
        if place.backend == Backend::Bubblewrap {
            world.confined(place, "chmod 777 $REAL/.ssh/id_ed25519");
            let after = world.surroundings();
            let key = world.home.join(".ssh/id_ed25519");
            assert_eq!(after[&key], before[&key], "M01 {user:?} {place:?}");
        }
        world.plainly("echo x > file; chmod 600 file");
        let words = ["sandbox", "run", "--profile", "read-only", "--", "chmod", "777", "file"];
        let output = world.program(place.backend, &words.map(str::to_owned)).output().unwrap();
        assert!(!output.status.success(), "M02 {user:?} {place:?} {output:?}");
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &fs::metadata(world.work.join("file")).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600, "M02 {user:?} {place:?}");
    });
}

#[test]
fn workspace_with_the_program_itself_is_not_written() {
    each_place(|user, place| {
        let world = World::new(user);
        let mut command = world.command(place, "echo ran");
        let output = command.current_dir(world.home.join(".config/brynhild")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("contains the settings that decide"), "{user:?} {place:?} {said}");
        assert!(!text(&output).contains("ran"), "{user:?} {place:?} {output:?}");
    });
}

#[test]
fn bubblewrap_of_the_workspace_is_never_run() {
    for user in users() {
        for backend in [Backend::Bubblewrap, Backend::Landlock]
            .into_iter()
            .filter(|backend| has(*backend, user))
        {
            let world = World::new(user);
            let made = world.plainly(
                "mkdir -p bin node_modules/.bin; printf '#!/bin/sh\\ntouch %s/PWNED\\n' $REAL > bin/bwrap; \
                 chmod +x bin/bwrap; cp bin/bwrap node_modules/.bin/; bin/bwrap; rm $REAL/PWNED",
            );
            assert!(made.status.success(), "{made:?}");
            let path =
                format!("{0}/bin:{0}/node_modules/.bin:.:/usr/bin:/bin", world.work.display());
            let mut command = world.command(Place { backend, door: Door::Run }, "echo ran");
            let output = command.env("PATH", path).output().unwrap();
            assert_eq!(text(&output), "ran\n", "{backend:?} {output:?}");
            assert!(!world.home.join("PWNED").exists(), "{backend:?} {user:?}");
        }
    }
}

#[test]
fn disk_filling_command_is_killed() {
    const FILL: &str = "for i in 1 2 3 4 5; do head -c 10M /dev/zero > big$i; done; sleep 60; \
                        echo survived";
    if !rustix::process::geteuid().is_root() {
        return skip("a full disk: only root can make a small one");
    }
    for backend in
        [Backend::Bubblewrap, Backend::Landlock].into_iter().filter(|it| has(*it, User::Same))
    {
        let output =
            World::new(User::Same).on_a_small_disk(Place { backend, door: Door::Run }, FILL);
        // How far it came depends on who was faster; that it went on does not.
        assert!(!text(&output).contains("survived"), "{backend:?} {output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("nearly full"), "{backend:?} {said}");
    }
}

#[test]
fn unusable_bubblewrap_falls_back_to_landlock() {
    if !rustix::process::geteuid().is_root() {
        return skip("another file in the place of bubblewrap: only root can mount one");
    }
    let place = Place { backend: Backend::Bubblewrap, door: Door::Run };
    for user in users().into_iter().filter(|it| {
        [Backend::Bubblewrap, Backend::Landlock].iter().all(|backend| has(*backend, *it))
    }) {
        for file in ["printf '#!/none\\n' > f && chmod 755 f", "echo x > f && chmod 644 f"] {
            let mounts = format!("{file} && mount --bind f $(readlink -f /usr/bin/bwrap)");
            let output = World::new(user).after_mounting(&mounts, place, "echo ran");
            assert_eq!(text(&output), "ran\n", "{user:?} {file} {output:?}");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                said.contains("landlock") && said.contains("`bwrap` cannot be started"),
                "{said}"
            );
        }
    }
}

#[test]
fn old_bubblewrap_runs_read_only_commands() {
    if !rustix::process::geteuid().is_root() {
        return skip("another file in the place of bubblewrap: only root can mount one");
    }
    let older = "bwrap=$(readlink -f /usr/bin/bwrap) && sed s/bind-fd/bind-xx/g $bwrap > f && \
                 chmod 755 f && mount --bind f $bwrap";
    for user in users().into_iter().filter(|it| has(Backend::Bubblewrap, *it)) {
        let world = World::new(user);
        let words = ["sandbox", "run", "--profile", "read-only", "--", "echo", "ran"];
        let command = world.program(Backend::Bubblewrap, &words.map(str::to_owned));
        let output = world.mounted(older, &command);
        assert_eq!(text(&output), "ran\n", "{user:?} {output:?}");
    }
}

/// Runs all attacks through both commands of a sandbox.
fn attack(user: User, backend: Backend) {
    if !has(backend, user) {
        return;
    }
    for door in [Door::Run, Door::Tool] {
        let place = Place { backend, door };
        let mut world = battlefield(user);
        world.freeze_caches();
        world.start_host();
        // The program's own files in the home exist from the first run on.
        world.confined(place, "true");
        let before = world.surroundings();
        let output = world.confined(place, &all_of(PROBES));
        let printed = sections(&text(&output));
        let mut failures = Vec::new();
        for probe in PROBES {
            let Some(lines) = printed.get(probe.id) else {
                failures.push(format!("{} did not run", probe.id));
                continue;
            };
            let escaped = lines.contains("ESC") || lines.contains("SECRET");
            let is_limit = matches!(probe.proof, Proof::Refused | Proof::Limited);
            let untried = is_limit && !lines.contains("refused");
            // Without namespaces nothing limits the processes of root.
            let is_root = user == User::Same && rustix::process::geteuid().is_root();
            let is_known = probe.id == "R01" && backend == Backend::Landlock && is_root;
            if (escaped || untried) && !is_known {
                failures.push(format!("{}: {lines}", probe.id));
            }
        }
        let changed = difference(&before, &world.surroundings());
        let who = format!("{user:?} {place:?}");
        assert!(changed.is_empty(), "{who} changed {changed:?}");
        assert!(failures.is_empty(), "{who}\n{}\n{output:?}", failures.join("\n"));
    }
}

/// Plants in one workspace after another.
fn sow(user: User, backend: Backend) {
    if !has(backend, user) {
        return;
    }
    let place = Place { backend, door: Door::Run };
    let failures: Vec<String> = in_parallel(PLANTS, |plant| {
        let world = prepared_world(user, plant);
        let output = world.confined(place, &format!("{}\necho done", plant.script));
        let ran = text(&output).ends_with("done\n");
        (reaps(&world, plant) || !ran).then(|| format!("{}: {output:?}", plant.id))
    });
    assert!(failures.is_empty(), "{user:?} {backend:?}:\n{}", failures.join("\n"));
}

fn prove(user: User, probe: &Probe) -> Option<String> {
    if matches!(probe.proof, Proof::None | Proof::Refused) {
        return None;
    }
    let mut world = battlefield(user);
    let needs = ["VPID", "TCP", "UDP", "SHM", "NAME", "AGENT", ".sock", "VICTIM"];
    if needs.iter().any(|word| probe.script.contains(word)) {
        world.start_host();
    }
    let before = world.surroundings();
    let output = world.plainly(probe.script);
    let told = ["ESC", "SECRET"].iter().any(|word| text(&output).contains(word));
    if told || world.surroundings() != before {
        return None;
    }
    if matches!(probe.proof, Proof::Maybe | Proof::Limited) {
        skip(&format!("{}: it is refused to {user:?} without walls", probe.id));
        return None;
    }
    Some(format!("{} proves nothing: {output:?}", probe.id))
}

/// A world with a handle to an outside file, made where that is allowed.
fn battlefield(user: User) -> World {
    let mut world = World::new(user);
    let handle = text(&world.plainly("$SP handle_make $C"));
    world.set("HANDLE", handle.trim());
    world
}

fn prepared_world(user: User, plant: &Plant) -> World {
    let world = if plant.in_repository { World::with_git(user) } else { World::new(user) };
    let made = world.plainly(&format!("true; {}", plant.before));
    assert!(made.status.success(), "{}: {made:?}", plant.id);
    world
}

/// Returns true if the planted file takes effect on the host.
fn reaps(world: &World, plant: &Plant) -> bool {
    world.plainly(plant.host);
    world.home.join("PWNED").exists()
}

/// One script that runs all of them, each in a shell of its own.
fn all_of(probes: &[Probe]) -> String {
    let mut script = String::new();
    for Probe { id, script: text, .. } in probes {
        let _ = writeln!(script, "echo; echo '== {id}'\n(\n{text}\n) 2>/dev/null </dev/null");
    }
    script
}

fn sections(output: &str) -> Printed {
    let parts = output.split("\n== ").skip(1);
    let parts = parts.filter_map(|part| part.split_once('\n'));
    parts.map(|(id, lines)| (id.to_owned(), lines.to_owned())).collect()
}

fn difference<T: PartialEq>(
    before: &BTreeMap<std::path::PathBuf, T>,
    after: &BTreeMap<std::path::PathBuf, T>,
) -> Vec<std::path::PathBuf> {
    let paths = before.keys().chain(after.keys());
    paths.filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}

fn each_place(check: impl Fn(User, Place)) {
    for user in users() {
        for backend in [Backend::Bubblewrap, Backend::Landlock]
            .into_iter()
            .filter(|backend| has(*backend, user))
        {
            check(user, Place { backend, door: Door::Run });
        }
    }
}

/// The status of a process from the kernel; none if it does not exist.
fn stat(id: u32) -> String {
    fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default()
}

/// The field of a process behind its name, by number.
fn field(id: u32, number: usize) -> Option<String> {
    let stat = stat(id);
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(number).map(str::to_owned)
}

/// A process and all that it has started.
fn family(id: u32) -> Vec<u32> {
    let is_child = |parent: u32, child: u32| field(child, 1) == Some(parent.to_string());
    let ids = || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
    };
    let mut found = vec![id];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(ids().filter(|child| is_child(parent, *child)));
        at += 1;
    }
    found
}

/// A number for `sleep` that nothing else uses.
fn unique_sleep(world: &World) -> String {
    let sum = world.base.to_string_lossy().bytes().fold(7_u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte)) % 1_000_000_007
    });
    format!("{}.{sum}", 100_000 + std::process::id())
}

/// Returns true if a process with `mark` in its command line runs on the machine.
fn runs(mark: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.starts_with(b"sleep\0") && String::from_utf8_lossy(&line).contains(mark)
    })
}

fn eventually(what: &str, is: impl Fn() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::yield_now();
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The results of `check`, four at a time.
fn in_parallel<T: Sync>(items: &[T], check: impl Fn(&T) -> Option<String> + Sync) -> Vec<String> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some(item) = items.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            found.extend(check(item));
        }
        found
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}
