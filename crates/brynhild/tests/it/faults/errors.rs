//! Disks that refuse: every n-th write, sync and rename fails once, files may not grow, a disk is
//! full. What is shown as done is kept, the failure is told, and the session goes on later.

use std::collections::BTreeMap;
use std::path::Path;

use super::task::{STRACE, check, model, prompts, run_plain, run_traced, task_arguments, traced};
use super::{sample, tell};
use crate::crashes::kills::{can_trace, each};
use crate::crashes::{BINARY, project_around, records, session_file, skip};
use testkit::{ModelServer, Project, Reply};

/// A failing call: its name, its number (of the session's log or of all), and the error.
const FAULTS: [(&str, bool, &str); 10] = [
    ("write", true, "error=ENOSPC"),
    ("write", true, "error=EIO"),
    ("write", true, "error=EDQUOT"),
    ("write", true, "error=EINTR"),
    ("fdatasync", true, "error=EIO"),
    ("fdatasync", true, "error=ENOSPC"),
    ("write", false, "error=ENOSPC"),
    ("rename", false, "error=EIO"),
    ("fsync", false, "error=EIO"),
    ("linkat", false, "error=EIO"),
];

/// Calls that commands of the task do not make, so that those of all threads can be counted.
const OF_ANY_THREAD: [&str; 3] = ["rename", "fsync", "linkat"];

struct Fault {
    call: &'static str,
    is_log: bool,
    how: &'static str,
    number: usize,
}

fn has_strace() -> bool {
    let has = Path::new(STRACE).exists() && can_trace(&Project::with_binary(STRACE));
    if !has {
        skip("strace is not here or may not trace; failing disks not tested");
    }
    has
}

/// Options that trace one call, of the session's log alone or of everything.
fn options(project: &Project, call: &str, is_log: bool) -> Vec<String> {
    let mut options = vec!["-e".to_owned(), format!("trace={call}")];
    if OF_ANY_THREAD.contains(&call) {
        options.push("-f".to_owned());
    }
    if is_log {
        let path = session_file(project);
        options.extend(["-P".to_owned(), path.display().to_string()]);
    }
    options
}

/// How often a thread of a run makes a call, at most.
fn count(call: &str, is_log: bool) -> usize {
    let server = model();
    let project = traced(&server);
    std::fs::create_dir_all(crate::crashes::sessions_of(&project)).unwrap();
    let trace = project.path().join("../trace").display().to_string();
    let mut words = vec!["-o".to_owned(), trace.clone()];
    words.extend(options(&project, call, is_log));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let run = run_traced(&project, &words, &prompts(1));
    assert!(run.status.success(), "{run}");
    let text = std::fs::read_to_string(&trace).unwrap();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in text.lines() {
        let start = line.find(|c: char| !c.is_ascii_digit() && c != ' ').unwrap_or(0);
        if line[start..].starts_with(call) {
            *counts.entry(&line[..start]).or_default() += 1;
        }
    }
    counts.into_values().max().unwrap_or(0)
}

fn all() -> Vec<Fault> {
    let mut counts: BTreeMap<(&str, bool), usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for (call, is_log, how) in FAULTS {
        let count = *counts.entry((call, is_log)).or_insert_with(|| count(call, is_log));
        faults.extend((1..=count).map(|number| Fault { call, is_log, how, number }));
    }
    faults
}

