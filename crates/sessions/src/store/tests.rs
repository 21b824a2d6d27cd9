use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Barrier;

use contract::event::EventKind;
use contract::log::Log;

use super::*;
use crate::reader::Cause;
use crate::samples;

fn store() -> (tempfile::TempDir, Store) {
    let parent = tempfile::tempdir().unwrap();
    let store = Store::new(parent.path().join("sessions"));
    (parent, store)
}

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

/// The sample conversation under another name.
fn conversation(name: &str) -> Vec<Event> {
    let mut events = samples::conversation();
    for event in &mut events {
        event.session = id(name);
    }
    events
}

fn save(store: &Store, name: &str) {
    let log = store.create(&id(name)).unwrap();
    log.append(&conversation(name)).unwrap();
}

fn message<T>(result: Result<T, Error>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn store_creates_no_file_before_a_session() {
    let (parent, store) = store();
    assert!(store.list().unwrap().is_empty());
    assert!(store.search("x", 5).unwrap().is_empty());
    assert_eq!(message(store.read(&id("a"))), "Session not found: a");
    assert_eq!(message(store.open(&id("a"))), "Session not found: a");
    assert_eq!(message(store.delete(&id("a"))), "Session not found: a");
    assert_eq!(message(store.resolve("last")), "Session not found: last");
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn saved_session_can_be_continued() {
    let (_parent, store) = store();
    let events = conversation("a");
    store.create(&id("a")).unwrap().append(&events[..4]).unwrap();
    let opened = store.open(&id("a")).unwrap();
    assert_eq!(opened.events, events[..4]);
    assert_eq!(opened.repairs, []);
    opened.log.unwrap().append(&events[4..]).unwrap();
    assert_eq!(store.read(&id("a")).unwrap().events, events);
}

#[test]
fn session_files_are_private() {
    let (_parent, store) = store();
    save(&store, "a");
    store.list().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&store.directory), 0o700);
    let files: Vec<PathBuf> =
        fs::read_dir(&store.directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(files.iter().all(|path| mode(path) == 0o600), "{files:?}");
}

#[test]
fn empty_session_leaves_no_file() {
    let (_parent, store) = store();
    drop(store.create(&id("a")).unwrap());
    assert_eq!(fs::read_dir(&store.directory).unwrap().count(), 0);
}

#[test]
fn truncated_log_keeps_whole_records_and_continues() {
    let (_parent, store) = store();
    let all = samples::conversation();
    let events = all[..2].to_vec();
    store.create(&samples::id()).unwrap().append(&events).unwrap();
    let path = store.path(&samples::id());
    let whole = fs::read(&path).unwrap();
    for cut in 0..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let ends = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        // The last record is whole when only its end is missing.
        let kept = ends.filter(|(end, _)| *end <= cut && cut > 0).count();
        let opened = store.open(&samples::id()).unwrap();
        assert_eq!(opened.events, events[..kept], "cut at {cut}");
        assert!(opened.repair_count <= 1);
        let log = opened.log.unwrap();
        log.append(&all[kept..=kept]).unwrap();
        drop(log);
        let again = store.read(&samples::id()).unwrap();
        assert_eq!(again.events, all[..=kept], "cut at {cut}");
        assert!(again.repairs.iter().all(|repair| repair.cause != Cause::Unfinished));
    }
}

#[test]
fn a_session_is_open_once_at_a_time() {
    let (_parent, store) = store();
    save(&store, "a");
    let opened = store.open(&id("a")).unwrap();
    let pid = std::process::id();
    let refused = message(store.open(&id("a")));
    assert!(
        refused.starts_with(&format!("session a is open in process {pid} since ")),
        "{refused}"
    );
    assert!(matches!(store.delete(&id("a")), Err(Error::Open { .. })));
    assert!(matches!(store.rename(&id("a"), &id("b")), Err(Error::Open { .. })));
    assert_eq!(store.read(&id("a")).unwrap().events.len(), opened.events.len());
    drop(opened);
    store.delete(&id("a")).unwrap();
    assert!(!store.exists(&id("a")));
}

#[test]
fn log_of_a_later_version_cannot_be_continued() {
    let (_parent, store) = store();
    let mut events = conversation("a");
    let EventKind::SessionStarted { format, .. } = &mut events[0].kind else {
        panic!("the sample starts with its start");
    };
    *format = contract::log::FORMAT + 1;
    store.create(&id("a")).unwrap().append(&events).unwrap();
    let before = fs::read(store.path(&id("a"))).unwrap();
    let opened = store.open(&id("a")).unwrap();
    assert!(opened.log.is_none());
    assert_eq!(opened.events, events);
    assert_eq!(fs::read(store.path(&id("a"))).unwrap(), before);
    assert!(store.fork(&id("a"), &id("b"), None).unwrap().log.is_some());
}

