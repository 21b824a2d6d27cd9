//! Questions: the first answer counts, and one that nobody answers waits.

use std::collections::HashMap;
use std::sync::Barrier;

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::{OTHER, Server, TOKEN, write_call};
use crate::project_with;

/// Questions of one reply, and turns.
const CALLS: usize = 50;
const TURNS: usize = 20;

#[test]
fn of_two_answers_at_once_one_counts() {
    let mut count = 0;
    let model = ModelServer::respond_with(move |_| {
        count += 1;
        if count % 2 == 0 {
            return Reply::text("Done.");
        }
        let call =
            |number| ("Write", json!({"file_path": format!("{number}.txt"), "content": "x"}));
        Reply::calls((0..CALLS).map(call))
    });
    let project = project_with(&model);
    let server = Server::start(&project, &[]);
    let session = server.open(&project, "ask");
    let path = format!("/v1/sessions/{session}/inputs");
    let mut stream = server.stream(&session, "after=0");
    let mut winners: HashMap<String, &str> = HashMap::new();
    for _ in 0..TURNS {
        server.prompt(&session, "write");
        let calls: Vec<Value> =
            (0..CALLS).map(|_| stream.wait_for("asked")["call"].clone()).collect();
        let barrier = Barrier::new(2);
        let answers = |token: &'static str| {
            let (server, calls, path, barrier) = (&server, &calls, &path, &barrier);
            move || -> Vec<u16> {
                barrier.wait();
                let answer = |call: &Value| {
                    let body =
                        json!({"input": "answer", "call": call, "answer": "deny", "reason": token});
                    let answer = server.send(token, "POST", path, Some(&body));
                    if answer.status == 409 {
                        assert_eq!(answer.json()["answer"]["call"], *call, "{answer:?}");
                    }
                    answer.status
                };
                calls.iter().map(answer).collect()
            }
        };
        let (one, other) = std::thread::scope(|scope| {
            let (one, other) = (scope.spawn(answers(TOKEN)), scope.spawn(answers(OTHER)));
            (one.join().unwrap(), other.join().unwrap())
        });
        for (call, (one, other)) in calls.iter().zip(one.into_iter().zip(other)) {
            let winner = match (one, other) {
                (202, 409) => "TOKEN",
                (409, 202) => "OTHER",
                statuses => panic!("{call}: {statuses:?}"),
            };
            winners.insert(call.as_str().unwrap().to_owned(), winner);
        }
        stream.wait_for("turn_finished");
    }
    let log = server.log(&session);
    let answered: Vec<&Value> = log.iter().filter(|event| event["type"] == "answered").collect();
    assert_eq!(answered.len(), CALLS * TURNS);
    for event in answered {
        let winner = winners[event["call"].as_str().unwrap()];
        assert_eq!(event["by"], winner);
        let reason = if winner == "TOKEN" { TOKEN } else { OTHER };
        assert_eq!(event["answer"], json!({"answer": "deny", "reason": reason}));
    }
    assert!(std::fs::read_dir(project.path()).unwrap().all(|entry| {
        let name = entry.unwrap().file_name();
        !name.to_string_lossy().ends_with(".txt")
    }));
}

#[test]
fn unanswered_question_ends_the_turn_and_waits() {
    let replies =
        [write_call(), write_call(), Reply::text("Written."), write_call(), Reply::text("No.")];
    let model = ModelServer::start(replies);
    let project = project_with(&model);
    let server = Server::start(&project, &["--question-timeout", "0"]);
    let session = server.open(&project, "ask");
    let path = format!("/v1/sessions/{session}");
    let mut list = super::Stream::open(server.connect(), server.port, "/v1/events");
    server.prompt(&session, "write");
    // No client follows the session itself.
    loop {
        list.event();
        let log = server.log(&session);
        if log.iter().any(|event| event["type"] == "turn_finished") {
            break;
        }
    }
    let details = server.get(&path);
    assert_eq!(details["state"], "asking");
    let log = server.log(&session);
    let ended = log.iter().find(|event| event["type"] == "turn_finished").unwrap();
    assert_eq!(ended["outcome"]["outcome"], "cancelled");
    let mut stream = server.stream(&session, &format!("after={}", details["seq"]));
    let call = &details["pending"][0]["call"];
    server.input(&session, &json!({"input": "answer", "call": call, "answer": "once"}));
    assert_eq!(stream.wait_for("answered")["answer"]["answer"], "once");
    stream.wait_for("turn_finished");
    assert_eq!(project.read("made.txt"), "hi\n");
    assert_eq!(server.get(&path)["pending"], json!([]));
    // The answer was for that call once.
    server.prompt(&session, "write");
    let call = stream.wait_for("asked")["call"].clone();
    server.input(&session, &json!({"input": "answer", "call": call, "answer": "deny"}));
    stream.wait_for("turn_finished");
}
