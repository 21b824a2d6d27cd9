//! The output of `config`, `config show` and `config path`.

use serde_json::json;

use super::warnings;
use crate::project;

const SECRETS: &str = "openrouter_api_key: sk-or-one\nproviders:\n  instances:\n    mine:\n      \
                       type: openai\n      base_url: https://me:zwei@host/v1\n      api_key: \
                       drei\n      api_key_env: MY_KEY\n      headers: {X-Thing: vier}\n\
                       mcp: {server: {env: {GITHUB_TOKEN: fuenf}}}\n";

#[test]
fn secrets_are_redacted_in_every_form() {
    let project = project().env("OPENROUTER_API_KEY", "sk-or-sechs");
    project.config(SECRETS);
    for args in [
        &["config", "show"] as &[&str],
        &["config", "show", "--json"],
        &["config", "show", "--provenance"],
        &["config", "show", "--json", "--provenance"],
        &["config", "show", "--section", "openrouter_api_key"],
        &["config"],
        &["config", "--json"],
        &["api", "providers", "--json"],
    ] {
        let run = project.brynhild(args);
        run.success();
        for secret in ["sk-or-one", "zwei", "drei", "vier", "fuenf", "sechs"] {
            let shown = run.stdout.contains(secret) || run.stderr.contains(secret);
            assert!(!shown, "{args:?} shows {secret}: {run}");
        }
    }
    let shown = project.brynhild(&["config", "show"]).stdout;
    assert!(shown.contains("api_key_env: MY_KEY"), "{shown}");
    assert!(shown.contains("[redacted]@host/v1"), "{shown}");
}

#[test]
fn secrets_stay_out_of_messages_about_mistakes() {
    let project = project();
    project.config("providers: {instances: {mine: {type: openai, api_key_env: [sk-secret]}}}\n");
    let run = project.brynhild(&["config"]);
    run.code(2);
    project.config("openrouter_api_key: [sk-secret]\n");
    let run = project.brynhild(&["config"]);
    run.code(2);
    assert!(!run.stderr.contains("sk-secret"), "{run}");
}

#[test]
fn shown_configuration_is_a_valid_file() {
    let first = project();
    first.config(
        "models: {aliases: {'yes': 'a: b', x: \"#c\"}}\nsandbox: {read_paths: [/a b, '~']}\n",
    );
    let shown = first.brynhild(&["config", "show"]);
    shown.success();
    let second = project();
    second.config(&shown.stdout);
    let again = second.brynhild(&["config", "show"]);
    assert_eq!(again.stderr, "", "{again}");
    assert_eq!(again.stdout, shown.stdout);
}

#[test]
fn provenance_names_file_and_line_of_each_value() {
    let project = project();
    project.config("\nsession:\n  history_limit: 7\n");
    let file = project.config_directory().join("config.yaml");
    let run = project
        .command(&["config", "show", "--provenance", "--section", "session"])
        .env("BRYNHILD_SESSION__AUTO_SAVE", "no")
        .run();
    run.success();
    let expected = format!(
        "# Where the values come from, strongest first:\n# [env]        environment variables\n\
         # [user]       {}\n\nsession:            # [merged]\n  auto_save: false  # [env] \
         BRYNHILD_SESSION__AUTO_SAVE\n  history_limit: 7  # [user:3]\n",
        file.display()
    );
    assert_eq!(run.stdout, expected);
    let run = project.brynhild(&["config", "show", "--json", "--provenance"]);
    assert_eq!(
        run.json()["provenance"]["session.history_limit"],
        json!({"layer": "user", "file": file, "line": 3, "variable": null})
    );
}

#[test]
fn environment_variable_sets_the_comment_column() {
    let project = project();
    let words = ["config", "show", "--provenance", "--section", "session"];
    let column = |width: &str| {
        let run = project.command(&words).env("BRYNHILD_CONFIG_SHOW_WIDTH", width).run();
        run.success();
        let line = run.stdout.lines().find(|line| line.starts_with("session:")).unwrap().to_owned();
        (line.find('#').unwrap(), warnings(&run).len())
    };
    assert_eq!(column("60"), (22, 0));
    assert_eq!(column("8"), (10, 0));
    assert_eq!(column("wide"), (22, 1));
}