#[test]
fn sessions_of_one_second_get_distinct_names() {
    let (_parent, store) = store();
    let at = samples::conversation()[0].at;
    let barrier = Barrier::new(20);
    let logs: Vec<FileLog> = std::thread::scope(|scope| {
        let create = || {
            barrier.wait();
            store.create_named_for(at).unwrap()
        };
        let threads: Vec<_> = (0..20).map(|_| scope.spawn(create)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut names: Vec<&str> = logs.iter().map(|log| log.id.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 20);
    assert_eq!(names[0], "session-20261115-000000");
    assert!(names.contains(&"session-20261115-000000-20"), "{names:?}");
}

#[test]
fn session_name_is_unique() {
    let (_parent, store) = store();
    save(&store, "a");
    save(&store, "b");
    assert_eq!(message(store.create(&id("a"))), "Session already exists: a");
    assert_eq!(message(store.rename(&id("a"), &id("b"))), "Session already exists: b");
    assert_eq!(message(store.rename(&id("a"), &id("a"))), "Session already exists: a");
    assert_eq!(message(store.rename(&id("x"), &id("c"))), "Session not found: x");
    assert_eq!(message(store.fork(&id("a"), &id("b"), None)), "Session already exists: b");
}

#[test]
fn renamed_session_continues_under_its_name() {
    let (_parent, store) = store();
    let events = conversation("a");
    store.create(&id("a")).unwrap().append(&events[..4]).unwrap();
    store.rename(&id("a"), &id("b")).unwrap();
    assert!(!store.exists(&id("a")));
    let opened = store.open(&id("b")).unwrap();
    assert_eq!(opened.events, conversation("b")[..4]);
    opened.log.unwrap().append(&conversation("b")[4..]).unwrap();
    assert_eq!(store.read(&id("b")).unwrap().events, conversation("b"));
}

#[test]
fn fork_copies_events_up_to_a_point() {
    let (_parent, store) = store();
    save(&store, "a");
    let forked = store.fork(&id("a"), &id("b"), Some(Seq(5))).unwrap();
    let EventKind::SessionStarted { cwd, forked_from, .. } = &forked.events[0].kind else {
        panic!("{:?}", forked.events[0]);
    };
    assert_eq!(cwd, "/home/ada/project");
    let origin = forked_from.as_ref().unwrap();
    assert_eq!((&origin.session, origin.seq), (&id("a"), Seq(5)));
    assert_eq!(forked.events[1..], conversation("b")[1..5]);
    forked.log.unwrap().append(&conversation("b")[5..]).unwrap();
    assert_eq!(store.read(&id("a")).unwrap().events, conversation("a"));

    let whole = store.fork(&id("b"), &id("c"), None).unwrap();
    let is_end = |event: &Event| matches!(event.kind, EventKind::SessionEnded);
    assert!(!whole.events.iter().any(is_end));
    let seqs = whole.events.iter().map(|event| event.seq.0);
    assert!(seqs.eq(1..=whole.events.len() as u64));
    assert!(whole.events.iter().all(|event| event.session == id("c")));
    assert_eq!(store.list().unwrap()[0].id, id("c"), "a fork is the newest session");
}

#[test]
fn fork_closes_gaps_and_reports_damage() {
    let (_parent, store) = store();
    save(&store, "a");
    let path = store.path(&id("a"));
    let mut bytes = fs::read(&path).unwrap();
    let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 20;
    bytes[second] ^= 1;
    fs::write(&path, bytes).unwrap();
    let forked = store.fork(&id("a"), &id("b"), None).unwrap();
    assert_eq!(forked.repair_count, 2);
    let seqs = forked.events.iter().map(|event| event.seq.0);
    assert!(seqs.eq(1..=forked.events.len() as u64));
}

#[test]
fn session_is_found_by_prefix() {
    let (_parent, store) = store();
    for name in ["alpha-1", "alpha-2", "beta"] {
        save(&store, name);
    }
    assert_eq!(store.resolve("alpha-1").unwrap(), id("alpha-1"));
    assert_eq!(store.resolve("b").unwrap(), id("beta"));
    assert_eq!(store.resolve("last").unwrap(), id("beta"));
    assert_eq!(message(store.resolve("gamma")), "Session not found: gamma");
    let ambiguous = message(store.resolve("alpha"));
    assert!(ambiguous.contains("alpha-1, alpha-2"), "{ambiguous}");
    assert!(message(store.resolve("../x")).starts_with("Invalid session ID: '../x'. "));
}

#[test]
fn list_is_equal_with_and_without_an_index() {
    let (_parent, store) = store();
    for name in ["a", "b", "c"] {
        save(&store, name);
    }
    let index = store.directory.join("index.json");
    let listed = store.list().unwrap();
    assert_eq!(listed.len(), 3);
    assert!(index.is_file());
    for broken in ["", "{", "[]", "{\"version\":99,\"sessions\":{}}", "\0"] {
        fs::write(&index, broken).unwrap();
        assert_eq!(store.list().unwrap(), listed);
    }
    fs::remove_file(&index).unwrap();
    assert_eq!(store.list().unwrap(), listed);

    store.delete(&id("a")).unwrap();
    let title = "changed".to_owned();
    let mut event = samples::event(17, EventKind::Titled { title });
    event.session = id("b");
    store.open(&id("b")).unwrap().log.unwrap().append(&[event]).unwrap();
    let listed = store.list().unwrap();
    let names: Vec<&str> = listed.iter().map(|summary| summary.id.as_str()).collect();
    assert_eq!(names, ["b", "c"]);
    assert_eq!(listed[0].title.as_deref(), Some("changed"));
}

#[test]
fn list_uses_the_index_for_unchanged_logs() {
    let (_parent, store) = store();
    save(&store, "a");
    store.list().unwrap();
    let index = store.directory.join("index.json");
    let cached = fs::read_to_string(&index).unwrap();
    fs::write(&index, cached.replace("Mending", "Cached")).unwrap();
    assert_eq!(store.list().unwrap()[0].title.as_deref(), Some("Cached the parser"));
}

#[test]
fn other_files_in_the_directory_are_no_sessions() {
    let (_parent, store) = store();
    save(&store, "a");
    fs::write(store.directory.join("empty.jsonl"), "").unwrap();
    fs::write(store.directory.join("a b.jsonl"), "x").unwrap();
    fs::write(store.directory.join("b.jsonl.tmp"), "x").unwrap();
    fs::create_dir(store.directory.join("directory.jsonl")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", store.directory.join("link.jsonl")).unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
    assert!(!store.exists(&id("link")) && !store.exists(&id("directory")));
    assert!(matches!(store.create(&id("link")), Err(Error::Exists(_))));
}

#[test]
fn uncreatable_directory_is_reported() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("file"), "").unwrap();
    let store = Store::new(parent.path().join("file/sessions"));
    let error = message(store.create(&id("a")));
    assert!(error.starts_with("cannot create the directory "), "{error}");
    assert!(error.contains("file/sessions"), "{error}");
}

#[test]
fn list_reads_only_appended_events() {
    use std::os::unix::fs::FileExt;
    let (parent, store) = store();
    let mut events = conversation("a");
    events[2].kind = EventKind::TurnStarted { prompt: "long ".repeat(2_000) };
    let log = store.create(&id("a")).unwrap();
    log.append(&events[..6]).unwrap();
    store.list().unwrap();
    log.append(&events[6..]).unwrap();
    // Damage far behind, which only who reads it again can see.
    let file = OpenOptions::new().write(true).open(store.path(&id("a"))).unwrap();
    file.write_all_at(b"?", 20).unwrap();
    let listed = store.list().unwrap();
    assert_eq!((listed[0].message_count, &*listed[0].cwd), (5, "/home/ada/project"));
    fs::remove_file(parent.path().join("sessions/index.json")).unwrap();
    assert_eq!(store.list().unwrap()[0].cwd, "");
    // If the end of the read part differs, the whole log is read again.
    let mut bytes = fs::read(store.path(&id("a"))).unwrap();
    bytes.truncate(bytes.len() - 100);
    bytes.extend_from_slice(&b"x\n".repeat(100));
    fs::write(store.path(&id("a")), bytes).unwrap();
    assert_eq!(store.list().unwrap()[0].title, None);
}

#[test]
fn the_newest_session_of_a_directory_is_found() {
    let (_parent, store) = store();
    assert_eq!(store.newest(|_| true).unwrap(), None);
    save(&store, "a");
    let mut later = conversation("b");
    for event in &mut later {
        event.at = "2027-01-01T00:00:00Z".parse().map(Timestamp).unwrap();
    }
    store.create(&id("b")).unwrap().append(&later).unwrap();
    save(&store, "c");
    for _ in 0..2 {
        assert_eq!(store.newest(|_| true).unwrap(), Some(id("b")));
        assert_eq!(store.newest(|cwd| cwd == "/elsewhere").unwrap(), None);
        assert_eq!(store.resolve("last").unwrap(), id("b"));
        store.list().unwrap();
    }
    let mut bytes = fs::read(store.path(&id("b"))).unwrap();
    bytes.extend_from_slice(&b"x".repeat(200_000));
    fs::write(store.path(&id("b")), bytes).unwrap();
    assert_eq!(store.newest(|_| true).unwrap(), Some(id("b")));
    fs::write(store.path(&id("b")), "garbage").unwrap();
    assert_eq!(store.newest(|cwd| cwd == "/home/ada/project").unwrap(), Some(id("c")));
}
