//! Servers that refuse, overflow, or are not there.

use testkit::{ModelServer, Reply};

use super::{TYPES, closed_address, project_at, project_of};
use crate::project;

#[test]
fn permanent_failures_are_reported_once_with_a_hint() {
    let cases = [
        (401, "set `MY_KEY` to a valid key"),
        (402, "add credits"),
        (403, "the key may not do this"),
        (404, "check the model's name"),
        (413, "does not fit into the model"),
        (400, ""),
    ];
    for kind in TYPES {
        for (status, hint) in cases {
            let server = ModelServer::start([Reply::failure(status)]);
            let project = project_at(kind, &server.url(), &["api_key_env: MY_KEY"])
                .env("MY_KEY", "sk-0123456789");
            let run = project.brynhild(&["chat", "hi"]);
            run.code(1);
            assert_eq!(run.stdout, "", "{kind} {status}");
            let host = server.address().to_string();
            let said =
                format!("test ({host}) answered HTTP {status}: the test scripted status {status}");
            assert!(run.stderr.contains(&said), "{kind} {status}\n{run}");
            assert!(run.stderr.contains(hint), "{kind} {status}\n{run}");
            assert_eq!(run.stderr.matches("error:").count(), 1, "{kind} {status}\n{run}");
            assert_eq!(server.chats().len(), 1, "{kind}: {status} is not repeated");
        }
    }
}

#[test]
fn transient_failure_is_retried_visibly() {
    let failures = [
        Reply::failure(429).header("retry-after-ms", "1"),
        Reply::failure(429).header("retry-after", "0"),
        Reply::failure(500).header("retry-after", "0"),
        Reply::failure(503).header("retry-after-ms", "1"),
        Reply::failure(529).header("retry-after-ms", "1"),
    ];
    for kind in TYPES {
        for failure in &failures {
            let server = ModelServer::start([failure.clone(), Reply::text("at last")]);
            let run = project_of(kind, &server).brynhild(&["chat", "hi"]);
            assert_eq!(run.success().stdout, "at last\n");
            assert!(run.stderr.contains("warning: test ("), "{run}");
            assert!(run.stderr.contains("retrying in 0.0 s (attempt 2 of "), "{run}");
            let chats = server.chats();
            assert_eq!(chats.len(), 2, "{kind}");
            assert_eq!(chats[0].text, chats[1].text, "{kind}: the same request again");
        }
    }
}

#[test]
fn failure_without_a_wait_is_retried_soon() {
    let server = ModelServer::start([Reply::failure(500), Reply::text("at last")]);
    let run = project_of("openai", &server).brynhild(&["chat", "hi"]);
    assert_eq!(run.success().stdout, "at last\n");
}

#[test]
fn retries_are_limited() {
    let server = ModelServer::start([Reply::failure(429).header("retry-after", "0")]).repeat_last();
    let run = project_of("openai", &server).brynhild(&["chat", "hi"]);
    run.code(1);
    assert_eq!(server.chats().len(), 10);
    assert!(run.stderr.contains("error: test ("), "{run}");
    assert!(run.stderr.contains("answered HTTP 429"), "{run}");
    assert!(run.stderr.contains("hint: wait a little"), "{run}");
}

#[test]
fn too_long_wait_is_reported() {
    let server = ModelServer::start([Reply::failure(429).header("retry-after", "86400")]);
    let run = project_of("openai", &server).brynhild(&["chat", "hi"]);
    run.code(1);
    assert_eq!(server.chats().len(), 1);
    assert!(run.stderr.contains("asks to wait 86400 s"), "{run}");
}

#[test]
fn a_wait_can_be_interrupted() {
    let server = ModelServer::start([Reply::failure(429).header("retry-after", "200")]);
    let project = project_of("openai", &server);
    let running = project.command(&["chat", "--session", "waiting", "hi"]).stdin("").spawn();
    running.wait_for_stderr("retrying in 200.0 s");
    running.interrupt();
    let run = running.wait();
    run.code(130);
    assert_eq!(server.chats().len(), 1);
}

