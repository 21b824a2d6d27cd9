//! Replies that begin well: cut, stalled, garbled.

use serde_json::json;
use testkit::{ModelServer, Reply};

use super::{TYPES, project_of, with_each_type};

/// Bytes of a streamed reply after which some of its text has gone out, and its end has not.
const MIDDLE: usize = 900;

fn long_reply() -> Reply {
    Reply::text("word ".repeat(400)).delta_size(20)
}

#[test]
fn cut_reply_is_retried() {
    with_each_type(|kind| {
        for cut in
            [long_reply().cut_at(MIDDLE), long_reply().reset_at(MIDDLE), long_reply().cut_at(0)]
        {
            let server = ModelServer::start([cut, Reply::text("all of it")]);
            let run = project_of(kind, &server).brynhild(&["chat", "--json", "hi"]);
            let answer = run.success().json();
            assert_eq!(answer["response"], "all of it", "{kind}: nothing of the first try is left");
            let chats = server.chats();
            assert_eq!(chats.len(), 2, "{kind}");
            assert_eq!(chats[0].text, chats[1].text, "{kind}");
        }
    });
}

#[test]
fn always_cut_reply_keeps_its_text_and_the_session() {
    with_each_type(|kind| {
        let server = ModelServer::respond_with(|request| {
            if request.text.contains("and again") {
                Reply::text("recovered")
            } else {
                long_reply().cut_at(MIDDLE)
            }
        });
        let project = project_of(kind, &server);
        let run = project.brynhild(&["chat", "--session", "cut", "hi"]);
        run.code(1);
        assert!(run.stdout.starts_with("word word"), "{kind}\n{run}");
        assert!(run.stderr.contains("ended in the middle of the reply"), "{kind}\n{run}");
        assert_eq!(server.chats().len(), 5, "{kind}");
        let shown = project.brynhild(&["session", "show", "cut"]);
        assert!(shown.success().stdout.contains("word word"), "{kind}\n{shown}");
        let run = project.brynhild(&["chat", "--resume", "cut", "and again"]);
        assert_eq!(run.success().stdout, "recovered\n", "{kind}");
        let last = server.chats().pop().unwrap();
        assert!(last.text.contains("word word"), "{kind}: the model sees what it said");
    });
}

#[test]
fn cut_whole_reply_is_retried() {
    with_each_type(|kind| {
        let server = ModelServer::start([long_reply().cut_at(MIDDLE), Reply::text("all of it")]);
        let run = project_of(kind, &server).brynhild(&["chat", "--no-stream", "hi"]);
        assert_eq!(run.success().stdout, "all of it\n", "{kind}");
    });
}

#[test]
fn cut_call_does_not_run() {
    with_each_type(|kind| {
        let content = "x".repeat(4000);
        let call = ("Write", json!({"file_path": "made.txt", "content": content}));
        let server =
            ModelServer::start([Reply::calls([call]).cut_at(1500), Reply::text("never mind")]);
        let project = project_of(kind, &server);
        let run = project.brynhild(&["chat", "--yes", "write"]);
        assert_eq!(run.success().stdout, "never mind\n", "{kind}");
        assert!(!project.path().join("made.txt").exists(), "{kind}");
    });
}

#[test]
fn interrupted_stalled_reply_keeps_its_text() {
    for kind in TYPES {
        let server = ModelServer::start([long_reply().stall_at(MIDDLE), Reply::text("going on")]);
        let project = project_of(kind, &server);
        let args = ["chat", "--output-format", "stream-json", "--session", "stall", "hi"];
        let running = project.command(&args).stdin("").spawn();
        running.wait_for_stdout("reply_delta");
        server.wait_for_stalls(1);
        running.interrupt();
        running.wait().code(130);
        server.wait_for_hang_ups(1);
        let run = project.brynhild(&["chat", "--resume", "stall", "more"]);
        assert_eq!(run.success().stdout, "going on\n", "{kind}");
        let resumed = server.chats().pop().unwrap();
        assert!(resumed.text.contains("word word"), "{kind}: {}", resumed.text);
    }
}

#[test]
fn interrupt_message_names_the_saved_session() {
    let server = ModelServer::start([long_reply().stall_at(2500)]);
    let project = project_of("openai", &server);
    let running = project.command(&["chat", "hi"]).stdin("").spawn();
    server.wait_for_stalls(1);
    running.interrupt();
    let run = running.wait();
    run.code(130);
    assert!(run.stderr.contains("interrupted; the session is saved"), "{run}");
}