fn fails_once(fault: &Fault) {
    let Fault { call, is_log, how, number } = fault;
    let server = model();
    let project = traced(&server);
    std::fs::create_dir_all(crate::crashes::sessions_of(&project)).unwrap();
    let mut words = vec!["-o".to_owned(), "/dev/null".to_owned()];
    words.extend(options(&project, call, *is_log));
    words.extend(["-e".to_owned(), format!("inject={call}:{how}:when={number}")]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let run = run_traced(&project, &words, &prompts(1));
    let what = format!("{call} {number} {how} (log alone: {is_log})");
    let is_harmless = how.ends_with("EINTR");
    // The runtime also wakes itself by a write, which no disk can fail.
    let is_no_file = run.stderr.contains("failed to wake I/O driver");
    assert!(is_no_file || !run.stderr.contains("panicked"), "{what}: {run}");
    // A session without its end marker is complete: the failure is reported and loses nothing.
    let is_done = records(&project).values().next_back().is_some_and(|last| {
        last["type"] == "turn_finished" && run.stdout.contains("\"text\":\"Done 99.\"")
    });
    if *is_log && !is_harmless {
        assert!(is_done || !run.status.success(), "{what} was not noticed: {run}");
        assert!(run.stdout.contains("work.jsonl") || run.stderr.contains("work.jsonl"), "{what}");
    }
    if is_harmless {
        assert!(run.status.success(), "{what}: {run}");
    }
    check(&project, &run.stdout, &what);
}

#[test]
fn some_failed_file_operations_lose_nothing() {
    if has_strace() {
        let all = all();
        let picked: Vec<usize> = sample(&(0..all.len()).collect::<Vec<_>>(), 10);
        each(&picked, |index| fails_once(&all[*index]));
    }
}

#[test]
#[ignore = "takes many minutes: a run of twenty turns for each call that can fail"]
fn every_failed_file_operation_loses_nothing() {
    if has_strace() {
        let all = all();
        each(&all, fails_once);
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for fault in &all {
            let place = if fault.is_log { "log" } else { "any file" };
            *kinds.entry(format!("{} {} ({place})", fault.call, fault.how)).or_default() += 1;
        }
        tell(&format!("{} calls that failed once: {kinds:?}", all.len()));
    }
}

#[test]
fn failed_end_marker_is_reported_and_loses_nothing() {
    if has_strace() {
        let (call, is_log, how) = ("write", true, "error=ENOSPC");
        let number = count(call, is_log);
        fails_once(&Fault { call, is_log, how, number });
    }
}

/// Runs the task with files that may not become longer, so that a write is cut short.
fn grows_to(kilobytes: usize) {
    let server = model();
    let project = traced(&server);
    let shell = project_around("/bin/bash", &server);
    let script = format!("ulimit -f {kilobytes}; exec \"$@\"");
    let words = [&["-c", &script, "bash", BINARY], &task_arguments()[..]].concat();
    let run = shell
        .command(&words)
        .env("HOME", project.home())
        .cwd(project.path())
        .stdin(prompts(1))
        .run();
    let what = format!("files of {kilobytes} KB");
    assert!(!run.stderr.contains("panicked"), "{what}: {run}");
    check(&project, &run.stdout, &what);
}

#[test]
fn size_limited_log_stays_whole_and_continues() {
    each(&[1, 9, 17], |kilobytes| grows_to(*kilobytes));
}

#[test]
#[ignore = "takes minutes: a run of twenty turns for each length"]
fn log_limited_at_any_length_stays_whole() {
    let lengths: Vec<usize> = (1..=60).collect();
    each(&lengths, |kilobytes| grows_to(*kilobytes));
    tell(&format!("{} lengths at which a log could not grow", lengths.len()));
}

#[test]
fn full_disk_is_reported_and_the_session_continues() {
    if !crate::has_bubblewrap() {
        return;
    }
    let bubblewrap = "/usr/bin/bwrap";
    let long = "long answer ".repeat(8_000);
    let mut asked = 0;
    let server = ModelServer::respond_with(move |_| {
        asked += 1;
        if asked < 4 { Reply::text(long.clone()).delta_size(4_000) } else { Reply::text("Done.") }
    });
    let project = project_around(bubblewrap, &server);
    let directory = crate::crashes::sessions_of(&project);
    std::fs::create_dir_all(&directory).unwrap();
    let directory = directory.display().to_string();
    let script = format!(
        "set -u; head -c 200000 /dev/zero > {directory}/filler; \
         printf 'a\\nb\\nc\\n' | \"$@\" > {directory}/../first 2>&1; echo first $?; \
         rm {directory}/filler; printf 'd\\n' | \"$@\" 2>&1; echo second $?; \
         {BINARY} session show work > /dev/null; echo shown $?; \
         grep -c . {directory}/work.jsonl"
    );
    let confined = ["--dev-bind", "/", "/", "--size", "400000", "--tmpfs", &directory];
    let there = project.path().display().to_string();
    let words = ["--chdir", &there, "/bin/bash", "-c", &script, "bash", BINARY];
    let args = ["--plain", "--session", "work"];
    let run = project.command(&[&confined[..], &words, &args].concat()).stdin("").run();
    if run.stderr.contains("bwrap:") {
        skip("bubblewrap does not work here; a full disk not tested");
        return;
    }
    let first = std::fs::read_to_string(project.config_directory().join("first")).unwrap();
    assert!(run.stdout.contains("first 1"), "{run}\n{first}");
    assert!(first.contains("No space left on device"), "{first}");
    assert!(first.contains("hint: "), "{first}");
    assert!(run.stdout.contains("Done.") && run.stdout.contains("second 0"), "{run}\n{first}");
    assert!(run.stdout.contains("shown 0"), "{run}");
}

#[test]
fn run_after_a_failed_one_works() {
    let server = model();
    let project = traced(&server);
    let run = run_plain(&project, &prompts(1));
    assert!(run.status.success(), "{run}");
    let before = records(&project).len();
    let again = run_plain(&project, "turn 99\n");
    assert!(again.status.success(), "{again}");
    assert!(records(&project).len() > before);
}
