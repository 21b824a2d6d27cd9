//! Jobs of `lmao.async_jobs`.

use serde_json::{Value, json};

use super::{exec, manifest, plugin};
use crate::{has_bubblewrap, project};

/// The events of a tail of this file from its start, after each of the statements.
fn tailed(text: &str, statements: &str) -> Vec<Value> {
    let project = project();
    project.file("app.log", text);
    let body = format!(
        "from lmao.async_jobs import get_async_job_manager\njobs = get_async_job_manager()\n\
         id = jobs.start_tail(base / 'app.log', start_at='start')\n{statements}\n\
         return json.dumps(jobs.poll(id)['events'])"
    );
    plugin(&project, "tails", &manifest("tails"), &body);
    let run = exec(&project, "tails", &json!({"target": ""}), &["--yes"]);
    serde_json::from_str(run.success().stdout.trim()).unwrap()
}

#[test]
fn tail_has_one_event_per_line() {
    if !has_bubblewrap() {
        return;
    }
    let events = tailed("one\ntwo\nünvollend", "");
    let texts: Vec<&Value> = events.iter().map(|event| &event["text"]).collect();
    assert_eq!(texts, ["one\n", "two\n"]);
    let events = tailed("one\nünvollend", "jobs.poll(id)");
    assert_eq!(events.last().unwrap()["text"], "ünvollend", "a line that does not grow is shown");
}

#[test]
fn tail_drops_the_oldest_lines() {
    if !has_bubblewrap() {
        return;
    }
    let lines: Vec<String> = (1..=700).map(|number| format!("line {number}\n")).collect();
    let events = tailed(&lines.concat(), "");
    assert_eq!(events.len(), 500);
    assert_eq!(events[0], json!({"seq": 201, "stream": "tail", "text": "line 201\n"}));
    assert_eq!(events[499]["text"], "line 700\n");
}
