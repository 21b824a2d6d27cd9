//! What sessions took: tokens, money, cached tokens and calls, by model, session, day, plugin and
//! tool. What nobody told a price for is unknown, never nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use crate::{project, project_with};

fn stats(project: &Project, words: &[&str]) -> Value {
    project.brynhild(&[&["stats", "--json"], words].concat()).success().json()
}

fn row<'a>(stats: &'a Value, name: &str) -> &'a Value {
    let rows = stats["rows"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {stats}"))
}

/// A model that reads a file and is done.
fn reader() -> ModelServer {
    ModelServer::respond_with(|request| {
        let messages = request.body["messages"].as_array().unwrap();
        let reply = if messages.last().unwrap()["role"] == "tool" {
            Reply::text("Read.")
        } else {
            Reply::calls([("Read", json!({"file_path": "a.txt"}))])
        };
        reply.usage(1000, 10).cached(400)
    })
}

#[test]
fn session_statistics_sum_in_every_order() {
    let server = reader();
    let project = project_with(&server);
    project.file("a.txt", "some text\n");
    project.brynhild(&["chat", "--session", "one", "Go."]).success();
    project.brynhild(&["chat", "--session", "two", "Go."]).success();
    project.brynhild(&["chat", "--session", "two", "Again."]).success();
    let by_model = stats(&project, &[]);
    let model = row(&by_model, "test/test-model");
    assert_eq!((&model["replies"], &model["input_tokens"]), (&json!(6), &json!(6000)));
    assert_eq!((&model["cache_read_tokens"], &model["output_tokens"]), (&json!(2400), &json!(60)));
    assert_eq!((&model["cost_usd"], &model["unpriced_replies"]), (&Value::Null, &json!(6)));
    assert_eq!(by_model["total"]["turns"], 3);
    assert_eq!(by_model["total"]["spent"]["input_tokens"], 6000);
    let by_session = stats(&project, &["--by", "session"]);
    assert_eq!(row(&by_session, "one")["replies"], 2);
    assert_eq!(row(&by_session, "two")["replies"], 4);
    let by_day = stats(&project, &["--by", "day", "--days", "2"]);
    let days = by_day["rows"].as_array().unwrap();
    let replies: u64 = days.iter().map(|day| day["replies"].as_u64().unwrap()).sum();
    assert_eq!(replies, 6);
    let by_tool = stats(&project, &["--by", "tool"]);
    let read = row(&by_tool, "Read");
    assert_eq!((&read["calls"], &read["failures"]), (&json!(3), &json!(0)));
    let (characters, tokens) = (&read["characters"], &read["estimated_tokens"]);
    assert!(characters.as_u64() > Some(20) && tokens.as_u64() < characters.as_u64(), "{read}");
    assert_eq!(row(&stats(&project, &["--by", "plugin"]), "builtin")["calls"], 3);
    let text = project.brynhild(&["stats"]).success().stdout.clone();
    assert!(text.contains("CACHE READ"), "{text}");
    assert!(text.lines().last().unwrap().ends_with("unknown"), "{text}");
}

#[test]
fn missing_or_broken_statistics_are_recomputed() {
    let server = reader();
    let project = project_with(&server);
    project.file("a.txt", "text\n");
    assert_eq!(
        project.brynhild(&["stats"]).success().stdout,
        "No sessions yet, so nothing to count. `brynhild chat PROMPT` starts one.\n"
    );
    project.brynhild(&["chat", "--session", "one", "Go."]).success();
    let first = stats(&project, &[]);
    let file = project.config_directory().join("sessions/statistics.json");
    for broken in ["", "{\"version\": 1}", "\0"] {
        fs::write(&file, broken).unwrap();
        assert_eq!(stats(&project, &[]), first);
    }
    fs::remove_file(&file).unwrap();
    assert_eq!(stats(&project, &[]), first);
    project.brynhild(&["chat", "--resume", "one", "--fork", "More."]).success();
    let forked = stats(&project, &["--by", "session"]);
    assert_eq!(row(&forked, "one-fork-1")["replies"], 2, "what was copied is not counted twice");
}

#[test]
fn statistics_use_configured_prices() {
    let server = reader();
    let project = project_with(&server);
    project.file("a.txt", "text\n");
    project.config_more(
        "models:\n  registry:\n    test-model:\n      bindings:\n        test:\n          \
         pricing_tiers: [{input: 10.0, output: 100.0, cache_read: 1.0}]\n",
    );
    project.brynhild(&["chat", "--session", "one", "Go."]).success();
    let all = stats(&project, &[]);
    let model = row(&all, "test/test-model");
    // Twice 600 at 10, 400 at 1, and 10 at 100 dollars for a million.
    let cost = model["cost_usd"].as_f64().unwrap();
    assert!((cost - 2.0 * (0.006 + 0.0004 + 0.001)).abs() < 1e-9, "{cost}");
    assert_eq!(model["unpriced_replies"], 0);
    let run = project.brynhild(&["stats", "--by", "session"]);
    assert!(run.success().stdout.contains("$0.0148"), "{run}");
}

