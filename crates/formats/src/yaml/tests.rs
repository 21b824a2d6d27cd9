use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::json;

use super::*;

fn read(text: &str) -> Tree {
    parse(text, Options::default()).unwrap()
}

fn malformed(text: &str) -> String {
    let Malformed { message, line, column, .. } = parse(text, Options::default()).unwrap_err();
    format!("{line}:{column}: {message}")
}

#[test]
fn every_value_has_the_line_of_its_key_or_item() {
    let tree = read("a: 1\nlist:\n  - name: x\n    on: yes\n  -\n    name: y\nb:\n  c: 2\n");
    let line = |path: &[&str]| tree.find(path).unwrap().place.line;
    assert_eq!([line(&["a"]), line(&["list"]), line(&["b"]), line(&["b", "c"])], [1, 2, 7, 8]);
    assert_eq!([line(&["list", "0"]), line(&["list", "1"]), line(&["list", "0", "on"])], [3, 6, 4]);
}

#[test]
fn plain_scalars_are_resolved_by_the_core_schema() {
    let text =
        "[~, True, 7, -0x1f, 0x1f, 1.50, 1e3, .5, 18446744073709551615, '7', !!str 7, 1.2.3, .inf]";
    assert_eq!(
        read(text).to_value(),
        json!([
            null,
            true,
            7,
            "-0x1f",
            31,
            1.5,
            1000.0,
            0.5,
            18_446_744_073_709_551_615_u64,
            "7",
            "7",
            "1.2.3",
            ".inf"
        ])
    );
    assert_eq!(read(text).items()[5].place.source.as_deref(), Some("1.50"));
    assert_eq!(read("").to_value(), json!(null));
}

#[test]
fn yes_and_no_are_truth_values_only_if_asked() {
    let text = "[yes, Off, n, 'on']";
    assert_eq!(read(text).to_value(), json!(["yes", "Off", "n", "on"]));
    let options = Options { yes_no: true, ..Options::default() };
    assert_eq!(parse(text, options).unwrap().to_value(), json!([true, false, false, "on"]));
}

#[test]
fn json_is_valid_yaml() {
    let value = json!({"a": ["b\u{1f600}\n", {"c": null}], "d": -1.5, "e": {}, "f": []});
    assert_eq!(read(&value.to_string()).to_value(), value);
    assert_eq!(read(&format!("{value:#}")).to_value(), value);
}

#[test]
fn malformed_text_is_refused_with_its_place() {
    assert_eq!(malformed("a: 1\nb: c: d"), "2:5: mapping values are not allowed in this context");
    assert_eq!(malformed("a: 1\na: 2"), "2:1: duplicate key a");
    assert_eq!(malformed("a: 1\n---\nb: 2"), "3:1: a second document begins here");
    assert_eq!(malformed("? [a]\n: 1"), "1:3: a key must be plain text");
    assert_eq!(malformed("a: 1\nb: [c,\n"), "2:4: the bracket `[` is never closed");
    assert_eq!(malformed("a: {b: [c}"), "1:10: while parsing a flow sequence, expected ',' or ']'");
    assert_eq!(malformed("a: {"), "1:4: the bracket `{` is never closed");
    assert_eq!(malformed("a: &x [*x]"), "1:8: an alias is inside its own anchor");
}

#[test]
fn repeated_keys_stay_in_the_tree_if_accepted() {
    let options = Options { repeated_keys: true, ..Options::default() };
    let tree = parse("a: 1\nb: 3\na: 2", options).unwrap();
    assert_eq!(tree.entries().len(), 3);
    assert_eq!(tree.to_value(), json!({"a": 2, "b": 3}));
}

#[test]
fn merge_keys_add_missing_keys() {
    let tree = read("x: &x {a: 1, b: 2}\ny: &y {b: 3, c: 4}\nz:\n  <<: [*x, *y]\n  a: 0");
    assert_eq!(tree.get("z").unwrap().to_value(), json!({"a": 0, "b": 2, "c": 4}));
}

#[test]
fn only_known_tags_are_accepted_if_any_are_named() {
    let options = Options { tags: Some(&["!delete", "!replace"]), ..Options::default() };
    let tree = parse("a: !delete\nb: !!map {}", options).unwrap();
    assert_eq!(tree.get("a").unwrap().place.tag.as_deref(), Some("!delete"));
    assert_eq!(tree.get("b").unwrap().place.tag, None);
    let error = parse("a: !drop 1", options).unwrap_err();
    assert_eq!(error.message, "unknown tag !drop, the tags are !delete and !replace");
    assert_eq!(read("a: !drop 1").to_value(), json!({"a": 1}));
}

#[test]
fn depth_and_size_are_bounded() {
    assert!(parse(&"[".repeat(100_000), Options::default()).is_err());
    let mut block = String::new();
    for depth in 0..1000 {
        let _ = writeln!(block, "{}a:", " ".repeat(depth));
    }
    assert!(malformed(&block).ends_with("nested too deeply"));
    assert!(malformed(&"- x\n".repeat(VALUE_LIMIT + 1)).ends_with("more than 20000 values"));
}

#[test]
fn alias_bombs_are_refused() {
    let mut nested = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        let _ = writeln!(nested, "a{level}: &a{level} [{aliases}]");
    }
    assert!(parse(&nested, Options::default()).is_err());
    let long = format!("a: &a {}\nb: [{}]", "x".repeat(100_000), "*a, ".repeat(100));
    assert!(parse(&long, Options::default()).is_err());
    assert_eq!(read("a: &x [1, 2]\nb: *x").to_value()["b"], json!([1, 2]));
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Part {
    name: String,
    #[serde(default)]
    count: Option<u32>,
    #[serde(default)]
    kind: Kind,
    #[serde(default)]
    more: BTreeMap<String, Vec<Part>>,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Plain,
    Text(String),
}

fn part(text: &str) -> Result<Part, Malformed> {
    read(text).to_type()
}

fn mismatch(text: &str) -> (usize, String) {
    let error = part(text).unwrap_err();
    (error.line, error.message)
}

#[test]
fn trees_become_types() {
    let text = "name: 1.10\ncount: 3\nkind: {text: no}\nmore: {a: [{name: x, kind: plain}]}";
    let inner = Part { name: "x".into(), count: None, kind: Kind::Plain, more: [].into() };
    let more = [("a".to_owned(), vec![inner])].into();
    let expected =
        Part { name: "1.10".into(), count: Some(3), kind: Kind::Text("no".into()), more };
    assert_eq!(part(text), Ok(expected));
    assert_eq!(read("[1, {a: ~}]").to_type(), Ok(json!([1, {"a": null}])));
}

#[test]
fn mismatches_have_the_line_and_the_alternatives() {
    assert_eq!(mismatch("count: 1"), (1, "the key `name` is missing; add it".into()));
    assert_eq!(mismatch("name: x\ncount: many"), (2, "expected u32, found string \"many\"".into()));
    let nested = "name: x\nmore:\n  a:\n    - name: y\n      cuont: 1";
    assert_eq!(mismatch(nested), (5, "unknown key `cuont`".into()));
    let error = part(nested).unwrap_err();
    assert_eq!((error.word.as_str(), error.known.len()), ("cuont", 4));
    assert_eq!(mismatch("name: x\nkind: fancy"), (2, "unknown value `fancy`".into()));
    assert_eq!(mismatch("name: ~").0, 1);
}
