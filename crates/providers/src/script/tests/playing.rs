//! How turns become replies, and which turn comes next.

use std::time::Duration;

use contract::message::{StopReason, Usage};
use contract::provider::{Delivery, Delta, Failure, Provider};
use serde_json::json;

use super::conversation::Conversation;
use crate::script::{Script, parse};

const FULL: &str = "
turns:
  - thinking: hm
    text: abcdé
    chunk: 2
    tool_calls:
      - { name: Read, input: { file_path: a } }
      - { name: Bash, id: mine, input_text: '{\"command\": ' }
    usage: { input: 7, output: 3, cached: 2, cost: 0.5 }
";

#[tokio::test]
async fn a_reply_is_streamed_in_chunks_and_in_order() {
    let conversation = Conversation::with(FULL);
    let deltas: Vec<Delta> =
        conversation.deltas().await.into_iter().map(|delta| delta.expect("a delta")).collect();
    let text = |text: &str| Delta::Text(text.to_owned());
    assert_eq!(deltas[0], Delta::Thinking("hm".into()));
    assert_eq!(deltas[1..4], [text("ab"), text("cd"), text("é")]);
    assert_eq!(deltas[4], Delta::CallStarted { name: "Read".into() });
    let [Delta::Call(read), _, Delta::Call(bash)] = &deltas[5..8] else {
        panic!("{deltas:?}");
    };
    assert_eq!((read.id.as_str(), &read.args), ("call_1_1", &json!({"file_path": "a"})));
    assert_eq!((bash.id.as_str(), &bash.args), ("mine", &json!("{\"command\": ")));
    let usage = Usage {
        input_tokens: 7,
        output_tokens: 3,
        cached_tokens: Some(2),
        cost_usd: Some(0.5),
        ..Usage::default()
    };
    assert_eq!(deltas[8..], [Delta::Usage(usage), Delta::Stopped(StopReason::ToolUse)]);
}

#[tokio::test]
async fn whole_reply_is_one_piece() {
    let mut conversation = Conversation::with(FULL);
    conversation.delivery = Delivery::Whole;
    let deltas = conversation.deltas().await;
    assert!(matches!(&deltas[1], Ok(Delta::Text(text)) if text == "abcdé"));
    assert!(matches!(&deltas[2], Ok(Delta::Call(_))));
}

#[tokio::test]
async fn the_reason_for_stopping_can_be_given() {
    let yaml = "turns:\n  - { text: a, stop_reason: max_tokens }\n  - { text: '', stop_reason: odd }\n  - { text: c }\n";
    let mut conversation = Conversation::with(yaml);
    let mut stops = Vec::new();
    for _ in 0..3 {
        stops.push(conversation.reply().await.expect("a reply").stop);
    }
    assert_eq!(
        stops,
        [StopReason::MaxTokens, StopReason::Other("odd".into()), StopReason::EndTurn]
    );
}

#[tokio::test]
async fn placeholders_are_filled_in_replies() {
    let yaml = "
turns:
  - text: '{{last_user}}? {{ untouched }}'
    tool_calls: [{ name: A }, { name: B }]
  - text: '{{results.2}}, {{results.1}}'
    tool_calls: [{ name: C, input: { list: ['<{{last_tool_result}}>', 1] } }]
  - text: '{{results.1}}'
";
    let mut conversation = Conversation::with(yaml);
    conversation.user("why");
    assert_eq!(conversation.text().await, "why? {{ untouched }}");
    conversation.result("A", "first", false);
    conversation.result("B", "second", false);
    let reply = conversation.reply().await.expect("a reply");
    assert_eq!(reply.text(), "second, first");
    let args = reply.calls().next().map(|call| call.args.clone());
    assert_eq!(args, Some(json!({"list": ["<second>", 1]})));
    let error = conversation.failure().await;
    assert_eq!(error.kind, Failure::Expectation);
    assert!(
        error.message.starts_with("scenario play.yaml, turn 3 (line 7): it uses `{{results.1}}`"),
        "{}",
        error.message
    );
}

#[tokio::test(start_paused = true)]
async fn delay_precedes_the_reply_and_ends_with_the_request() {
    let conversation = Conversation::with("turns: [{ text: a, delay_ms: 60000 }]");
    let started = tokio::time::Instant::now();
    let dropped = tokio::time::timeout(Duration::from_secs(1), conversation.deltas()).await;
    assert!(dropped.is_err());
    assert_eq!(conversation.deltas().await.len(), 2);
    assert_eq!(started.elapsed(), Duration::from_secs(61));
}

#[tokio::test]
async fn every_kind_of_error_becomes_its_failure() {
    let wait = Some(Duration::from_millis(5));
    let kinds = [
        ("rate_limited, retry_after_ms: 5", Failure::RateLimited(wait)),
        ("unavailable, retry_after_ms: 5", Failure::Unavailable(wait)),
        ("unavailable", Failure::Unavailable(None)),
        ("auth", Failure::Auth),
        ("payment", Failure::Payment),
        ("not_found", Failure::NotFound),
        ("too_long", Failure::TooLong),
        ("rejected", Failure::Rejected),
        ("unreachable", Failure::Unreachable),
        ("idle", Failure::Idle),
        ("cut", Failure::Cut),
        ("garbled", Failure::Garbled),
    ];
    for (kind, failure) in kinds {
        let yaml = format!("turns: [error: {{ kind: {kind}, message: oh no }}]");
        let error = Conversation::with(&yaml).failure().await;
        assert_eq!((error.kind, error.message.as_str()), (failure, "oh no"));
    }
}

