use super::*;

fn strict(text: &str) -> Result<(String, String), Error> {
    parse(text, Reading::Strict)
        .map(|document| (Value::Object(document.keys).to_string(), document.body.to_owned()))
}

fn wrong(text: &str) -> String {
    strict(text).unwrap_err().what
}

fn split_as(text: &str, yaml: &str, body: &str) {
    assert_eq!(strict(text), Ok((yaml.to_owned(), body.to_owned())), "{text:?}");
}

#[test]
fn front_matter_is_split_from_a_trimmed_body() {
    split_as("---\na: b\n---\n\n  text\n\n", r#"{"a":"b"}"#, "text");
    split_as("---\na: b\n---", r#"{"a":"b"}"#, "");
}

#[test]
fn blanks_may_follow_the_first_marker() {
    split_as("---  \t\na: b\n---\nx", r#"{"a":"b"}"#, "x");
}

#[test]
fn windows_line_endings_are_accepted() {
    split_as("---\r\na: b\r\n---\r\nx\r\ny", r#"{"a":"b"}"#, "x\r\ny");
}

#[test]
fn the_rest_of_the_closing_line_belongs_to_the_body() {
    split_as("---\na: b\n---body", r#"{"a":"b"}"#, "body");
    split_as("---\na: b\n-----\nx", r#"{"a":"b"}"#, "--\nx");
}

#[test]
fn first_closing_marker_ends_the_front_matter() {
    split_as("---\na: b\n---\nx\n---\ny", r#"{"a":"b"}"#, "x\n---\ny");
}

#[test]
fn indented_marker_does_not_close() {
    split_as("---\na: b ---\nc: |-\n  ---\n---\nx", r#"{"a":"b ---","c":"---"}"#, "x");
}

#[test]
fn front_matter_must_begin_the_file() {
    for text in [
        "",
        "---",
        "text",
        "\n---\na: b\n---\n",
        " ---\na: b\n---\n",
        "----\na: b\n---\n",
        "--- a: b\n---\n",
    ] {
        assert_eq!(wrong(text), "line 1: the file does not begin with front matter", "{text:?}");
    }
}

#[test]
fn empty_front_matter_is_refused() {
    for text in [
        "---\n---\nx",
        "---\n\n---\nx",
        "---\n  \n---\n",
        "---\n# nothing\n---\n",
        "---\r\n---\r\n",
    ] {
        assert_eq!(wrong(text), "line 2: the front matter is empty", "{text:?}");
    }
}

#[test]
fn front_matter_without_an_end_is_refused() {
    assert_eq!(wrong("---\na: b\n"), "line 1: the front matter has no end");
}

#[test]
fn front_matter_is_a_mapping() {
    for text in ["---\n- a\n---\n", "---\nword\n---\n"] {
        assert_eq!(wrong(text), "line 2: the front matter is not a mapping", "{text:?}");
    }
}

#[test]
fn yaml_errors_carry_the_line_of_the_file() {
    assert_eq!(
        wrong("---\nname: x\ndescription: a: b\n---\n"),
        "line 3: mapping values are not allowed in this context"
    );
    assert_eq!(wrong("---\na: 1\na: 2\n---\n"), "line 3: duplicate key a");
}

#[test]
fn lenient_parse_quotes_values_and_reports_the_fault() {
    let text = "---\nname: x\ndescription: Use when: it's\n  late: now\nlist: [a, b]\n---\nbody";
    let document = parse(text, Reading::Lenient).unwrap();
    assert_eq!(document.keys["description"], "Use when: it's late: now");
    assert_eq!(document.keys["list"], serde_json::json!(["a", "b"]));
    assert_eq!(document.body, "body");
    assert!(document.repaired.unwrap().what.starts_with("line 3: "));
}

#[test]
fn lenient_parse_joins_unindented_lines() {
    let text = "---\nname: x\ndescription: Reviews code.\nUse when: asked, or see\nhttps://e.org\n\
                license: MIT\nallowed-tools:\n- Read\n---\nbody";
    let document = parse(text, Reading::Lenient).unwrap();
    let description = "Reviews code. Use when: asked, or see https://e.org";
    assert_eq!(document.keys["description"], description);
    assert_eq!(document.keys["license"], "MIT");
    assert_eq!(document.keys["allowed-tools"], serde_json::json!(["Read"]));
}

#[test]
fn lenient_parse_reads_an_invalid_list_as_text() {
    let text =
        "---\nargument-hint: [from] [to]\nneeds: [ray[data], x]\nlist: [a,\n  b]\nfor: *.rs\n---\n";
    let document = parse(text, Reading::Lenient).unwrap();
    assert_eq!(document.keys["argument-hint"], "[from] [to]");
    assert_eq!(document.keys["needs"], "[ray[data], x]");
    assert_eq!(document.keys["list"], serde_json::json!(["a", "b"]));
    assert_eq!(document.keys["for"], "*.rs");
    assert!(document.repaired.is_some());
}

#[test]
fn lenient_parse_accepts_a_repeated_key() {
    let document = parse("---\na: 1\na: x\n---\n", Reading::Lenient).unwrap();
    assert_eq!(document.keys["a"], "x");
}

#[test]
fn unrepairable_front_matter_reports_its_first_cause() {
    let error = parse("---\na: [1\nb: 2\n---\n", Reading::Lenient).unwrap_err();
    assert!(error.what.starts_with("line "), "{}", error.what);
}

#[test]
fn key_line_is_found() {
    let text = "---\nname: x\nallowed-tools : y\n---\n";
    let document = parse(text, Reading::Strict).unwrap();
    assert_eq!(document.place_of("allowed-tools"), "line 3: ");
    assert_eq!(document.place_of("nam"), "");
}

#[test]
fn front_matter_may_be_missing_or_empty() {
    for text in ["body\n", "---\n---\nbody", "---\n\n---\nbody\n"] {
        assert_eq!(parse_optional(text), Ok((Map::new(), "body".to_owned())), "{text}");
    }
    assert!(parse_optional("---\na: [\n---\nbody").is_err());
    let (keys, body) = parse_optional("---\na: x\npaths: {src,lib\n---\nbody\n").unwrap();
    assert_eq!((&keys["a"], &keys["paths"]), (&"x".into(), &"{src,lib".into()));
    assert_eq!(body, "body");
}
