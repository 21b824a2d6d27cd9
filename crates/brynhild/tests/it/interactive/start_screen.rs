//! The first screen, and the status line.

use super::*;

#[test]
fn first_screen_names_place_model_rights_and_sessions() {
    let server = ModelServer::start([Reply::text("fixed")]);
    let project = project_with(&server);
    crate::git::shell(&project, "git init -q -b trunk");
    project.brynhild(&["chat", "Fix the parser. It fails on tabs."]).success();
    let terminal = start(&project);
    let screen = terminal.wait_for("Recent sessions here");
    let version = format!("Brynhild {}", env!("CARGO_PKG_VERSION"));
    for part in [
        &version,
        " · trunk",
        "test-model",
        "normal mode: edits and sandboxed commands run",
        "sandboxed: no network, writes only here",
        "Fix the parser  just now",
        "F1 help",
    ] {
        assert!(screen.contains(part), "{part} is missing:\n{screen}");
    }
    let status = screen.lines().last().unwrap();
    assert!(status.contains(" · trunk · test-model · normal"), "{status}");
    terminal.send("\x1b[17~");
    terminal.wait_for("2 messages");
    terminal.send("\r");
    terminal.wait_for("fixed");
}

#[test]
fn status_line_template_replaces_the_usual_parts() {
    let server = ModelServer::start([]);
    let template = "<{model}|{mode}|{directory}|{branch}|{context}|{tokens}|{cost}> {sandbox}";
    let project = project_with(&server).env("BRYNHILD_UI__STATUS_LINE", template);
    let screen = start(&project).wait_for("||||> sandboxed: no network, writes only here");
    assert!(screen.contains("\n<test-model|normal|"), "{screen}");
    let session = project_with(&server).env("BRYNHILD_UI__STATUS_LINE", "id {session}.");
    start(&session).wait_for("id session-");
}

#[test]
fn unknown_placeholder_is_a_configuration_error() {
    let project = crate::project();
    project.config("ui:\n  status_line: \"{model} {moon}\"\n");
    let run = project.brynhild(&["config", "show"]);
    run.code(2);
    let wanted = "config.yaml: line 2: ui.status_line is \"{model} {moon}\", expected text with the \
                  placeholders {directory}, {branch}, {model},";
    assert!(run.stderr.contains(wanted), "{run}");
}