#[tokio::test]
async fn a_stream_can_break_in_the_middle() {
    let yaml = "turns: [error: { kind: cut, after_text: half of }]";
    let conversation = Conversation::with(yaml);
    let deltas = conversation.deltas().await;
    let [Ok(Delta::Text(text)), Err(error)] = deltas.as_slice() else {
        panic!("{deltas:?}");
    };
    assert_eq!((text.as_str(), error.kind), ("half of", Failure::Cut));
    let mut conversation = conversation.resumed(yaml);
    conversation.delivery = Delivery::Whole;
    assert!(matches!(conversation.deltas().await.as_slice(), [Err(_)]));
}

const FAILING: &str = "
turns:
  - text: a
  - error: { kind: unavailable }
    repeat: 2
  - text: b
  - error: { kind: idle }
  - text: c
";

#[tokio::test]
async fn retried_request_plays_the_turn_after_the_error() {
    let mut conversation = Conversation::with(FAILING);
    assert_eq!(conversation.text().await, "a");
    for _ in 0..2 {
        let kind = conversation.failure().await.kind;
        assert_eq!(kind, Failure::Unavailable(None));
    }
    assert_eq!(conversation.text().await, "b");
    assert_eq!(conversation.failure().await.kind, Failure::Idle);
    assert_eq!(conversation.text().await, "c");
}

#[tokio::test]
async fn resumed_session_continues_after_failures() {
    let mut conversation = Conversation::with(FAILING);
    for _ in 0..4 {
        let _ = conversation.reply().await;
    }
    let mut conversation = conversation.resumed(FAILING);
    assert_eq!(conversation.failure().await.kind, Failure::Idle);
    assert_eq!(conversation.text().await, "c");
}

#[tokio::test]
async fn reply_cut_by_an_error_uses_no_reply_turn() {
    let yaml = "turns:\n  - error: { kind: cut, after_text: half }\n    repeat: 2\n  - text: a\n  - text: b\n";
    let mut conversation = Conversation::with(yaml);
    assert_eq!(conversation.failure().await.kind, Failure::Cut);
    conversation.broken_off("half");
    conversation.user("go on");
    assert_eq!(conversation.failure().await.kind, Failure::Cut);
    assert_eq!(conversation.text().await, "a");
    assert_eq!(conversation.text().await, "b");
}

#[tokio::test]
async fn resumed_session_derives_the_played_error() {
    let yaml = "turns: [error: { kind: cut, after_text: half }, { text: a }]";
    let mut conversation = Conversation::with(yaml);
    conversation.broken_off("half");
    assert_eq!(conversation.text().await, "a");
}

#[tokio::test]
async fn reply_interrupted_by_the_user_uses_its_turn() {
    let mut conversation = Conversation::with("turns: [{ text: abc }, { text: b }]");
    conversation.broken_off("ab");
    assert_eq!(conversation.text().await, "b");
}

#[tokio::test]
async fn a_repeated_turn_checks_its_expectations_each_time() {
    let yaml = "turns:\n  - text: go\n    repeat: 3\n    expect: { last_user: { contains: ok } }\n";
    let mut conversation = Conversation::with(yaml);
    conversation.user("ok");
    assert_eq!(conversation.text().await, "go");
    conversation.user("bad");
    let error = conversation.failure().await;
    assert!(
        error.message.starts_with("scenario play.yaml, turn 1 (line 2, time 2 of 3): "),
        "{}",
        error.message
    );
    conversation.user("ok");
    assert_eq!(conversation.text().await, "go");
    assert_eq!(conversation.text().await, "go");
    let error = conversation.failure().await;
    assert_eq!(error.message, "scenario play.yaml has 3 turns, and another request came");
}

#[tokio::test]
async fn behavior_after_the_last_turn_is_configurable() {
    let mut last = Conversation::with(
        "turns: [{ text: a }, { tool_calls: [{ name: A }] }]\nwhen_exhausted: repeat_last",
    );
    let mut ids = Vec::new();
    assert_eq!(last.text().await, "a");
    for _ in 0..2 {
        let reply = last.reply().await.expect("a reply");
        ids.extend(reply.calls().map(|call| call.id.to_string()));
    }
    assert_eq!(ids, ["call_2_1", "call_3_1"]);

    let mut text = Conversation::with("turns: [{ text: a }]\nwhen_exhausted: { text: no more }");
    assert_eq!(text.text().await, "a");
    assert_eq!(text.text().await, "no more");
    assert_eq!(text.text().await, "no more");
}

#[tokio::test]
async fn the_models_are_the_bundled_scenarios() {
    let script = Script::new(parse("x", "turns: [{ text: a }]").expect("valid"));
    assert_eq!(script.name(), "script");
    let models = script.models().await.expect("a list");
    assert_eq!(models[0].id, "demo");
}
