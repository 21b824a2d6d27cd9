//! Power cuts: what was written and synced in a conversation is recorded, then the files are rebuilt
//! that a disk may be left with at any moment, and each is opened.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use contract::event::{Event, EventKind};
use contract::id::{CallId, SessionId};
use contract::log::Log;
use contract::message::Usage;
use sessions::store::Store;

use super::task::{STRACE, model, prompts, run_traced, traced};
use super::tell;
use crate::crashes::kills::can_trace;
use crate::crashes::{SESSION, session_file, skip};
use testkit::Project;

/// The operations of a program on the session's log, and its visible output.
enum Step {
    /// Bytes were added.
    Write(Vec<u8>),
    /// All that was written is on disk.
    Sync,
    /// Something left the program: a request, or a process that has an effect.
    Leave(String),
}

/// Records one undisturbed run.
fn recording() -> Option<Vec<Step>> {
    let server = model();
    let project = traced(&server);
    if !Path::new(STRACE).exists() || !can_trace(&Project::with_binary(STRACE)) {
        skip("strace is not here or may not trace; power cuts not tested");
        return None;
    }
    let trace = project.path().join("../trace").display().to_string();
    let filter = "trace=openat,close,write,fdatasync,sendto,sendmsg,writev,clone,clone3,vfork";
    let options = ["-o", &trace, "-s", "9999999", "-xx", "-e", filter];
    let run = run_traced(&project, &options, &prompts(1));
    assert!(run.status.success(), "{run}");
    let path = session_file(&project).display().to_string();
    let steps = read_trace(&fs::read_to_string(&trace).unwrap(), &path);
    let written: Vec<u8> = steps
        .iter()
        .filter_map(|step| if let Step::Write(bytes) = step { Some(bytes.clone()) } else { None })
        .flatten()
        .collect();
    assert_eq!(written, fs::read(&path).unwrap(), "the recording is the file");
    Some(steps)
}

fn read_trace(trace: &str, path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut log: Option<String> = None;
    for line in trace.lines() {
        let Some((call, rest)) = line.split_once('(') else { continue };
        let result = rest.rsplit_once(" = ").map_or("", |(_, result)| result);
        let number = result.split_whitespace().next().unwrap_or_default();
        let first = rest.split([',', ')']).next().unwrap_or_default();
        match call {
            "openat" if unhex(rest) == path.as_bytes() => log = Some(number.to_owned()),
            "close" if log.as_deref() == Some(first) => log = None,
            "write" if log.as_deref() == Some(first) => steps.push(Step::Write(unhex(rest))),
            "fdatasync" if log.as_deref() == Some(first) => steps.push(Step::Sync),
            // A thread stays in the program.
            "clone" | "clone3" if rest.contains("CLONE_THREAD") => {}
            "sendto" | "sendmsg" | "writev" | "clone" | "clone3" | "vfork" => {
                steps.push(Step::Leave(call.to_owned()));
            }
            _ => {}
        }
    }
    steps
}

/// The first string of a line, which is written in hexadecimal.
fn unhex(line: &str) -> Vec<u8> {
    let text = line.split('"').nth(1).unwrap_or_default();
    let digits = text.split("\\x").skip(1);
    digits.filter_map(|digits| u8::from_str_radix(digits, 16).ok()).collect()
}

/// A file as a power cut may leave it.
struct Image {
    bytes: Vec<u8>,
    /// Bytes that were synced before the cut.
    synced: usize,
}

/// The files that may be left when the power goes after each step: any of the writes since the last
/// sync may be there or not, each whole or cut, and what is missing before one that is there reads as
/// zeros.
fn images(steps: &[Step], take: &mut impl FnMut(Image)) {
    let mut done: Vec<u8> = Vec::new();
    let mut pending: Vec<(usize, Vec<u8>)> = Vec::new();
    for step in steps {
        match step {
            Step::Write(bytes) => {
                let at = done.len() + pending.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
                pending.push((at, bytes.clone()));
                subsets(&done, &pending, take);
            }
            Step::Sync => {
                for (_, bytes) in pending.drain(..) {
                    done.extend(bytes);
                }
                take(Image { bytes: done.clone(), synced: done.len() });
            }
            Step::Leave(_) => {}
        }
    }
}

fn subsets(done: &[u8], pending: &[(usize, Vec<u8>)], take: &mut impl FnMut(Image)) {
    let recent = &pending[pending.len().saturating_sub(5)..];
    let mut before = done.to_vec();
    for (_, bytes) in &pending[..pending.len() - recent.len()] {
        before.extend(bytes);
    }
    for subset in 0..1_u32 << recent.len() {
        let chosen = (0..recent.len()).filter(|index| subset & (1 << index) != 0);
        let chosen: Vec<&(usize, Vec<u8>)> = chosen.map(|index| &recent[index]).collect();
        let Some((at, last)) = chosen.last() else {
            take(Image { bytes: before.clone(), synced: done.len() });
            continue;
        };
        let mut whole = before.clone();
        for (at, bytes) in &chosen[..chosen.len() - 1] {
            place(&mut whole, *at, bytes);
        }
        // A sector is written or not, and somewhere between sectors too; the file's length may run
        // ahead of what is in it.
        let sectors = (1..last.len()).filter(|cut| (at + cut) % 512 == 0 || cut % 7 == 0);
        for cut in sectors.chain([1, last.len() - 1, last.len()]) {
            let mut bytes = whole.clone();
            place(&mut bytes, *at, &last[..cut]);
            take(Image { bytes: bytes.clone(), synced: done.len() });
            bytes.resize(at + last.len(), 0);
            take(Image { bytes, synced: done.len() });
        }
    }
}

