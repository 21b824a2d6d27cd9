//! Many at once: sessions in one directory that know nothing of each other, and many that want the
//! same one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::project::Running;
use testkit::{ModelServer, Project, Reply};

use super::tell;
use crate::crashes::{BINARY, check_pairs, project_around};

/// A model that writes down what each prompt says, so that mixed histories show.
fn echoing() -> ModelServer {
    ModelServer::respond_with(|request| {
        check_pairs(request);
        let messages = request.body["messages"].as_array().unwrap();
        let mut names = messages.iter().filter(|message| message["role"] == "user");
        let name = |message: &Value| {
            let text = message["content"].as_str().unwrap().to_owned();
            text.split(' ').next().unwrap().to_owned()
        };
        let first = name(names.next().unwrap());
        assert!(names.all(|message| name(message) == first), "two sessions in one history");
        if messages.last().unwrap()["role"] == "tool" {
            return Reply::text(format!("{first} done."));
        }
        let command = format!("echo {first} >> {first}");
        Reply::calls([("Bash", json!({"command": command}))])
    })
}

/// So many sessions of so many turns at the same time in one directory; some of them are killed.
fn at_once(sessions: usize, turns: usize, killed: &[usize]) {
    let server = echoing();
    let project = project_around(BINARY, &server);
    let run = |number: usize| {
        let lines: Vec<String> = (0..turns).map(|turn| format!("s{number} {turn}\n")).collect();
        let session = format!("s{number}");
        let words = ["--plain", "--session", &session, "--yes", "--dangerously-skip-sandbox"];
        project.command(&words).stdin(lines.concat()).patience(Duration::from_mins(10)).spawn()
    };
    let running: Vec<Running> = (0..sessions).map(run).collect();
    if !killed.is_empty() {
        server.wait_for_requests(sessions * turns / 2);
    }
    for number in killed {
        let prompt = format!("s{number} 0");
        server.wait_for_request(&prompt, |request| request.body.to_string().contains(&prompt));
        running[*number].kill();
    }
    for (number, running) in running.into_iter().enumerate() {
        let run = running.wait();
        if killed.contains(&number) {
            continue;
        }
        let expected = format!("s{number} done.\n").repeat(turns);
        assert_eq!(run.success().stdout, expected, "session {number}");
        assert_eq!(project.read(format!("s{number}")), format!("s{number}\n").repeat(turns));
    }
    for number in 0..sessions {
        let id = format!("s{number}");
        let shown = project.brynhild(&["session", "show", &id, "--json"]);
        assert_eq!(shown.success().stderr, "", "session {number} is damaged");
        let session = shown.json();
        let is_mine = |message: &Value| {
            !message["content"].as_str().unwrap().contains("done.")
                || message["content"] == format!("s{number} done.")
        };
        assert!(session["messages"].as_array().unwrap().iter().all(is_mine), "session {number}");
    }
    let list = project.brynhild(&["session", "list", "--json", "--limit", "100"]).success().json();
    assert_eq!(list.as_array().unwrap().len(), sessions);
}

#[test]
fn twenty_sessions_in_one_directory_are_independent() {
    at_once(20, 2, &[3, 11]);
}

#[test]
#[ignore = "takes minutes: twenty sessions of fifty turns"]
fn twenty_long_sessions_in_one_directory_are_independent() {
    at_once(20, 50, &[1, 5, 9, 13, 17]);
    tell("20 sessions of 50 turns at once, 5 of them killed");
}

/// Two processes open one session: one gets it, the other gets an error or waits.
fn race(project: &Project, rounds: usize) -> usize {
    let mut refused = 0;
    for _ in 0..rounds {
        let start = || project.command(&["chat", "x", "--session", "one"]).stdin("").spawn();
        let both = [start(), start()].map(Running::wait);
        let done = both.iter().filter(|run| run.status.success()).count();
        assert!(done >= 1, "{} {}", both[0], both[1]);
        for run in both.iter().filter(|run| !run.status.success()) {
            let words = ["is open in", "Session already exists"];
            assert!(words.iter().any(|words| run.code(2).stderr.contains(words)), "{run}");
            refused += 1;
        }
    }
    let shown = project.brynhild(&["session", "show", "one"]);
    assert_eq!(shown.success().stderr, "");
    refused
}

fn counted() -> (ModelServer, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&asked);
    let server = ModelServer::respond_with(move |request| {
        check_pairs(request);
        counting.fetch_add(1, Ordering::Relaxed);
        Reply::text("Yes.")
    });
    (server, asked)
}

#[test]
fn racing_processes_never_share_a_session() {
    let (server, _) = counted();
    race(&project_around(BINARY, &server), 4);
}

#[test]
#[ignore = "takes a minute: a hundred races"]
fn racing_processes_never_share_a_session_in_100_rounds() {
    let (server, asked) = counted();
    let refused = race(&project_around(BINARY, &server), 100);
    let asked = asked.load(Ordering::Relaxed);
    assert_eq!(asked, 200 - refused, "whoever was refused asked nothing");
    tell(&format!("100 races of two for one session: {refused} were refused, none was mixed up"));
}
