//! A hundred thousand lines that no client should send.

use serde_json::{Value, json};
use testkit::ModelServer;

use super::SCHEMA;
use crate::project_with;

const LINES: usize = 100_000;

/// Numbers that look random and are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn pick<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }
}

const METHODS: [&str; 15] = [
    "initialize",
    "authenticate",
    "logout",
    "session/new",
    "session/load",
    "session/resume",
    "session/list",
    "session/close",
    "session/delete",
    "session/prompt",
    "session/set_mode",
    "session/set_config_option",
    "session/update",
    "",
    "_x",
];

/// A request with an ID, some of whose parameters are wrong. No directory exists.
fn request(numbers: &mut Numbers, id: usize) -> String {
    let values = [
        Value::Null,
        json!(true),
        json!(-1.5e300),
        json!("\u{0}\u{202e}x"),
        json!("/does/not/exist"),
        json!([]),
        json!([{"type": "text", "text": "x"}]),
        json!([{"type": "image"}]),
        json!({"a": [[[[]]]]}),
        json!(u64::MAX),
    ];
    let keys =
        ["sessionId", "cwd", "mcpServers", "prompt", "modeId", "configId", "value", "cursor"];
    let mut params = serde_json::Map::new();
    for _ in 0..numbers.below(5) {
        let (key, value) = (*numbers.pick(&keys), numbers.pick(&values).clone());
        params.insert(key.to_owned(), value);
    }
    let params = match numbers.below(8) {
        0 => numbers.pick(&values).clone(),
        _ => Value::Object(params),
    };
    let method = *numbers.pick(&METHODS);
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

#[test]
fn each_fuzzed_line_gets_one_answer() {
    let server = ModelServer::start([]);
    let project = project_with(&server);
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut input = Vec::new();
    let first = json!({"jsonrpc": "2.0", "id": "first", "method": "initialize",
        "params": {"protocolVersion": 1}});
    input.extend_from_slice(format!("{first}\n").as_bytes());
    let mut broken = 0;
    for id in 0..LINES {
        let mut line = request(&mut numbers, id).into_bytes();
        if numbers.below(3) == 0 {
            // Cut off, so that it is no JSON.
            line.truncate(1 + numbers.below(line.len() - 1));
            if numbers.below(2) == 0 {
                let at = numbers.below(line.len());
                line[at] = u8::try_from(128 + numbers.below(100)).unwrap();
            }
            broken += 1;
        }
        input.extend_from_slice(&line);
        input.push(b'\n');
    }
    let run = project.command(&["acp"]).stdin(input).run();
    run.success();
    let mut answered = vec![false; LINES];
    let mut unknown = 0;
    for line in run.json_lines() {
        if line["error"].is_object() {
            SCHEMA.check_line(&line, None);
        }
        match line["id"].as_u64() {
            Some(id) => {
                let was = std::mem::replace(&mut answered[usize::try_from(id).unwrap()], true);
                assert!(!was, "answered twice: {line}");
            }
            None if line["id"] == "first" => {}
            None => {
                assert_eq!(line["error"]["code"], -32700, "{line}");
                unknown += 1;
            }
        }
    }
    assert_eq!(unknown, broken);
    assert_eq!(answered.iter().filter(|it| **it).count(), LINES - broken);
}