fn place(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if file.len() < at + bytes.len() {
        file.resize(at + bytes.len(), 0);
    }
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Opens an image, and checks that nothing synced is lost, nothing is made up, and it goes on.
fn check(image: &Image, whole: &[Event], directory: &Path) {
    let id = SessionId::parse(SESSION).unwrap();
    let store = Store::new(directory);
    fs::write(store.path(&id), &image.bytes).unwrap();
    let synced = image.bytes[..image.synced].split(|byte| *byte == b'\n').count() - 1;
    let opened = store.open(&id).unwrap();
    assert!(opened.events.len() >= synced, "{} of {synced}", opened.events.len());
    assert_eq!(opened.events[..synced], whole[..synced]);
    for event in &opened.events {
        assert_eq!(Some(event), whole.get(usize::try_from(event.seq.0).unwrap() - 1));
    }
    let log = opened.log.expect("a log that goes on");
    let last = opened.events.last().map(|event| event.seq).unwrap_or_default();
    let mut events = opened.events;
    let closing = agent::transcript::Transcript::of(&events).closing(&Usage::default());
    for (number, what) in (last.0 + 1..).zip(closing) {
        let mut event = whole[0].clone();
        event.seq.0 = number;
        event.kind = what;
        log.append(std::slice::from_ref(&event)).unwrap();
        events.push(event);
    }
    let mut open: BTreeSet<CallId> = BTreeSet::new();
    for event in &events {
        match &event.kind {
            EventKind::ToolCalled { call } => drop(open.insert(call.id.clone())),
            EventKind::ToolFinished { call, .. } => drop(open.remove(call)),
            _ => {}
        }
    }
    assert!(open.is_empty(), "calls without an end: {open:?}");
    drop(log);
    // A session in which nothing happened leaves no file.
    let kept = store.read(&id).map_or_else(|_| Vec::new(), |contents| contents.events);
    assert_eq!(kept, events);
}

/// The events of the whole recording.
fn events(steps: &[Step]) -> Vec<Event> {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(directory.path());
    let id = SessionId::parse(SESSION).unwrap();
    let mut bytes = Vec::new();
    for step in steps {
        if let Step::Write(more) = step {
            bytes.extend(more);
        }
    }
    fs::write(store.path(&id), bytes).unwrap();
    store.read(&id).unwrap().events
}

/// Checks every `step`-th image, some of them at the same time, and returns how many there were to
/// check.
fn check_every(step: usize, steps: &[Step]) -> usize {
    const HANDS: usize = 2;
    let whole = &events(steps);
    let check_some = |hand: usize| {
        let directory = tempfile::tempdir().unwrap();
        let mut count = 0;
        images(steps, &mut |image| {
            count += 1;
            if count % step == 0 && count / step % HANDS == hand {
                check(&image, whole, directory.path());
            }
        });
        count
    };
    std::thread::scope(|scope| {
        let hands: Vec<_> = (0..HANDS)
            .map(|hand| {
                scope.spawn({
                    let check_some = &check_some;
                    move || check_some(hand)
                })
            })
            .collect();
        let counts = hands.into_iter().map(|hand| hand.join().unwrap());
        counts.max().unwrap()
    })
}

#[test]
fn some_power_cuts_keep_all_synced_events() {
    let Some(steps) = recording() else { return };
    let count = check_every(151, &steps);
    assert!(count >= 10_000, "{count}");
}

#[test]
#[ignore = "takes minutes: opens more than ten thousand files"]
fn every_power_cut_keeps_all_synced_events() {
    let Some(steps) = recording() else { return };
    let count = check_every(1, &steps);
    let writes = steps.iter().filter(|step| matches!(step, Step::Write(_))).count();
    let syncs = steps.iter().filter(|step| matches!(step, Step::Sync)).count();
    tell(&format!("{count} files that a power cut may leave, of {writes} writes, {syncs} syncs"));
}

#[test]
fn events_are_synced_before_requests_and_output() {
    let Some(steps) = recording() else { return };
    let (mut pending, mut left) = (0, 0);
    for step in &steps {
        match step {
            Step::Write(_) => pending += 1,
            Step::Sync => pending = 0,
            Step::Leave(call) => {
                left += 1;
                assert_eq!(pending, 0, "{call} number {left} went out before {pending} writes");
            }
        }
    }
    assert!(left >= 30, "{left}");
}
