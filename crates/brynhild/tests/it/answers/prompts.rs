//! The prompt: files, standard input, arguments.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use serde_json::json;
use testkit::{ModelServer, Reply};

use crate::project_with;

fn answering() -> ModelServer {
    ModelServer::start([Reply::text("Yes.")]).repeat_last()
}

/// The last message that the model received.
fn read_by_model(server: &ModelServer) -> String {
    let request = server.chats().pop().unwrap();
    let message = request.body["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(message["role"], "user");
    message["content"].as_str().unwrap().to_owned()
}

#[test]
fn prompt_parts_are_ordered_and_tagged() {
    let server = answering();
    let project = project_with(&server);
    project.file("a.md", "\n  first file \n").file("b c.md", "second\n");
    let run = project
        .command(&["chat", "do", "it", "-f", "a.md", "--json", "--prompt-file", "b c.md"])
        .stdin("\npiped\n\n")
        .run();
    let content = "do it\n\n<prompt_file path=\"a.md\">\nfirst file\n</prompt_file>\n\n\
                   <prompt_file path=\"b c.md\">\nsecond\n</prompt_file>\n\n\
                   <stdin>\npiped\n</stdin>";
    assert_eq!(read_by_model(&server), content);
    let source =
        json!({"sources": ["args", "file:a.md", "file:b c.md", "stdin"], "content": content});
    assert_eq!(run.success().json()["prompt_source"], source);
}

#[test]
fn each_part_alone_is_a_prompt() {
    let server = answering();
    let project = project_with(&server);
    project.file("a.md", "from a file");
    project.brynhild(&["chat", "-f", "a.md"]).success();
    assert_eq!(read_by_model(&server), "from a file");
    project.command(&["chat"]).stdin("from a pipe").run().success();
    assert_eq!(read_by_model(&server), "from a pipe");
    project.brynhild(&["chat", "--", "--not-a-flag"]).success();
    assert_eq!(read_by_model(&server), "--not-a-flag");
}

#[test]
fn prompt_text_reaches_the_model_unchanged() {
    let server = answering();
    let text = "tab\tquote\" back\\slash \u{1f600} \u{2028} \u{7} \u{1b}[31m é";
    project_with(&server).command(&["chat", text]).run().success();
    assert_eq!(read_by_model(&server), text);
}

#[test]
fn long_prompt_is_read_from_a_pipe() {
    let server = answering();
    let text = "0123456789\n".repeat(300_000);
    project_with(&server).command(&["chat"]).stdin(text.clone()).run().success();
    assert_eq!(read_by_model(&server).len(), text.trim().len());
}

#[test]
fn no_prompt_is_misuse() {
    let server = answering();
    let project = project_with(&server);
    project.file("empty.md", " \n\t\n");
    for args in [&["chat"][..], &["chat", ""], &["chat", " ", " "], &["chat", "-f", "empty.md"]] {
        let run = project.command(args).stdin(" \r\n").run();
        run.code(2);
        assert_eq!(run.stdout, "");
        assert!(run.stderr.contains("No prompt provided"), "{run}");
        assert!(run.stderr.contains("hint: "), "{run}");
    }
    let answer = project.brynhild(&["chat", "--json"]).code(2).json();
    assert_eq!(answer["error"], "No prompt provided");
    assert!(server.requests().is_empty());
}

#[test]
fn unreadable_prompt_is_misuse() {
    let server = answering();
    let project = project_with(&server);
    project.file("latin.txt", b"caf\xe9").file("directory/x", "");
    let cases = [
        ("missing.md", "cannot read prompt file missing.md: No such file or directory"),
        ("directory", "cannot read prompt file directory: Is a directory"),
        ("latin.txt", "prompt file latin.txt is not UTF-8 text"),
    ];
    for (file, message) in cases {
        let run = project.brynhild(&["chat", "Go", "-f", file]);
        assert!(run.code(2).stderr.contains(message), "{run}");
        assert_eq!(run.stdout, "");
        let answer = project.brynhild(&["chat", "Go", "--json", "-f", file]).code(2).json();
        assert!(answer["error"].as_str().unwrap().contains(message), "{answer}");
    }
    let run = project.command(&["chat", "Go"]).stdin(b"caf\xe9".to_vec()).run();
    assert!(run.code(2).stderr.contains("standard input is not UTF-8 text"), "{run}");
    let words = [OsString::from("chat"), OsString::from_vec(b"caf\xe9".to_vec())];
    let run = project.brynhild(&words);
    assert!(run.code(2).stderr.contains("UTF-8"), "{run}");
    assert!(server.requests().is_empty());
}

#[test]
fn prompt_file_is_relative_to_the_working_directory() {
    let server = answering();
    let project = project_with(&server);
    project.file("src/deep/task.md", "the task");
    project.command(&["chat", "-f", "task.md"]).cwd("src/deep").run().success();
    assert!(read_by_model(&server).contains("the task"));
}

#[test]
fn endless_standard_input_is_reported() {
    let server = answering();
    let project = project_with(&server);
    let mut running = project.command(&["chat", "Go"]).spawn();
    running.wait_for_stderr("waiting for standard input");
    running.send("late");
    running.close_stdin();
    let run = running.wait();
    assert_eq!(run.success().stdout, "Yes.\n");
    assert_eq!(read_by_model(&server), "Go\n\n<stdin>\nlate\n</stdin>");
}
