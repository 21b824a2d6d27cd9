//! Messages for requests that are not as expected.

use contract::provider::Failure;

use super::conversation::Conversation;

/// The message that one expectation leads to, without the line that names the place.
async fn mismatch(expect: &str, prepare: impl FnOnce(&mut Conversation)) -> String {
    let yaml = format!("turns:\n  - text: fine\n    expect: {expect}\n");
    let mut conversation = Conversation::with(&yaml);
    prepare(&mut conversation);
    let error = conversation.failure().await;
    assert_eq!(error.kind, Failure::Expectation);
    let (place, rest) = error.message.split_once("\n\n").expect("two parts");
    assert_eq!(place, "scenario play.yaml, turn 1 (line 2): what was sent is not as expected");
    rest.to_owned()
}

fn says(text: &str) -> impl FnOnce(&mut Conversation) + use<> {
    let text = text.to_owned();
    move |conversation| conversation.user(&text)
}

#[tokio::test]
async fn unequal_text_is_shown_as_a_difference() {
    let expect = r#"{ last_user: { equals: "one\ntwo\nthree" } }"#;
    assert_eq!(
        mismatch(expect, says("one\n2\nthree")).await,
        "the last user message is not equal to what was expected:\n\
         - expected\n+ sent\n  one\n- two\n+ 2\n  three"
    );
}

#[tokio::test]
async fn extra_line_break_is_explained() {
    let expect = r#"{ last_user: { equals: "one\n" } }"#;
    let message = mismatch(expect, says("one")).await;
    assert!(message.contains("`|-` leaves out the last one"), "{message}");
}

#[tokio::test]
async fn a_long_text_is_shortened_around_the_first_difference() {
    let lines: Vec<String> = (1..=200).map(|number| format!("line {number}")).collect();
    let expected = lines.join("\\n");
    let sent = lines.join("\n").replace("line 90\n", "LINE 90\n");
    let expect = format!(r#"{{ last_user: {{ equals: "{expected}" }} }}"#);
    let message = mismatch(&expect, says(&sent)).await;
    assert!(message.contains("- line 90\n+ LINE 90"), "{message}");
    assert!(message.contains("87 equal lines before"), "{message}");
    assert!(message.lines().count() < 45, "{message}");
    assert!(!message.contains("line 80\n"), "{message}");
}

#[tokio::test]
async fn a_long_line_is_shortened_around_the_first_difference() {
    let (before, after) = ("x".repeat(3000), "y".repeat(3000));
    let expect = format!(r#"{{ last_user: {{ equals: "{before}HERE{after}" }} }}"#);
    let message = mismatch(&expect, says(&format!("{before}THERE{after}"))).await;
    assert!(message.contains("HERE") && message.contains("THERE"), "{message}");
    assert!(message.len() < 1000, "{message}");
}

#[tokio::test]
async fn a_text_that_lacks_a_part_is_shown_with_its_closest_line() {
    let expect = "{ last_user: { contains: [present, the quick fox] } }";
    let message = mismatch(expect, says("present\nthe quick box\nend")).await;
    assert_eq!(
        message,
        "the last user message does not contain what was expected:\n- the quick fox\n\
         the closest line that was sent:\n+ the quick box\n\
         of:\n  present\n  the quick box\n  end"
    );
}

#[tokio::test]
async fn other_text_expectations_fail_with_their_reason() {
    let message = mismatch("{ last_user: { matches: '^[0-9]+$' } }", says("abc")).await;
    assert!(message.contains("- ^[0-9]+$\n+ abc"), "{message}");
    let message = mismatch("{ system: { not_contains: terse } }", says("abc")).await;
    assert!(message.contains("contains what it must not"), "{message}");
    let message = mismatch("{ last_user: { contains: abc } }", |_| {}).await;
    assert!(message.contains("+ (nothing)"), "{message}");
}

#[tokio::test]
async fn missing_unwanted_and_other_tools_are_listed() {
    let message = mismatch("{ tools: [Bash, Edit] }", says("")).await;
    assert_eq!(message, "tools that are not offered:\n- Edit\n+ Bash, Read");
    let message = mismatch("{ tools: { not_contains: Bash } }", says("")).await;
    assert_eq!(message, "tools that must not be offered:\n+ Bash");
    let message = mismatch("{ tools: { equals: [Read] } }", says("")).await;
    assert!(message.ends_with("- Read\n+ Bash, Read"), "{message}");
}

#[tokio::test]
async fn the_number_of_messages_is_compared() {
    let message = mismatch("{ messages: 2 }", says("hi")).await;
    assert_eq!(message, "the number of messages: expected 2, sent 1");
}

#[tokio::test]
async fn tool_results_are_compared_in_number_and_order() {
    let two = |conversation: &mut Conversation| {
        conversation.result("Bash", "out", true);
        conversation.result("Read", "text", false);
    };
    let message = mismatch("{ tool_results: [{ name: Bash }] }", two).await;
    assert_eq!(
        message,
        "the number of tool results since the last reply: expected 1, sent 2 (Bash, Read)"
    );
    let expect = "{ tool_results: [{ name: Read, is_error: false }, { equals: text! }] }";
    let message = mismatch(expect, two).await;
    for part in [
        "tool result 1 (`Bash`) comes from another tool:\n- Read\n+ Bash",
        "tool result 1 (`Bash`) was expected to succeed, but failed:\n+ out",
        "tool result 2 (`Read`) is not equal",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn expected_request_is_answered() {
    let mut conversation = Conversation::with(
        "turns:\n  - text: fine\n    expect:\n      messages: 2\n      system: { equals: You are terse. }\n      last_user: { contains: [h, i], matches: ^hi$, not_contains: x }\n      tools: [Read]\n      tool_results: [{ name: Bash, is_error: true, contains: ou }]\n",
    );
    conversation.user("hi");
    conversation.result("Bash", "out", true);
    assert_eq!(conversation.text().await, "fine");
}

#[tokio::test]
async fn mismatch_escapes_control_characters() {
    let message = mismatch("{ last_user: { equals: a } }", says("\x1b[2Jb")).await;
    assert!(!message.contains('\x1b'), "{message}");
}
