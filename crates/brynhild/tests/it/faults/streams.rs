//! A reply that breaks off at each byte, in each wire format: a command that was not received whole
//! is never run.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use testkit::wire::Format;
use testkit::{ModelServer, Project, Recorded, Reply};

use super::{sample, tell};

const FORMATS: [(&str, Format); 3] =
    [("openai", Format::OpenAiChat), ("anthropic", Format::Anthropic), ("ollama", Format::Ollama)];

/// Every beginning of this command does something else.
const COMMAND: &str = "echo whole > first; echo whole > second";

fn reply() -> Reply {
    Reply::text("Let me see.").thinking("Hm.").call("Bash", &json!({"command": COMMAND}))
}

/// A project whose model is `server`, by the wire format of this kind of provider.
fn project(kind: &str, server: &ModelServer) -> Project {
    let project = crate::project();
    let path = if kind == "openai" { "/v1" } else { "" };
    project.config(&format!(
        "providers:\n  default: test\n  instances:\n    test:\n      type: {kind}\n      \
         base_url: {}{path}\n      default_model: test-model\n      api_key: k\n\
         logging:\n  enabled: false\n",
        server.url()
    ));
    project
}

/// The length of the recording in a format.
fn length(kind: &str, format: Format) -> usize {
    let recorded: std::sync::Arc<Mutex<Option<Recorded>>> = std::sync::Arc::default();
    let seen = std::sync::Arc::clone(&recorded);
    let server = ModelServer::respond_with(move |request| {
        *seen.lock().unwrap() = Some(request.clone());
        Reply::text("Yes.")
    });
    project(kind, &server).brynhild(&["chat", "Go", "--no-save"]).success();
    let request = recorded.lock().unwrap().take().unwrap();
    format.body(&reply(), &request.body, 1).len()
}

/// Gives a reply that breaks off at a byte, then none at all. Returns whether the command was run.
fn cut_at(kind: &str, cut: usize) -> bool {
    let mut asked = 0;
    let server = ModelServer::respond_with(move |_| {
        asked += 1;
        if asked == 1 { reply().cut_at(cut) } else { Reply::failure(400) }
    });
    let project = project(kind, &server);
    let words = ["chat", "Go", "--yes", "--dangerously-skip-sandbox", "--no-save"];
    let run = project.command(&words).stdin("").run();
    assert!(!run.stderr.contains("panicked"), "{kind} {cut}: {run}");
    run.code(1);
    let mut made: Vec<String> = fs::read_dir(project.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    made.sort();
    if made.is_empty() {
        return false;
    }
    assert_eq!(made, ["first", "second"], "{kind} cut at {cut}: half a command was run");
    assert_eq!(project.read("first") + &project.read("second"), "whole\nwhole\n");
    true
}

/// Cuts at each of these bytes, many at a time: most of the time is spent waiting.
fn cut_at_each(cuts: &[(&'static str, usize)]) -> usize {
    let (next, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some((kind, cut)) = cuts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    ran.fetch_add(usize::from(cut_at(kind, *cut)), Ordering::Relaxed);
                }
            });
        }
    });
    ran.into_inner()
}

fn all() -> Vec<(&'static str, usize)> {
    let lengths = FORMATS.map(|(kind, format)| (kind, length(kind, format)));
    lengths.iter().flat_map(|(kind, length)| (0..*length).map(|cut| (*kind, cut))).collect()
}

#[test]
fn a_reply_cut_at_some_bytes_runs_no_half_command() {
    cut_at_each(&sample(&all(), 18));
}

#[test]
#[ignore = "takes many minutes: a run for each byte of three recordings"]
fn a_reply_cut_at_any_byte_runs_no_half_command() {
    let all = all();
    let ran = cut_at_each(&all);
    tell(&format!(
        "{} replies cut, one at each byte of {} formats; {ran} had their command whole",
        all.len(),
        FORMATS.len()
    ));
    assert!(ran * 10 < all.len(), "{ran}");
}