#[test]
fn statistics_show_plugin_shares() {
    let server = ModelServer::respond_with(|request| {
        if request.text.contains("\"tool\"") {
            Reply::text("Done.")
        } else {
            Reply::calls([("talker", json!({})), ("talker", json!({}))])
        }
    });
    let project = project_with(&server);
    let file = project.config_directory().join("plugins/talker");
    let script = "#!/bin/sh\nif [ \"$1\" = --schema ]; then\n  echo '{\"name\": \"talker\", \
                  \"description\": \"Talks.\", \"parameters\": {\"type\": \"object\", \
                  \"properties\": {}}}'\nelse\n  printf '%0400d' 0\nfi\n";
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, script).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    project.brynhild(&["chat", "--yes", "--session", "one", "Talk."]).success();
    let plugins = stats(&project, &["--by", "plugin"]);
    let talker = row(&plugins, "talker");
    assert_eq!((&talker["calls"], &talker["failures"]), (&json!(2), &json!(0)));
    assert_eq!((&talker["characters"], &talker["estimated_tokens"]), (&json!(800), &json!(200)));
}

#[test]
fn statistics_show_tool_description_tokens_by_plugin() {
    let server = reader();
    let project = project_with(&server);
    project.file("a.txt", "text\n");
    let directory = project.config_directory().join("plugins");
    fs::create_dir_all(&directory).unwrap();
    for (name, words) in [("brief", 10), ("wordy", 4000)] {
        let described = "word ".repeat(words / 5);
        let script = format!(
            "#!/bin/sh\necho '{{\"name\": \"{name}\", \"description\": \"{described}\"}}'\n"
        );
        fs::write(directory.join(name), script).unwrap();
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(directory.join(name), mode).unwrap();
    }
    let none = project.brynhild(&["stats", "--by", "plugin"]);
    assert!(none.success().stdout.starts_with("No sessions yet"), "{none}");
    project.brynhild(&["chat", "Go."]).success();
    let plugins = stats(&project, &["--by", "plugin"]);
    let read = |name: &str| row(&plugins, name)["description_tokens"].as_u64().unwrap();
    assert!(read("brief") < 100 && read("wordy") > 1000, "{plugins}");
    assert_eq!(row(&plugins, "wordy")["calls"], 0);
    let tools = stats(&project, &["--by", "tool"]);
    assert!(row(&tools, "Read")["description_tokens"].as_u64() > Some(50), "{tools}");
    assert!(read("builtin") > row(&tools, "Read")["description_tokens"].as_u64().unwrap());
    let text = project.brynhild(&["stats", "--by", "plugin"]).success().stdout.clone();
    assert!(text.contains("EACH REQUEST") && text.contains("wordy"), "{text}");
}

#[test]
fn conversation_shows_its_usage() {
    let server = reader();
    let project = project_with(&server);
    project.file("a.txt", "text\n");
    let run = project.command(&["--plain", "--session", "one"]).stdin("Go.\nAgain.\n/cost\n").run();
    let lines: Vec<&str> = run.success().stdout.lines().collect();
    let from = lines.iter().position(|line| *line == "test/test-model").unwrap();
    let cells: Vec<Vec<&str>> =
        lines[from + 1..].iter().map(|line| line.split("  ").map(str::trim).collect()).collect();
    let line = |name: &str| -> Vec<&str> {
        let found = cells.iter().find(|cells| cells[0] == name).unwrap_or_else(|| panic!("{name}"));
        found[1..].iter().copied().filter(|cell| !cell.is_empty()).collect()
    };
    assert_eq!(line(""), ["session", "last turn"]);
    assert_eq!((line("REPLIES"), line("IN")), (vec!["4", "2"], vec!["4000", "2000"]));
    assert_eq!((line("CACHE READ"), line("OUT")), (vec!["1600", "800"], vec!["40", "20"]));
    assert_eq!((line("CALLS"), line("FAILED")), (vec!["2"], vec!["0"]));
    assert_eq!(line("COST"), ["unknown", "unknown"]);
    // It fits the narrow terminals, too.
    assert!(lines[from..].iter().all(|line| line.chars().count() <= 36), "{run}");
    let run = project.command(&["--plain", "--no-color"]).stdin("/cost\n").run();
    assert!(run.success().stdout.contains("REPLIES"), "{run}");
}

#[test]
fn invalid_statistics_period_is_refused() {
    project().brynhild(&["stats", "--days", "0"]).code(2);
}