#[test]
fn comments_are_colored_on_a_terminal() {
    let words = ["config", "show", "--provenance", "--section", "session"];
    let is_colored = |args: &[&str], env: &[(&str, &str)]| {
        let project = env.iter().fold(project(), |it, (name, value)| it.env(name, value));
        let terminal = project.terminal(&[&words, args].concat(), (100, 30));
        assert_eq!(terminal.wait_for_end(), Some(0), "{}", terminal.screen());
        assert!(terminal.screen().contains("history_limit: 100"), "{}", terminal.screen());
        terminal.output().contains("\u{1b}[")
    };
    assert!(is_colored(&[], &[]));
    assert!(!is_colored(&["--no-color"], &[]));
    assert!(!is_colored(&[], &[("NO_COLOR", "1")]));
    assert!(!is_colored(&[], &[("BRYNHILD_CONFIG_SHOW_COLOR", "0")]));
    assert!(is_colored(&[], &[("NO_COLOR", "1"), ("BRYNHILD_CONFIG_SHOW_COLOR", "1")]));
    let piped = |args: &[&str]| project().brynhild(&[&words, args].concat()).stdout;
    assert!(!piped(&[]).contains('\u{1b}'));
    assert!(piped(&["--color"]).contains('\u{1b}'));
}

#[test]
fn one_section_is_shown_alone() {
    let project = project();
    let run = project.brynhild(&["config", "show", "--section", "session"]);
    assert_eq!(run.stdout, "session:\n  auto_save: true\n  history_limit: 100\n");
    let run = project.brynhild(&["config", "show", "--json", "--section", "session"]);
    assert_eq!(run.json(), json!({"session": {"auto_save": true, "history_limit": 100}}));
    let run = project.brynhild(&["config", "show", "--section", "sesion"]);
    run.code(1);
    assert!(run.stderr.starts_with("error: Unknown section: sesion\n"), "{run}");
    assert!(run.stderr.contains("hint: ") && run.stderr.contains("session"), "{run}");
    let run = project.brynhild(&["config", "show", "--section", "sesion", "--json"]);
    run.code(1);
    assert_eq!(run.json()["error"], "Unknown section: sesion");
}

#[test]
fn config_files_are_listed_with_their_state() {
    let project = project();
    project.config("");
    let (own, here) = (project.config_directory(), project.path());
    let run = project.brynhild(&["config", "path"]);
    run.success();
    let usual = format!(
        "✓ User: {}\n✗ Project: {}\n✗ Env file: {}\n",
        own.join("config.yaml").display(),
        here.join(".brynhild/config.yaml").display(),
        here.join(".env").display()
    );
    assert_eq!(run.stdout, format!("✓ Built-in: (in the program)\n{usual}"));
    let run = project.brynhild(&["config", "path", "--all"]);
    assert_eq!(
        run.stdout,
        format!(
            "✓ Built-in: (in the program)\n✗ Site: (BRYNHILD_SITE_CONFIG is not set)\n\
             ✗ Deployment: (BRYNHILD_DEPLOYMENT_CONFIG is not set)\n{usual}"
        )
    );
    let run = project.brynhild(&["config", "path", "--json"]);
    assert_eq!(
        run.json()[1],
        json!({"layer": "user", "path": own.join("config.yaml"), "found": true})
    );
}

#[test]
fn overview_shows_the_main_settings() {
    let project = project();
    let run = project.brynhild(&["config"]);
    run.success();
    let expected = format!(
        "Provider: none: run `brynhild login`\nModel: openai/gpt-oss-120b\nAPI Key: ✗ none was \
         found\nMode: normal\nMax Tokens: 8192\nMax Tool Rounds: 500\nProject Root: {}\nConfig Dir: \
         {}\nSessions Dir: {}\n",
        project.path().display(),
        project.config_directory().display(),
        project.config_directory().join("sessions").display()
    );
    assert_eq!(run.stdout, expected);
    let run = project.command(&["config", "--json"]).env("OPENROUTER_API_KEY", "k").run();
    assert_eq!(run.json()["max_tokens"], 8192);
    assert_eq!(run.json()["api_key"], "✓ OPENROUTER_API_KEY");
    let run = project.command(&["config", "--json"]).env("OPENAI_API_KEY", "k").run();
    assert_eq!(run.json()["provider"], "openai");
    assert_eq!(run.json()["api_key"], "✓ OPENAI_API_KEY");
}
