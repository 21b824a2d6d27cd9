//! `--output-schema`: the answer is JSON that fits, or the run fails.

use testkit::{ModelServer, Project, Reply};

use crate::project_with;

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#;
const ARGS: [&str; 4] = ["-p", "count", "--output-schema", "schema.json"];

fn asking(server: &ModelServer) -> Project {
    let project = project_with(server);
    project.file("schema.json", SCHEMA);
    project
}

#[test]
fn answer_that_fits_the_schema_is_printed() {
    let server = ModelServer::start([Reply::text("```json\n{\"n\": 1}\n```")]);
    let run = asking(&server).brynhild(&ARGS);
    assert_eq!(run.success().stdout, "{\"n\":1}\n");
    let text = server.chats()[0].body["messages"].to_string();
    assert!(text.contains("count") && text.contains("fits this JSON Schema"), "{text}");
}

#[test]
fn answer_that_does_not_fit_is_asked_for_again() {
    let server = ModelServer::start([Reply::text("one"), Reply::text("{\"n\": 2}")]);
    assert_eq!(asking(&server).brynhild(&ARGS).success().stdout, "{\"n\":2}\n");
    let text = server.chats()[1].body["messages"].to_string();
    assert!(text.contains("does not fit the schema"), "{text}");
}

#[test]
fn second_answer_that_does_not_fit_fails_the_run() {
    let server = ModelServer::start([Reply::text("one"), Reply::text("{\"n\": \"two\"}")]);
    let run = asking(&server).brynhild(&ARGS);
    assert_eq!(run.code(1).stdout, "");
    assert!(run.stderr.contains("error: the answer does not fit the schema"), "{run}");
    assert!(run.stderr.contains("integer"), "{run}");
    assert_eq!(server.chats().len(), 2);
}

#[test]
fn unusable_schema_file_is_misuse() {
    let server = ModelServer::start([]);
    let project = project_with(&server);
    for text in ["nonsense", "{\"type\": 7}"] {
        project.file("schema.json", text);
        let run = project.brynhild(&ARGS);
        assert!(run.code(2).stderr.contains("cannot use `--output-schema schema.json`"), "{run}");
    }
    assert!(server.chats().is_empty());
}
