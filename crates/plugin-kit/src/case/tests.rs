use super::*;

fn case(yaml: &str) -> Result<Case, String> {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("tests")).unwrap();
    std::fs::write(root.path().join("tests/a.yaml"), yaml).unwrap();
    let case = load(root.path()).unwrap().pop().unwrap();
    case.map_err(|error| error.to_string())
}

#[test]
fn case_without_a_player_names_the_missing_key() {
    let error = case("prompt: x\n").unwrap_err();
    assert!(error.starts_with("tests/a.yaml: the key `turns` is missing"), "{error}");
    let error = case("prompt: x\nturns: [{text: a}]\nprovider: p\n").unwrap_err();
    assert!(error.contains("exclude each other"), "{error}");
}

#[test]
fn case_with_an_unknown_key_suggests_the_right_one() {
    let error = case("promt: x\nturns: [{text: a}]\n").unwrap_err();
    assert!(error.contains("unknown key `promt` at line 1; did you mean `prompt`?"), "{error}");
    let error = case("prompt: x\nturns: []\nexpect: {answer: {has: x}}\n").unwrap_err();
    assert!(error.contains("`expect.answer` must be a text"), "{error}");
}

#[test]
fn case_files_stay_below_the_project() {
    for path in ["../x", "/etc/x", "a/../../x"] {
        let error = case(&format!("prompt: x\nturns: []\nfiles: {{'{path}': a}}\n")).unwrap_err();
        assert!(error.contains("is not a path below the project"), "{error}");
    }
}

#[test]
fn case_reports_each_expectation_that_fails() {
    let yaml = "prompt: x\nturns: []\nexpect: {answer: {equals: a, contains: [b, c], \
                not_contains: d}, tools: [Read], exit: 3}\n";
    let played = Played { answer: "b d".to_owned(), exit: 1, ..Played::default() };
    let failures = case(yaml).unwrap().failures(&played);
    assert_eq!(
        failures,
        [
            "exit code 1, expected 3",
            "the answer is not \"a\"\nthe answer does not contain \"c\"\nthe answer contains \
             \"d\"\nanswer: b d",
            "called tools: none, expected: Read",
        ]
    );
}
