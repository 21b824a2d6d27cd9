//! Plugins that are refused, broken or confined: one message each, and nothing else stops.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use testkit::{ModelServer, Reply};

use super::{directory, exec, plugin, schema, script};
use crate::{has_bubblewrap, project, project_with, without_sandbox_warning};

#[test]
fn each_bad_plugin_is_one_message() {
    let project = project();
    let directory = directory(&project);
    plugin(&project, "good", &schema("good"), "echo fine");
    script(&directory.join("nojson"), "#!/bin/sh\necho hello\n");
    script(&directory.join("crash"), "#!/bin/sh\necho broken pipe organ >&2\nexit 9\n");
    script(&directory.join("hangs"), "#!/bin/sh\nsleep 3333\n");
    script(&directory.join("nothing"), "#!/bin/sh\necho '[]'\n");
    script(&directory.join("binary"), "#!/nowhere/interpreter\n");
    script(&directory.join("dir/other"), "#!/bin/sh\n");
    script(
        &directory.join("off.disabled"),
        "#!/bin/sh\necho ran > \"$BRYNHILD_PLUGIN_DATA/ran\"\n",
    );
    fs::write(directory.join("README.md"), "words\n").unwrap();
    let outside = project.home().join("outside");
    script(&outside, "#!/bin/sh\necho '{\"name\": \"outside\", \"description\": \"d\"}'\n");
    symlink(&outside, directory.join("link")).unwrap();
    project.config("plugins: {hangs: {timeout: 1}}\n");
    let run = exec(&project, "good", &json!({}));
    run.success();
    assert_eq!(run.stdout, "fine\n\n");
    for (name, words) in [
        ("nojson", "`--schema` prints no JSON"),
        ("crash", "`--schema` ended with exit code 9: broken pipe organ"),
        ("hangs", "`--schema` did not end within 1 s"),
        ("nothing", "`--schema` lists no tool"),
        ("binary", "the plugin does not start"),
        ("dir", "there is no executable `dir` in this directory"),
        ("link", "this symlink points outside the plugin directory"),
    ] {
        let place = format!("/plugins/{name}: {words}");
        let about = run.stderr.lines().filter(|line| line.starts_with("warning: "));
        assert_eq!(about.filter(|line| line.contains(&place)).count(), 1, "{name}: {run}");
    }
    let told = without_sandbox_warning(&run.stderr);
    assert_eq!(told.matches("warning: ").count(), 7, "{run}");
}

#[test]
fn plugin_is_confined_like_a_command() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    fs::write(project.home().join("diary"), "dear diary\n").unwrap();
    project.file(".git/config", "theirs");
    let body = "touch here 2>/dev/null && echo workspace; cat \"$HOME/diary\" 2>/dev/null\n\
                touch .git/config 2>/dev/null && echo protected\n\
                echo kept > \"$BRYNHILD_PLUGIN_DATA/note\" && echo data\n\
                test -r /etc/passwd && echo system\n\
                touch \"$(dirname \"$0\")/mine\" 2>/dev/null && echo directory\n\
                [ \"$(ls /sys/class/net 2>/dev/null | grep -cv '^lo$')\" = 0 ] || grep -c : /proc/net/dev";
    plugin(&project, "nosy", &schema("nosy"), body);
    let run = exec(&project, "nosy", &json!({}));
    let lines: Vec<&str> = run.stdout.split_whitespace().collect();
    assert_eq!(lines[..3], ["workspace", "data", "system"], "{run}");
    assert!(!run.stdout.contains("protected") && !run.stdout.contains("diary"), "{run}");
    assert!(project.path().join("here").exists());
}

#[test]
fn hook_writes_the_workspace_only_with_a_grant() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([Reply::text("ok")]).repeat_last();
    let project = project_with(&server);
    let mut hooked = schema("hooked");
    hooked["hooks"] = json!(["pre_message"]);
    plugin(&project, "hooked", &hooked, "cat > /dev/null; touch here 2>/dev/null; echo '{}'");
    project.brynhild(&["chat", "go"]).success();
    assert!(!project.path().join("here").exists());
    project.config_more("plugins: {hooked: {sandbox: {write: ['.']}}}\n");
    project.brynhild(&["chat", "go"]).success();
    assert!(project.path().join("here").exists());
}

#[test]
fn a_projects_plugins_run_only_when_it_is_trusted() {
    let project = project();
    let file = project.path().join(".brynhild/plugins/theirs");
    script(&file, "#!/bin/sh\necho '{\"name\": \"theirs\", \"description\": \"d\"}'\n");
    let has = || project.brynhild(&["tools", "list"]).stdout.contains("theirs");
    assert!(!has());
    project.brynhild(&["trust", "--yes"]).success();
    assert!(has());
    script(&file, "#!/bin/sh\necho '{\"name\": \"theirs\", \"description\": \"changed\"}'\n");
    assert!(!has(), "other bytes are not what was trusted");
}

