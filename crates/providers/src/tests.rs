pub(crate) mod conformance;
pub(crate) mod test_server;

use contract::message::StopReason;
use contract::provider::{Delivery, Delta, Request};
use tokio::net::TcpListener;

use super::*;
use crate::catalog::vendor;
use crate::tests::test_server::{Answer, Server, Then, collect, request};

const WIRES: [&str; 3] = ["openrouter", "anthropic", "ollama"];

async fn failure(answer: Answer, name: &str) -> ProviderError {
    let server = Server::start(vec![answer]).await;
    let (_, error) = collect(&*server.provider(name), request()).await;
    error.unwrap()
}

#[tokio::test]
async fn a_status_is_explained_with_the_host_and_without_the_key() {
    let body = r#"{"error":{"message":"no good: sk-test-key"}}"#;
    for (status, kind) in [
        (401, Failure::Auth),
        (402, Failure::Payment),
        (404, Failure::NotFound),
        (413, Failure::TooLong),
        (400, Failure::Rejected),
        (429, Failure::RateLimited(Some(Duration::from_secs(7)))),
        (503, Failure::Unavailable(Some(Duration::from_secs(7)))),
        (529, Failure::Unavailable(Some(Duration::from_secs(7)))),
    ] {
        for name in WIRES {
            let error = failure(Answer::new(status, "retry-after: 7\r\n", body), name).await;
            assert_eq!(error.kind, kind, "{name} {status}");
            assert!(error.message.contains("127.0.0.1:"), "{}", error.message);
            assert!(error.message.ends_with(&format!("{status}: no good: [redacted]")));
        }
    }
}

#[tokio::test]
async fn a_web_page_is_not_a_reply() {
    let page = "<!doctype html><title>Sign in</title>";
    let html = "content-type: text/html; charset=utf-8\r\n";
    for (headers, delivery) in [
        (html, Delivery::Streamed),
        ("", Delivery::Streamed),
        ("", Delivery::Whole),
        ("content-type: application/json\r\n", Delivery::Streamed),
    ] {
        for name in WIRES {
            let server = Server::start(vec![Answer::new(200, headers, page)]).await;
            let asked = Request { delivery, ..request() };
            let (deltas, error) = collect(&*server.provider(name), asked).await;
            let error = error.unwrap();
            assert_eq!((deltas.len(), error.kind), (0, Failure::Garbled), "{name} {headers}");
            assert!(error.message.contains("`Sign in`"), "{}", error.message);
        }
    }
}

#[tokio::test]
async fn refused_connection_hints_at_a_stopped_server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = listener.local_addr().unwrap().to_string();
    let local = vendor("ollama").unwrap();
    assert!(is_answering(local, &base_url).await);
    drop(listener);
    assert!(!is_answering(local, &base_url).await);
    assert!(!is_answering(local, "not a url").await);
    let instance =
        Instance { base_url: Some(base_url.clone()), ..Instance::of(vendor("ollama").unwrap()) };
    let (_, error) = collect(&*connect(instance).ok().unwrap(), request()).await;
    let error = error.unwrap();
    assert_eq!(error.kind, Failure::Unreachable);
    assert_eq!(error.message, format!("Ollama ({base_url}) refuses connections"));
    assert!(error.hint.unwrap().contains("running"));
}

#[tokio::test]
async fn a_plain_server_behind_an_https_address_is_a_tls_failure() {
    let server = Server::start(vec![Answer::new(200, "", "")]).await;
    let instance = Instance {
        base_url: Some(server.base_url.replace("http:", "https:")),
        ..server.instance("openai")
    };
    let (_, error) = collect(&*connect(instance).ok().unwrap(), request()).await;
    let error = error.unwrap();
    assert_eq!(error.kind, Failure::Unreachable);
    assert!(error.message.contains("TLS"), "{}", error.message);
}

#[tokio::test]
async fn non_http_reply_is_garbled_and_closed_connection_cut() {
    let raw = |bytes: &[u8]| Answer { pieces: vec![bytes.to_vec()], then: Then::Close };
    let error = failure(raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), "openai").await;
    assert_eq!(error.kind, Failure::Garbled, "{}", error.message);
    let error = failure(raw(b""), "openai").await;
    assert_eq!(error.kind, Failure::Cut, "{}", error.message);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let headers = "location: http://127.0.0.1:9/elsewhere\r\n";
    let error = failure(Answer::new(307, headers, ""), "openai").await;
    assert_eq!(error.kind, Failure::NotFound);
    assert!(error.message.contains("elsewhere"));
}

#[tokio::test]
async fn silence_before_an_answer_is_idle() {
    let answer = Answer { pieces: Vec::new(), then: Then::Stall };
    let server = Server::start(vec![answer]).await;
    let short = Duration::from_millis(20);
    let timeouts = Timeouts { headers: short, whole: short, ..Timeouts::REMOTE };
    for delivery in [Delivery::Streamed, Delivery::Whole] {
        let instance = Instance { timeouts, ..server.instance("openai") };
        let asked = Request { delivery, ..request() };
        let (_, error) = collect(&*connect(instance).ok().unwrap(), asked).await;
        let error = error.unwrap();
        assert_eq!(error.kind, Failure::Idle);
        assert!(error.message.ends_with("sent no answer for 20 ms"), "{}", error.message);
    }
}