#[test]
fn unreachable_server_is_named() {
    for kind in TYPES {
        let address = closed_address();
        let run = project_at(kind, &format!("http://{address}"), &[]).brynhild(&["chat", "hi"]);
        run.code(1);
        assert!(run.stderr.contains(&format!("test ({address}) refuses connections")), "{run}");
        assert!(run.stderr.contains(&format!("is the server running at {address}?")), "{run}");
    }
}

#[test]
fn unknown_host_is_named() {
    let project = project_at("openai", "http://nowhere.invalid/v1", &[]);
    let run = project.brynhild(&["chat", "hi"]);
    run.code(1);
    assert!(run.stderr.contains("nowhere.invalid"), "{run}");
    assert!(run.stderr.contains("hint: check `base_url`"), "{run}");
}

#[test]
fn server_without_tls_is_recognized() {
    let server = ModelServer::start([Reply::text("never")]);
    let address = format!("https://{}/v1", server.address());
    let run = project_at("openai", &address, &[]).brynhild(&["chat", "hi"]);
    run.code(1);
    assert!(run.stderr.contains("over TLS"), "{run}");
    assert!(run.stderr.contains("hint: check the scheme in `base_url`"), "{run}");
}

#[test]
fn invalid_address_is_refused_before_any_request() {
    for address in ["ftp://box/v1", "'http://'", "'http://a b/'"] {
        let run = project_at("openai", address, &[]).brynhild(&["chat", "hi"]);
        run.code(2);
        assert!(run.stderr.contains("base_url"), "{run}");
        assert!(run.stderr.contains("hint:"), "{run}");
    }
}

#[test]
fn a_web_page_in_place_of_a_reply_is_recognized() {
    let page = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>x</body></html>";
    for kind in TYPES {
        for content_type in ["text/html; charset=utf-8", "text/event-stream", "application/json"] {
            let reply = Reply::bytes(page).header("content-type", content_type);
            let server = ModelServer::start([reply]);
            let run = project_of(kind, &server).brynhild(&["chat", "hi"]);
            run.code(1);
            assert!(run.stderr.contains("web page titled `Sign in`"), "{kind}\n{run}");
            assert_eq!(server.chats().len(), 1, "{kind}: it is not repeated");
        }
    }
}

#[test]
fn redirect_is_reported_and_not_followed() {
    let reply = Reply::failure(308).header("location", "https://elsewhere.example/v1");
    let server = ModelServer::start([reply]);
    let run = project_of("openai", &server).brynhild(&["chat", "hi"]);
    run.code(1);
    assert!(run.stderr.contains("redirected to https://elsewhere.example/v1"), "{run}");
}

#[test]
fn server_messages_cannot_control_the_terminal() {
    let reply =
        Reply::failure(400).body("{\"error\":{\"message\":\"bad \\u001b]0;owned\\u0007\"}}");
    let server = ModelServer::start([reply]);
    let run = project_of("openai", &server).brynhild(&["chat", "hi"]);
    run.code(1);
    assert!(!run.stderr.contains('\x1b') && !run.stderr.contains('\x07'), "{run}");
    assert!(run.stderr.contains("bad \\u{1b}]0;owned"), "{run}");
}

#[test]
fn missing_key_is_named() {
    for (args, words) in [
        (["--provider", "openrouter"], "OpenRouter API key required. Set `OPENROUTER_API_KEY`"),
        (["--provider", "anthropic"], "Anthropic API key required. Set `ANTHROPIC_API_KEY`"),
        (["--provider", "own"], "own API key required. Set `MY_OWN_KEY`"),
    ] {
        let project = project();
        project.config(
            "providers: {instances: {own: {type: openai, base_url: 'http://127.0.0.1:9/v1', \
             api_key_env: MY_OWN_KEY}}}\n",
        );
        let run = project.brynhild(&[&args[..], &["chat", "hi"]].concat());
        run.code(2);
        assert!(run.stderr.contains(words), "{run}");
        assert!(run.stderr.contains("brynhild api providers"), "{run}");
    }
}
