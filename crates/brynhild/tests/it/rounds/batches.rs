//! Several calls in one reply.

use std::collections::HashSet;

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::{check_history, inspect, last_results, messages};
use crate::project_with;

#[test]
fn results_are_in_the_order_of_the_calls() {
    let calls = (0..20).map(|index| ("Read", json!({"file_path": format!("{index}.txt")})));
    let server = ModelServer::start([Reply::calls(calls), Reply::text("ok")]);
    let project = project_with(&server);
    for index in 0..20 {
        // The first ones take longest.
        let rest = "x\n".repeat(2000 * (20 - index));
        project.file(format!("{index}.txt"), format!("file {index}\n{rest}"));
    }
    let answer = project.brynhild(&["chat", "--json", "go"]).success().json();
    let request = &server.chats()[1];
    check_history(request);
    for (index, result) in last_results(request).iter().enumerate() {
        assert!(result.starts_with(&format!("     1|file {index}\n")), "{index}");
    }
    let ids = |list: &str| -> Vec<Value> {
        answer[list].as_array().unwrap().iter().map(|it| it["id"].clone()).collect()
    };
    assert_eq!(ids("tool_calls"), ids("tool_results"));
}

#[test]
fn writing_calls_run_sequentially() {
    let append = |word: &str| {
        (
            "Bash",
            json!({"command": format!("mkdir busy && seq 20000 | tail -1 && echo {word} >> log.txt && rmdir busy")}),
        )
    };
    let server = ModelServer::start([
        Reply::calls([append("one"), append("two"), append("three")]),
        Reply::text("ok"),
    ]);
    let project = project_with(&server);
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert_eq!(project.read("log.txt"), "one\ntwo\nthree\n");
}

#[test]
fn read_after_a_write_sees_it() {
    let server = ModelServer::start([
        Reply::calls([
            ("Write", json!({"file_path": "a.txt", "content": "fresh\n"})),
            ("Read", json!({"file_path": "a.txt"})),
        ]),
        Reply::text("ok"),
    ]);
    let project = project_with(&server);
    project.brynhild(&["chat", "--yes", "go"]).success();
    assert_eq!(last_results(&server.chats()[1])[1], "     1|fresh");
}

#[test]
fn five_hundred_calls_in_one_reply_all_get_results() {
    let calls = (0..500).map(|index| match index % 3 {
        0 => inspect(),
        1 => ("Read", json!({"file_path": "a.txt"})),
        _ => ("Glob", json!({"pattern": "*.txt"})),
    });
    let server = ModelServer::start([Reply::calls(calls), Reply::text("ok")]);
    let project = project_with(&server);
    project.file("a.txt", "a\n");
    let answer = project.brynhild(&["chat", "--json", "go"]).success().json();
    assert_eq!(answer["tool_results"].as_array().unwrap().len(), 500);
    let request = &server.chats()[1];
    assert_eq!(last_results(request).len(), 500);
    check_history(request);
}

#[test]
fn five_hundred_unapproved_calls_all_get_results() {
    let calls = (0..500).map(|_| ("Bash", json!({"command": "touch made"})));
    let server = ModelServer::start([Reply::calls(calls), Reply::text("ok")]);
    let project = project_with(&server);
    let run = project.brynhild(&["chat", "--mode", "ask", "--json", "go"]);
    assert_eq!(run.code(3).json()["tool_results"].as_array().unwrap().len(), 500);
    check_history(&server.chats()[1]);
}

#[test]
fn repeated_and_empty_ids_become_unique() {
    let args = json!({"operation": "cwd"});
    let reply = || {
        Reply::default()
            .call_as("same", "Inspect", &args)
            .call_as("same", "Inspect", &args)
            .call_as("", "Inspect", &args)
            .call_as("", "Inspect", &args)
            .call_as("other", "Inspect", &args)
    };
    for way in [&["chat", "go"][..], &["chat", "--no-stream", "go"]] {
        let server = ModelServer::start([reply(), reply(), Reply::text("ok")]);
        project_with(&server).brynhild(way).success();
        let last = &server.chats()[2];
        check_history(last);
        let ids: Vec<String> = messages(last)
            .iter()
            .filter_map(|message| message["tool_call_id"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(ids.len(), 10, "{way:?}");
        assert!(ids.iter().all(|id| !id.is_empty()), "{ids:?}");
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 10, "{ids:?}");
    }
}

#[test]
fn ids_stay_unique_in_a_resumed_session() {
    let args = json!({"operation": "cwd"});
    let reply = || Reply::default().call_as("same", "Inspect", &args);
    let server = ModelServer::start([reply(), Reply::text("a"), reply(), Reply::text("b")]);
    let project = project_with(&server);
    project.brynhild(&["chat", "--session", "s", "go"]).success();
    project.brynhild(&["chat", "--resume", "s", "go"]).success();
    let last = &server.chats()[3];
    check_history(last);
    let ids: HashSet<String> = messages(last)
        .iter()
        .filter_map(|message| message["tool_call_id"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(ids.len(), 2);
}

#[test]
fn bad_call_does_not_affect_good_ones() {
    let server = ModelServer::start([
        Reply::calls([inspect(), ("Nope", json!({})), ("Read", json!({})), inspect()]),
        Reply::text("ok"),
    ]);
    let project = project_with(&server);
    let answer = project.brynhild(&["chat", "--json", "go"]).success().json();
    let success: Vec<bool> = answer["tool_results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["success"].as_bool().unwrap())
        .collect();
    assert_eq!(success, [true, false, false, true]);
    check_history(&server.chats()[1]);
}