#[tokio::test]
async fn silence_within_an_answer_is_idle_and_keeps_the_text() {
    let text = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let server = Server::start(vec![Answer::events(text).then(Then::Stall)]).await;
    let (seen, error) = collect(&*server.impatient("openai"), request()).await;
    assert_eq!(error.unwrap().kind, Failure::Idle);
    assert_eq!(seen, [Delta::Text("a".into())]);
    let asked = Request { delivery: Delivery::Whole, ..request() };
    let (_, error) = collect(&*server.impatient("openai"), asked).await;
    assert_eq!(error.unwrap().kind, Failure::Idle);
}

#[tokio::test]
async fn keep_alives_do_not_prevent_the_timeout() {
    for (name, sign) in [
        ("openrouter", ": OPENROUTER PROCESSING\n\n"),
        ("anthropic", "event: ping\ndata: {\"type\": \"ping\"}\n\n"),
        ("ollama", "\n"),
    ] {
        let server = Server::start(vec![Answer::endless(sign)]).await;
        let (deltas, error) = collect(&*server.impatient(name), request()).await;
        assert_eq!((deltas.len(), error.unwrap().kind), (0, Failure::Idle), "{name}");
    }
}

#[tokio::test]
async fn complete_reply_ends_without_the_connection() {
    let stop =
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n";
    let complete = [Delta::Text("a".into()), Delta::Stopped(StopReason::EndTurn)];
    for ending in ["", "data: [DONE]\n\n"] {
        let body = format!("{stop}{ending}");
        let server = Server::start(vec![Answer::events(body).then(Then::Stall)]).await;
        let (deltas, error) = collect(&*server.impatient("openai"), request()).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(deltas, complete);
    }
}

#[tokio::test]
async fn an_answer_shorter_than_announced_is_cut() {
    let headers = "content-type: text/event-stream\r\ncontent-length: 5000\r\n";
    let text = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let server = Server::start(vec![Answer::new(200, headers, text)]).await;
    let (deltas, error) = collect(&*server.provider("openai"), request()).await;
    assert_eq!(deltas, [Delta::Text("a".into())]);
    assert_eq!(error.unwrap().kind, Failure::Cut);
    let asked = Request { delivery: Delivery::Whole, ..request() };
    let (_, error) = collect(&*server.provider("openai"), asked).await;
    assert_eq!(error.unwrap().kind, Failure::Cut);
}

#[tokio::test]
async fn an_endless_line_is_a_clean_error() {
    let line = format!("data: {}", "x".repeat(1 << 20));
    let server = Server::start(vec![Answer::endless(&line)]).await;
    let (_, error) = collect(&*server.provider("openai"), request()).await;
    let error = error.unwrap();
    assert_eq!(error.kind, Failure::Garbled);
    assert!(error.message.contains("10 MB"), "{}", error.message);
}

#[tokio::test]
async fn a_connection_is_used_again_for_the_next_round() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let event =
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let chunk = format!("{:x}\r\n{event}\r\n", event.len());
    let pieces = [head, &chunk, "0\r\n\r\n"].map(|piece| piece.as_bytes().to_vec());
    let answer = Answer { pieces: pieces.into(), then: Then::Again };
    let server = Server::start(vec![answer]).await;
    let provider = server.provider("openai");
    for _ in 0..3 {
        let (deltas, error) = collect(&*provider, request()).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(deltas, [Delta::Stopped(StopReason::EndTurn)]);
    }
    assert_eq!((server.requests().len(), server.connections()), (3, 1));
}

#[test]
fn key_is_required_only_by_the_vendor_itself() {
    let openrouter = vendor("openrouter").unwrap();
    let error = connect(Instance::of(openrouter)).err().unwrap();
    assert_eq!(error.kind, Failure::Auth);
    assert!(error.message.starts_with("OpenRouter API key required. "), "{}", error.message);
    assert!(error.message.contains("OPENROUTER_API_KEY"));
    let base_url = Some("http://localhost:1/v1".to_owned());
    assert!(connect(Instance { base_url, ..Instance::of(openrouter) }).is_ok());
    assert!(connect(Instance::of(vendor("lmstudio").unwrap())).is_ok());
    assert!(connect(Instance::of(vendor("script").unwrap())).is_err());
}

#[test]
fn invalid_keys_and_headers_are_refused_unshown() {
    let with = |key: &str, header: (&str, &str)| Instance {
        api_key: Some(Secret::new(key.into())),
        headers: [(header.0.into(), header.1.into())].into(),
        ..Instance::of(vendor("openai").unwrap())
    };
    let error = connect(with("sk\nsecret", ("a", "b"))).err().unwrap();
    assert_eq!(error.kind, Failure::Auth);
    assert!(!error.message.contains("secret"));
    let error = connect(with("sk", ("x-a", "sec\nret"))).err().unwrap();
    assert!(error.message.contains("`x-a`") && !error.message.contains("sec"));
    assert!(connect(with("sk", ("a b", "c"))).is_err());
    assert!(connect(with(" sk \n", ("x-a", "b"))).is_ok());
}

#[tokio::test]
async fn instance_headers_win_and_messages_name_it() {
    let server = Server::start(vec![Answer::new(500, "", "")]).await;
    let instance = Instance {
        name: "work".into(),
        headers: [("X-Title".into(), "Mine".into())].into(),
        ..server.instance("openrouter")
    };
    let provider = connect(instance).ok().unwrap();
    assert_eq!(provider.name(), "work");
    let (_, error) = collect(&*provider, request()).await;
    assert!(error.unwrap().message.starts_with("work (127.0.0.1:"));
    assert!(server.requests()[0].contains("x-title: Mine\r\n"));
    assert!(!server.requests()[0].contains("x-title: Brynhild"));
}
