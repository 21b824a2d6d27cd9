use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use contract::event::{EventKind, Outcome};
use contract::message::Usage;

use super::*;
use crate::export::Thinking;
use crate::samples;
use crate::tool_statistics::ToolStatistics;

fn settings(directory: PathBuf) -> Settings {
    Settings { directory, private: true, zone: TimeZone::fixed(jiff::tz::offset(1)), limit: None }
}

fn recorded() -> (tempfile::TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let settings = settings(parent.path().join("logs"));
    let events = samples::conversation();
    let mut log = ConversationLog::create(&settings, events[0].at).unwrap();
    for event in &events {
        log.record(event).unwrap();
    }
    (parent, log.path)
}

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn conversation_is_logged_line_by_line() {
    let (_parent, path) = recorded();
    insta::assert_snapshot!(fs::read_to_string(path).unwrap());
}

#[test]
fn log_is_exported_as_markdown() {
    let (_parent, path) = recorded();
    let (lines, skipped) = read(&path).unwrap();
    assert_eq!(skipped, 0);
    insta::assert_snapshot!(markdown(&lines, Some("A log"), Thinking::Collapsible));
}

#[test]
fn log_and_session_give_equal_statistics() {
    let (_parent, path) = recorded();
    let (lines, _) = read(&path).unwrap();
    let of_log = ToolStatistics::of_log(&lines);
    let of_events = ToolStatistics::of_events(&samples::conversation());
    assert_eq!(of_log.summary, of_events.summary);
}

#[test]
fn log_file_and_directory_are_private() {
    let (_parent, path) = recorded();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
}

#[test]
fn own_directory_is_made_private() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut settings = settings(directory.path().to_owned());
    settings.private = false;
    let at = samples::conversation()[0].at;
    ConversationLog::create(&settings, at).unwrap();
    assert_eq!(mode(directory.path()), 0o755);
    settings.private = true;
    ConversationLog::create(&settings, at).unwrap();
    assert_eq!(mode(directory.path()), 0o700);
}

#[test]
fn logs_of_one_second_do_not_overwrite_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let settings = settings(directory.path().to_owned());
    let at = samples::conversation()[0].at;
    let create = || ConversationLog::create(&settings, at).unwrap();
    let names: Vec<PathBuf> = (0..3).map(|_| create().path).collect();
    assert!(names[0].ends_with("brynhild_20261115_010000.jsonl"), "{names:?}");
    assert!(names[2].ends_with("brynhild_20261115_010000_3.jsonl"), "{names:?}");
}

#[test]
fn symlinked_directory_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("logs");
    symlink(parent.path(), &path).unwrap();
    let at = samples::conversation()[0].at;
    let Err(error) = ConversationLog::create(&settings(path.clone()), at) else {
        panic!("followed a link");
    };
    assert!(error.to_string().contains("is a symbolic link"), "{error}");
    fs::remove_file(&path).unwrap();
    fs::write(&path, "").unwrap();
    assert!(ConversationLog::create(&settings(path), at).is_err());
}

#[test]
fn directory_of_another_user_is_refused() {
    let given = tempfile::tempdir().unwrap();
    // Only the superuser can give a directory away; for all others the root directory is foreign.
    let directory = match chown(given.path(), Some(12_345), None) {
        Ok(()) => given.path().to_owned(),
        Err(_) => PathBuf::from("/"),
    };
    let at = samples::conversation()[0].at;
    let Err(error) = ConversationLog::create(&settings(directory), at) else {
        panic!("wrote into somebody else's directory");
    };
    assert!(error.to_string().contains("belongs to another user"), "{error}");
}

#[test]
fn raw_logs_and_other_files_are_not_listed() {
    let (_parent, path) = recorded();
    let directory = path.parent().unwrap();
    for other in ["brynhild_raw_20261115_010000.jsonl", "notes.jsonl", "brynhild_x.txt"] {
        fs::write(directory.join(other), "").unwrap();
    }
    let logs = list(directory, Kind::Conversation).unwrap();
    assert_eq!(logs.len(), 1);
    assert_eq!(logs[0].path, path);
    assert_eq!(locate(directory, Kind::Conversation, None).unwrap(), path);
    assert_eq!(locate(directory, Kind::Conversation, Some(&logs[0].name)).unwrap(), path);
    assert!(matches!(
        locate(directory, Kind::Conversation, Some("x")),
        Err(Error::NotFound { .. })
    ));
    assert!(list(&directory.join("missing"), Kind::Conversation).unwrap().is_empty());
}

#[test]
fn a_named_file_is_continued() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.jsonl");
    fs::write(&path, "torn").unwrap();
    let mut log = ConversationLog::append_to(path.clone(), TimeZone::UTC).unwrap();
    log.record(&samples::event(1, EventKind::SessionEnded)).unwrap();
    let (lines, skipped) = read(&path).unwrap();
    assert_eq!((lines.len(), skipped), (2, 1));
    assert_eq!(lines[1]["total_events"], 2);
}

#[test]
fn model_change_and_failure_are_logged() {
    let configured = |model: &str| EventKind::Configured {
        provider: "script".into(),
        model: model.into(),
        mode: contract::policy::Mode::Normal,
        system: "s".into(),
    };
    let failed = EventKind::TurnFinished {
        outcome: Outcome::Failed { error: "refused".into(), hint: None },
        usage: Usage::default(),
    };
    let mut translator = lines::Translator::new(TimeZone::UTC);
    let mut kinds = Vec::new();
    for what in [configured("a"), configured("a"), configured("b"), failed] {
        for line in translator.translate(&samples::event(1, what)) {
            kinds.push(line["event_type"].as_str().unwrap().to_owned());
        }
    }
    let begin = ["session_start", "context_init", "context_ready", "system_prompt"];
    assert_eq!(kinds, [&begin[..], &["model_switch", "error"]].concat());
}
