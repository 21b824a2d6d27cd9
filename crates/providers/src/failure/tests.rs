use reqwest::header::HeaderValue;
use serde_json::json;

use super::*;

fn origin() -> Origin {
    Origin {
        provider: "Example".into(),
        host: "api.example:8".into(),
        key_env: Some("EXAMPLE_KEY".into()),
        secrets: vec![Secret::new("sk-very-secret".into())],
    }
}

fn status(status: u16, body: &str) -> ProviderError {
    origin().status(status, &HeaderMap::new(), body.as_bytes())
}

#[test]
fn each_status_has_its_kind_and_its_hint() {
    for (code, kind, hint) in [
        (401, Failure::Auth, "EXAMPLE_KEY"),
        (403, Failure::Auth, "rights"),
        (402, Failure::Payment, "credits"),
        (404, Failure::NotFound, "brynhild models list"),
        (413, Failure::TooLong, "context"),
        (429, Failure::RateLimited(None), "wait"),
        (500, Failure::Unavailable(None), "try again"),
        (503, Failure::Unavailable(None), "try again"),
        (529, Failure::Unavailable(None), "try again"),
    ] {
        let error = status(code, r#"{"error":{"message":"their words"}}"#);
        assert_eq!(error.kind, kind, "{code}");
        assert_eq!(
            error.message,
            format!("Example (api.example:8) answered HTTP {code}: their words")
        );
        assert!(error.hint.unwrap().contains(hint), "{code}");
    }
    assert_eq!(status(400, "{}").kind, Failure::Rejected);
    assert!(status(407, "").hint.unwrap().contains("proxy"));
}

#[test]
fn provider_message_is_found_in_every_shape() {
    for body in [
        r#"{"error":{"message":"their words","code":400}}"#,
        r#"{"error":"their words"}"#,
        r#"{"message":"their words"}"#,
        r#"{"detail":"their words"}"#,
        r#"[{"error":{"message":"their words"}}]"#,
        "their words",
    ] {
        assert!(status(400, body).message.ends_with(": their words"), "{body}");
    }
    let broker = r#"{"error":{"message":"Provider returned error","metadata":{"raw":"bad id"}}}"#;
    assert!(status(400, broker).message.ends_with("returned error: bad id"));
    let page = "<html><head><TITLE>Bad\n gateway</TITLE></head></html>";
    assert!(status(502, page).message.ends_with("a web page: Bad gateway"));
    assert!(status(500, "").message.ends_with("Internal Server Error"));
}

#[test]
fn rejection_that_names_the_context_is_too_long() {
    for said in [
        "This model's maximum context length is 8192 tokens",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "the request exceeds the available context size",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000",
        "prompt token count of 130000 exceeds the limit of 128000",
        "Range of input length should be [1, 30720]",
        "Prompt exceeds max length",
        "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
    ] {
        let body = json!({"error": {"message": said}}).to_string();
        assert_eq!(status(400, &body).kind, Failure::TooLong, "{said}");
    }
}

#[test]
fn error_code_overrides_the_message() {
    let error = |code: &str| json!({"error": {"message": "zu lang", "code": code}}).to_string();
    assert_eq!(status(400, &error("context_length_exceeded")).kind, Failure::TooLong);
    assert_eq!(status(400, &error("1261")).kind, Failure::Rejected);
    assert_eq!(status(429, &error("insufficient_quota")).kind, Failure::Payment);
    assert_eq!(status(429, &error("rate_limit_exceeded")).kind, Failure::RateLimited(None));
}

#[test]
fn the_wait_is_read_as_milliseconds_seconds_or_date() {
    let now: jiff::Timestamp = "2015-10-21T07:27:30Z".parse().unwrap();
    let wait = |name: &'static str, value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        words::retry_after(&headers, now)
    };
    assert_eq!(wait("retry-after", "20"), Some(Duration::from_secs(20)));
    assert_eq!(wait("retry-after", "1.5"), Some(Duration::from_millis(1500)));
    assert_eq!(wait("retry-after-ms", "250"), Some(Duration::from_millis(250)));
    assert_eq!(wait("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::from_secs(30)));
    assert_eq!(wait("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT"), Some(Duration::ZERO));
    for nonsense in ["soon", "-3", "inf", "NaN", ""] {
        assert_eq!(wait("retry-after", nonsense), None, "{nonsense}");
    }
}

#[test]
fn provider_message_is_redacted_escaped_and_bounded() {
    let message = status(400, "bad key sk-very-secret \x1b[2J").message;
    assert!(message.ends_with("bad key [redacted] \\u{1b}[2J"), "{message}");
    assert!(status(400, &"x".repeat(100_000)).message.len() < 1200);
}

#[test]
fn errors_inside_a_reply_have_a_kind() {
    for (error, kind) in [
        (json!({"message": "m", "code": 429}), Failure::RateLimited(None)),
        (json!({"message": "m", "code": "502"}), Failure::Unavailable(None)),
        (json!({"message": "m", "type": "overloaded_error"}), Failure::Unavailable(None)),
        (json!({"message": "m", "type": "rate_limit_error"}), Failure::RateLimited(None)),
        (json!({"message": "m", "type": "invalid_request_error"}), Failure::Rejected),
        (json!({"message": "m", "type": "authentication_error"}), Failure::Auth),
        (json!({"message": "exceeds context window"}), Failure::TooLong),
        (json!("model 'x' not found"), Failure::NotFound),
        (json!("broken"), Failure::Unavailable(None)),
    ] {
        assert_eq!(origin().reported(&error).kind, kind, "{error}");
    }
}

#[test]
fn a_redirect_names_its_target() {
    let mut headers = HeaderMap::new();
    headers.insert("location", HeaderValue::from_static("https://elsewhere/v1"));
    let error = origin().status(308, &headers, b"");
    assert_eq!(error.kind, Failure::NotFound);
    assert!(error.message.ends_with("redirected to https://elsewhere/v1"));
}