#[test]
fn tool_with_a_taken_name_is_omitted_and_reported() {
    let project = project();
    plugin(&project, "fake", &schema("Read"), "echo fake");
    let run = project.brynhild(&["tools", "list"]);
    assert!(run.success().stderr.contains("tool `Read` of fake is left out"), "{run}");
}

#[test]
fn plugin_dir_flag_and_disabling_work() {
    let project = project();
    let file = project.home().join("some/mine/mine");
    script(&file, "#!/bin/sh\necho '{\"name\": \"mine\", \"description\": \"d\"}'\n");
    for directory in ["some", "some/mine"] {
        let directory = project.home().join(directory).display().to_string();
        let run = project.brynhild(&["--plugin-dir", &directory, "tools", "list"]);
        assert!(run.stdout.contains("mine"), "{run}");
        assert_eq!(without_sandbox_warning(&run.stderr), "", "{run}");
    }
    let some = project.home().join("some").display().to_string();
    let safe = project.brynhild(&["--safe", "--plugin-dir", &some, "tools", "list"]);
    assert!(!safe.stdout.contains("mine"), "{safe}");
    fs::write(project.config_directory().join("plugins.yaml"), "disabled: [mine]\n").unwrap();
    let off = project.brynhild(&["--plugin-dir", &some, "tools", "list"]);
    assert!(!off.stdout.contains("mine"), "{off}");
}

#[test]
fn plugin_directory_in_the_workspace_needs_trust() {
    let project = project();
    script(
        &project.path().join("kit/mine/mine"),
        "#!/bin/sh\necho '{\"name\": \"mine\", \"description\": \"d\"}'\n",
    );
    script(
        &project.path().join("kit/file"),
        "#!/bin/sh\necho '{\"name\": \"filed\", \"description\": \"d\"}'\n",
    );
    let list = || project.brynhild(&["--plugin-dir", "kit", "tools", "list"]);
    let run = list();
    assert!(run.stdout.contains("mine") && run.stdout.contains("filed"), "{run}");
}

#[test]
fn missing_file_in_the_project_gets_no_grant() {
    let project = project();
    let body = "echo \"No such file or directory: '$CHIBI_PROJECT_ROOT/etc/hosts'\" >&2; exit 1";
    plugin(&project, "lines", &schema("lines"), body);
    let work = project.home().join("work");
    fs::create_dir(&work).unwrap();
    let args = ["tools", "exec", "lines", "--input", "{}", "--yes"];
    let run = project.command(&args).cwd(&work).run();
    assert!(run.code(1).stderr.contains("/home/work/etc/hosts"), "{run}");
    assert!(!run.to_string().contains("runs confined"), "{run}");
}

#[test]
fn sandboxed_call_names_the_missing_grant() {
    let project = project();
    let stopped = "echo 'curl: (6) Could not resolve host: example.org' >&2; exit 6";
    plugin(&project, "net", &schema("net"), stopped);
    let run = exec(&project, "net", &json!({}));
    let grant = "`brynhild plugin grant net --network`";
    assert!(run.code(1).stderr.contains(grant), "{run}");
    assert!(run.stderr.contains("Could not resolve host"), "{run}");
    project.config("plugins: {net: {sandbox: {network: true}}}\n");
    let run = exec(&project, "net", &json!({}));
    assert!(!run.code(1).stderr.contains("runs confined"), "{run}");
}

#[test]
fn plugin_of_an_untrusted_project_is_listed_as_untrusted() {
    let project = project();
    let text = "#!/bin/sh\necho '{\"name\": \"t\", \"description\": \"d\"}'\n";
    script(&project.path().join(".brynhild/plugins/chi"), text);
    let list = project.brynhild(&["plugin", "list"]);
    assert!(list.success().stdout.contains("untrusted"), "{list}");
    let json = project.brynhild(&["plugin", "show", "chi", "--json"]).json();
    assert_eq!((&json["enabled"], &json["trusted"]), (&false.into(), &false.into()));
    let run = project.brynhild(&["plugin", "enable", "chi"]);
    assert!(run.stderr.contains("it stays off, because it is not trusted"), "{run}");
    assert!(run.stderr.contains("brynhild trust"), "{run}");
    assert_eq!(run.stdout, "Plugin 'chi' is untrusted.\n", "{run}");
}