#[test]
fn silent_server_can_be_interrupted() {
    for kind in TYPES {
        let server = ModelServer::start([Reply::text("late").withhold(), Reply::text("ok")]);
        let project = project_of(kind, &server);
        let running = project.command(&["chat", "--session", "mute", "hi"]).stdin("").spawn();
        server.wait_for_stalls(1);
        running.interrupt();
        running.wait().code(130);
        let run = project.brynhild(&["chat", "--resume", "mute", "again"]);
        assert_eq!(run.success().stdout, "ok\n", "{kind}");
    }
}

#[test]
fn garbage_in_place_of_a_reply_is_shown_and_not_repeated() {
    for kind in TYPES {
        for way in [&["chat", "hi"][..], &["chat", "--no-stream", "hi"]] {
            let garbage = Reply::bytes("data: {this is not a json\n\nnor this\n\n");
            let server = ModelServer::start([garbage]);
            let run = project_of(kind, &server).brynhild(way);
            run.code(1);
            assert!(run.stderr.contains("error: test ("), "{kind}\n{run}");
            assert!(run.stderr.contains("this is not a json"), "{kind}\n{run}");
            assert!(run.stderr.contains("hint: check `base_url`"), "{kind}\n{run}");
            assert_eq!(server.chats().len(), 1, "{kind}");
        }
    }
}

#[test]
fn an_empty_body_is_no_answer() {
    with_each_type(|kind| {
        let server = ModelServer::start([Reply::bytes(""), Reply::text("ok")]);
        let run = project_of(kind, &server).brynhild(&["chat", "hi"]);
        assert_eq!(run.success().stdout, "ok\n", "{kind}");
    });
}

#[test]
fn invalid_utf8_does_not_stop_a_reply() {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "a@@z"}}]});
    let stop = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let body = format!("data: {chunk}\n\ndata: {stop}\n\ndata: [DONE]\n\n");
    let at = body.find("@@").unwrap();
    let server = ModelServer::start([Reply::bytes(body).mangle(at, &[0xff, 0xfe])]);
    let run = project_of("openai", &server).brynhild(&["chat", "hi"]);
    assert_eq!(run.success().stdout, "a\u{fffd}\u{fffd}z\n");
}

#[test]
fn error_inside_a_stream_is_reported() {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "so far"}}]});
    let error = json!({"error": {"code": 400, "message": "the model choked"}});
    let openai = format!("data: {chunk}\n\ndata: {error}\n\n");
    let anthropic = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\
                     \"invalid_request_error\",\"message\":\"the model choked\"}}\n\n";
    let ollama = "{\"error\":\"model not found: the model choked\"}\n";
    for (kind, body) in [("openai", openai.as_str()), ("anthropic", anthropic), ("ollama", ollama)]
    {
        let server = ModelServer::start([Reply::bytes(body)]);
        let run = project_of(kind, &server).brynhild(&["chat", "hi"]);
        run.code(1);
        assert!(run.stderr.contains("the model choked"), "{kind}\n{run}");
    }
}

#[test]
fn empty_reply_is_retried_then_reported() {
    for kind in TYPES {
        let server = ModelServer::start([Reply::text(""), Reply::text("done")]);
        let run = project_of(kind, &server).brynhild(&["chat", "hi"]);
        assert_eq!(run.success().stdout, "done\n", "{kind}");
        let server = ModelServer::start([Reply::text("")]).repeat_last();
        let run = project_of(kind, &server).brynhild(&["chat", "hi"]);
        assert_eq!(run.code(5).stdout, "", "{kind}: silence is not an answer");
        let words = "Model failed to produce output after multiple attempts.";
        assert!(run.stderr.contains(words), "{kind}: silence is explained\n{run}");
        assert_eq!(server.chats().len(), 4, "{kind}");
    }
}

#[test]
fn thinking_without_an_answer_is_continued() {
    for kind in TYPES {
        let thought = Reply::default().thinking("I wonder");
        let server = ModelServer::start([thought.clone(), thought.clone(), Reply::text("done")]);
        let run = project_of(kind, &server).brynhild(&["chat", "hi"]);
        assert_eq!(run.success().stdout, "done\n", "{kind}");
        assert_eq!(run.stderr, "", "{kind}");
        let server = ModelServer::start([thought]).repeat_last();
        let run = project_of(kind, &server).brynhild(&["chat", "hi"]);
        assert_eq!(run.code(5).stdout, "", "{kind}: silence is not an answer");
        let words = "Model failed to produce output after multiple attempts.";
        assert!(run.stderr.contains(words), "{kind}\n{run}");
        assert_eq!(server.chats().len(), 4, "{kind}");
    }
}
