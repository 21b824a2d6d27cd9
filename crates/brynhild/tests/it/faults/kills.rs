//! `kill -9` at each system call of a conversation of twenty turns, and at random moments.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::task::{STRACE, check, model, prompts, run_traced, task_arguments, traced};
use super::{sample, tell};
use crate::crashes::kills::{can_trace, each};
use crate::crashes::{BINARY, project_around, session_file, skip};
use testkit::Project;

/// Calls that the commands of the task make too: those of the program's first thread.
const OWN: &str = "write,openat,execve,read,close,statx,lseek,epoll_wait,recvfrom,mmap,futex,fcntl,\
                   vfork,clone,clone3";
/// Calls that only the program makes, in whichever thread.
const ANY: &str = "writev,pwrite64,fdatasync,fsync,rename,renameat,renameat2,link,linkat,ftruncate,\
                   unlink,unlinkat,mkdir,mkdirat,sendto,connect,flock,chmod,fchmod,getdents64";

/// A system call by its name and number, and whether those of other threads count.
#[derive(Clone)]
struct Point {
    call: String,
    number: usize,
    threads: &'static [&'static str],
}

/// Each system call of an undisturbed run, as often as it is made.
fn points() -> Vec<Point> {
    let mut points = made(OWN, &[]);
    points.extend(made(ANY, &["-f"]));
    points
}

fn made(calls: &str, threads: &'static [&'static str]) -> Vec<Point> {
    let server = model();
    let project = traced(&server);
    let trace = project.path().join("../trace");
    let trace = trace.to_str().unwrap();
    let filter = format!("trace={calls}");
    let options = [threads, &["-o", trace, "-e", &filter]].concat();
    let run = run_traced(&project, &options, &prompts(1));
    assert!(run.status.success(), "{run}");
    // Each thread has counts of its own.
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for line in std::fs::read_to_string(trace).unwrap().lines() {
        let start = line.find(|c: char| !c.is_ascii_digit() && c != ' ').unwrap_or(0);
        let Some((name, _)) = line[start..].split_once('(') else { continue };
        if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            let thread = line[..start].trim().to_owned();
            *counts.entry((name.to_owned(), thread)).or_default() += 1;
        }
    }
    let mut most: BTreeMap<String, usize> = BTreeMap::new();
    for ((name, _), count) in counts {
        let most = most.entry(name).or_default();
        *most = count.max(*most);
    }
    let each_of = |(call, count): (String, usize)| {
        (1..=count).map(move |number| Point { call: call.clone(), number, threads })
    };
    most.into_iter().flat_map(each_of).collect()
}

fn killed_at(points: &[Point]) -> usize {
    let killed = AtomicUsize::new(0);
    each(points, |Point { call, number, threads }| {
        let server = model();
        let project = traced(&server);
        let inject = format!("inject={call}:signal=KILL:when={number}");
        let filter = format!("trace={call}");
        let options = ["-o", "/dev/null", "-e", &filter, "-e", &inject];
        let run = run_traced(&project, &[threads, &options[..]].concat(), &prompts(1));
        killed.fetch_add(usize::from(run.status.code().is_none()), Ordering::Relaxed);
        if !session_file(&project).exists() {
            assert_eq!(run.stdout, "", "{call} {number}");
        }
        check(&project, &run.stdout, &format!("{call} {number}"));
    });
    killed.into_inner()
}

fn has_strace() -> bool {
    let has = std::path::Path::new(STRACE).exists() && can_trace(&Project::with_binary(STRACE));
    if !has {
        skip("strace is not here or may not trace; kills at system calls not tested");
    }
    has
}

#[test]
fn kill_at_some_system_calls_loses_nothing() {
    if has_strace() {
        let points = sample(&points(), 10);
        assert!(killed_at(&points) > points.len() / 2);
    }
}

#[test]
#[ignore = "takes many minutes: a run of twenty turns for each system call"]
fn kill_at_every_system_call_loses_nothing() {
    if has_strace() {
        let points = points();
        let killed = killed_at(&points);
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for point in &points {
            *kinds.entry(&point.call).or_default() += 1;
        }
        tell(&format!("{} kill points ({kinds:?}), {killed} of them killed", points.len()));
        assert!(killed * 10 > points.len() * 9, "{killed} of {}", points.len());
    }
}

/// Runs the task and kills it after a time.
fn killed_after(wait: Duration) {
    let server = model();
    let project = traced(&server);
    let plain = project_around(BINARY, &server);
    let home = project.home();
    let running = plain
        .command(&task_arguments())
        .env("HOME", &home)
        .cwd(project.path())
        .stdin(prompts(1))
        .spawn();
    std::thread::sleep(wait);
    running.kill();
    let run = running.wait();
    check(&project, &run.stdout, &format!("killed after {wait:?}"));
}

#[test]
#[ignore = "takes many minutes: a thousand runs of twenty turns"]
fn thousand_random_kills_lose_nothing() {
    let server = model();
    let project = project_around(BINARY, &server);
    let started = Instant::now();
    assert!(project.command(&task_arguments()).stdin(prompts(1)).run().status.success());
    let whole = started.elapsed();
    let mut state = 20_261_115_u64;
    let waits: Vec<Duration> = (0..1_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
            whole.mul_f64(f64::from(u32::try_from(state >> 33).unwrap()) / 2_147_483_648.0)
        })
        .collect();
    each(&waits, |wait| killed_after(*wait));
    tell(&format!("{} kills at random moments of a run of {whole:?}", waits.len()));
}
