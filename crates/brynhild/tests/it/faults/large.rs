//! Sessions too large to be read whole: the model goes on from what matters, and the log keeps all.

use contract::event::{CompactionStrategy, Event, EventKind};
use contract::id::{Seq, SessionId, Timestamp};
use contract::log::Log;
use contract::message::{Part, Reply as Words, StopReason, Usage};
use sessions::store::Store;
use testkit::{ModelServer, Project, Reply};

use crate::crashes::{BINARY, SESSION, project_around, sessions_of};

/// A session of so many turns of about 20 KB; what came before `summary_after` was summarized.
fn session(project: &Project, turns: usize, summary_after: Option<usize>) {
    let id = SessionId::parse(SESSION).unwrap();
    let log = Store::new(sessions_of(project)).create(&id).unwrap();
    let cwd = project.path().display().to_string();
    let mut whats = vec![EventKind::SessionStarted { cwd, format: 1, forked_from: None }];
    for turn in 1..=turns {
        let filling = "some words that fill a line of this prompt\n".repeat(240);
        whats.push(EventKind::TurnStarted { prompt: format!("prompt {turn}: {filling}") });
        let text = format!("answer {turn}: {filling}");
        whats.push(EventKind::ReplyFinished {
            reply: Words { parts: vec![Part::Text { text }], stop: StopReason::EndTurn },
            usage: Usage::default(),
        });
        if Some(turn) == summary_after {
            whats.push(EventKind::Compacted {
                summary: Some("the summary".into()),
                strategy: CompactionStrategy::Summarize,
                dropped: 1,
                range: None,
                kept: 2,
                usage: Usage::default(),
                lasting: None,
            });
        }
    }
    let event = |(seq, what)| {
        let (session, at) = (id.clone(), Timestamp::now());
        Event { seq: Seq(seq), session, at, within: None, kind: what }
    };
    let events: Vec<Event> = (1..).zip(whats).map(event).collect();
    log.append(&events).unwrap();
}

/// The beginnings of the messages that the model saw last.
fn seen(server: &ModelServer) -> Vec<String> {
    let chats = server.chats();
    let messages = chats.last().unwrap().body["messages"].as_array().unwrap().clone();
    let text = |message: &serde_json::Value| {
        let text = message["content"].as_str().unwrap_or_default().to_owned();
        text.split(':').next().unwrap_or_default().to_owned()
    };
    messages.iter().skip(1).map(text).collect()
}

fn answering() -> ModelServer {
    ModelServer::start([Reply::text("Yes.")]).repeat_last()
}

#[test]
fn large_session_resumes_from_its_last_summary() {
    let server = answering();
    let project = project_around(BINARY, &server);
    session(&project, 450, Some(448));
    for (resume, count) in [(&["--resume", SESSION][..], 8), (&["--continue"], 10)] {
        let run = project.brynhild(&[&["chat", "On"], resume].concat());
        assert_eq!(run.success().stdout, "Yes.\n", "{run}");
        let seen = seen(&server);
        assert_eq!(seen[..3], ["the summary", "prompt 448", "answer 448"], "{seen:?}");
        assert_eq!(seen.len(), count, "{seen:?}");
    }
    let shown = project.brynhild(&["session", "show", SESSION, "--json"]).success().json();
    assert_eq!(shown["message_count"], 904);
    let found = project.brynhild(&["session", "search", "prompt", "17:", "--json"]);
    assert_eq!(found.success().json()[0]["session"], SESSION);
}

#[test]
fn old_damage_of_a_large_session_is_reported_on_resume() {
    let server = answering();
    let project = project_around(BINARY, &server);
    session(&project, 450, Some(448));
    let path = crate::crashes::session_file(&project);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100_000] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let run = project.brynhild(&["chat", "On", "--resume", SESSION]);
    assert!(run.success().stderr.contains("damaged: line "), "{run}");
    assert!(std::fs::read(&path).unwrap().starts_with(&bytes), "nothing is rewritten");
}

#[test]
fn too_long_history_is_cut_and_the_cut_recorded() {
    let server = answering();
    let project = project_around(BINARY, &server);
    session(&project, 1_750, None);
    let words = ["chat", "On", "--resume", SESSION, "--output-format", "stream-json"];
    let run = project.brynhild(&words);
    let events = run.success().json_lines();
    let cut = events.iter().find(|event| event["type"] == "compacted").unwrap();
    let (dropped, kept) = (cut["dropped"].as_u64().unwrap(), cut["kept"].as_u64().unwrap());
    assert_eq!(dropped + kept, 3_500);
    let first = seen(&server);
    assert_eq!(first.len() as u64, kept + 2, "what stands for the others, and the prompt");
    assert!(first[1].starts_with("prompt ") || first[1].starts_with("answer "), "{}", first[1]);
    let again = project.brynhild(&["chat", "More", "--resume", SESSION]);
    assert_eq!(again.success().stdout, "Yes.\n", "{again}");
    assert_eq!(seen(&server)[..3], first[..3], "the same is cut the next time");
}

#[test]
fn export_has_the_whole_session_after_a_partial_read() {
    let server = answering();
    let project = project_around(BINARY, &server);
    session(&project, 450, Some(448));
    let lines = "On\n/export talk.md\n";
    let run = project.command(&["--plain", "--resume", SESSION]).stdin(lines).run();
    assert!(run.success().stdout.contains("Written: "), "{run}");
    let text = project.read("talk.md");
    for turn in [1, 2, 225, 447, 450] {
        assert!(text.contains(&format!("answer {turn}: some words")), "turn {turn} is missing");
    }
    assert!(text.contains("\nYes.\n"), "what was said last is there");
    let words = ["chat", "More", "--resume", SESSION, "-o", "again.md"];
    assert_eq!(project.brynhild(&words).success().stdout, "Yes.\n");
    assert!(project.read("again.md").contains("answer 1: some words"));
}
