//! In directories that a plugin, a hook or an MCP server may write, protected names stay protected,
//! rules apply, and no symlink extends the grant.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;
use testkit::{ModelServer, Project, Reply, Run};

use super::with_keys;
use crate::backends::Backend;
use crate::mcp::SERVER;
use crate::python_plugins::{plugin, tool};
use crate::{has_bubblewrap, project, project_with};

/// The kinds of processes with grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    Plugin,
    Hook,
    ClaudeHook,
    Server,
}

const HOLDERS: [Holder; 4] = [Holder::Plugin, Holder::Hook, Holder::ClaudeHook, Holder::Server];

impl Holder {
    /// Installs one that runs given commands and may write these paths.
    fn with(self, project: &Project, write: &[&str]) {
        let root = project.config_directory().join("plugins/runner");
        let command = format!("sh {}/told.sh", root.display());
        match self {
            Self::Plugin => {
                let body =
                    "done = subprocess.run(['sh', '-c', input['c']])\nreturn ToolResult(True, '')";
                plugin(project, "runner", &[("tools/runs.py", &tool("runs", body))]);
            }
            Self::Hook => {
                let hook = json!({"name": "h", "type": "command", "command": command});
                let hooks = json!({"hooks": {"pre_tool_use": [hook]}}).to_string();
                write_file(&root, "plugin.yaml", "name: runner\nversion: '1.0'\nhooks: true\n");
                write_file(&root, "hooks.yaml", &hooks);
            }
            Self::ClaudeHook => {
                let hook = json!({"type": "command", "command": command});
                let hooks =
                    json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
                write_file(&root, "hooks/hooks.json", &hooks.to_string());
            }
            Self::Server => {
                write_file(&project.home().join("server"), "server.py", SERVER);
                let server = project.home().join("server/server.py").display().to_string();
                let grants = write.iter().flat_map(|path| ["--allow-write", path]);
                let words = ["mcp", "add", "runner"].into_iter().chain(grants);
                let words: Vec<&str> = words.chain(["--", "python3", &server, "shell"]).collect();
                project.brynhild(&words).success();
                return;
            }
        }
        let grants = json!({"runner": {"sandbox": {"write": write}}});
        project.config_more(&format!("plugins: {grants}\n"));
    }

    /// Has it run a script.
    fn run(self, project: &Project, script: &str) -> Run {
        let root = project.config_directory().join("plugins/runner");
        match self {
            Self::Plugin => {
                let input = json!({"c": script}).to_string();
                project.brynhild(&["--mode", "yolo", "tools", "exec", "runs", "--input", &input])
            }
            Self::Hook => {
                write_file(&root, "told.sh", script);
                project.brynhild(&["hooks", "test", "pre_tool_use"])
            }
            Self::ClaudeHook => {
                write_file(&root, "told.sh", script);
                project.brynhild(&["hooks", "test", "PreToolUse"])
            }
            Self::Server => {
                let input = json!({"text": script}).to_string();
                let words = ["tools", "exec", "mcp__runner__shell", "--input", &input, "--yes"];
                project.brynhild(&words)
            }
        }
    }
}

fn write_file(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A directory with a repository, and with another and settings of an editor further down.
fn with_names(directory: &Path) {
    for name in [".git/hooks", "rep/.git/hooks", "pk/.vscode"] {
        fs::create_dir_all(directory.join(name)).unwrap();
    }
    fs::write(directory.join("pk/.vscode/tasks.json"), "mine").unwrap();
}

/// Protected files that the host would obey.
const OBEYED: [&str; 6] = [
    ".git/hooks/pre-commit",
    ".vscode/tasks.json",
    ".envrc",
    "rep/.git/config",
    "pk/.vscode/tasks.json",
    "rep/.claude/settings.json",
];

fn assert_protected_names_unchanged(directory: &Path, run: &Run) {
    assert_eq!(
        fs::read_to_string(directory.join("pk/.vscode/tasks.json")).unwrap(),
        "mine",
        "{run}"
    );
    for name in OBEYED.iter().filter(|name| !name.starts_with("pk")) {
        assert!(!directory.join(name).exists(), "{} {name} {run}", directory.display());
    }
}

fn assert_protected_names_stay(holder: Holder) {
    for backend in Backend::here() {
        let project = backend.project();
        let (sub, notes) = (project.path().join("sub"), project.home().join("notes"));
        with_names(&sub);
        with_names(&notes);
        holder.with(&project, &["sub", "~/notes"]);
        // On Landlock a process is ended as soon as it touches a name.
        let names: Vec<&[&str]> = match backend {
            Backend::Bubblewrap => vec![&OBEYED],
            Backend::Landlock => OBEYED.chunks(1).collect(),
        };
        for (names, directory) in names.iter().flat_map(|it| [(it, &sub), (it, &notes)]) {
            let plant = |name: &&str| {
                let above = Path::new(name).parent().unwrap();
                format!("(mkdir -p ./{}; echo PWN > {name})", above.display())
            };
            let plants: Vec<String> = names.iter().map(plant).collect();
            let script =
                format!("cd {}; echo x > free; {}", directory.display(), plants.join("; "));
            let run = holder.run(&project, &script);
            assert_eq!(
                fs::read_to_string(directory.join("free")).unwrap_or_default(),
                "x\n",
                "{backend:?} {run}"
            );
            fs::remove_file(directory.join("free")).unwrap();
            assert_protected_names_unchanged(directory, &run);
        }
    }
}

#[test]
fn plugin_cannot_create_protected_files() {
    assert_protected_names_stay(Holder::Plugin);
}

#[test]
fn plugin_hook_cannot_create_protected_files() {
    assert_protected_names_stay(Holder::Hook);
}

#[test]
fn claude_hook_cannot_create_protected_files() {
    assert_protected_names_stay(Holder::ClaudeHook);
}

#[test]
fn server_cannot_create_protected_files() {
    assert_protected_names_stay(Holder::Server);
}

#[test]
fn plugin_data_directory_is_unrestricted() {
    let project = project();
    Holder::Plugin.with(&project, &[]);
    let script = "mkdir $BRYNHILD_PLUGIN_DATA/.vscode; echo x > $BRYNHILD_PLUGIN_DATA/.vscode/own";
    let run = Holder::Plugin.run(&project, script);
    assert!(project.config_directory().join("plugin-data/runner/.vscode/own").exists(), "{run}");
}

/// How often something is said.
fn count(run: &Run, words: &[&str]) -> usize {
    let said = format!("{}{}", run.stdout, run.stderr);
    said.lines().filter(|line| words.iter().all(|it| line.contains(it))).count()
}

#[test]
fn deny_rule_overrides_a_grant_and_is_reported_once() {
    for (backend, holder) in Backend::here().into_iter().flat_map(|it| HOLDERS.map(|who| (it, who)))
    {
        let project = backend.project();
        let home = project.home();
        for directory in ["secret", "kept", "notes"] {
            write_file(&home.join(directory), "k", "CANARY\n");
        }
        project.config(
            "permissions: {deny: ['Read(~/secret/**)', 'Write(~/kept/**)', 'Write(~/single)']}\n",
        );
        fs::write(home.join("single"), "CANARY\n").unwrap();
        holder.with(&project, &["~/secret", "~/kept", "~/notes", "~/single"]);
        let script = format!(
            "cd {}; cat secret/k > notes/read; echo PWN > secret/k; echo PWN > single; \
             echo PWN > kept/k; touch notes/free",
            home.display()
        );
        let run = holder.run(&project, &script);
        assert!(home.join("notes/free").exists(), "{backend:?} {holder:?} {run}");
        let stolen = fs::read_to_string(home.join("notes/read")).unwrap_or_default();
        assert_eq!(stolen, "", "{backend:?} {holder:?} {run}");
        for (name, file, why) in [
            ("secret", "secret/k", "denies reading it"),
            ("kept", "kept/k", "denies writing it"),
            ("single", "single", "denies writing it"),
        ] {
            let text = fs::read_to_string(home.join(file)).unwrap();
            assert_eq!(text, "CANARY\n", "{backend:?} {holder:?} {file} {run}");
            let place = home.canonicalize().unwrap().join(name).display().to_string();
            let words = ["`runner` is granted", &place, why];
            assert_eq!(count(&run, &words), 1, "{backend:?} {holder:?} {run}");
        }
    }
}

#[test]
fn symlink_in_place_of_a_grant_is_refused_with_a_message() {
    for (backend, holder) in Backend::here().into_iter().flat_map(|it| HOLDERS.map(|who| (it, who)))
    {
        let project = backend.project();
        let keys = with_keys(&project);
        let out = project.path().join("out");
        fs::create_dir(&out).unwrap();
        holder.with(&project, &["out"]);
        let script = format!("touch {}/free", out.display());
        let run = holder.run(&project, &script);
        assert!(out.join("free").exists(), "{backend:?} {holder:?} {run}");
        fs::remove_dir_all(&out).unwrap();
        for target in [keys.clone(), PathBuf::from("../home/keys")] {
            symlink(target, &out).unwrap();
            let run = holder.run(&project, &script);
            assert!(!keys.join("free").exists(), "{backend:?} {holder:?} {run}");
            assert!(
                count(&run, &["a command could have made it"]) > 0,
                "{backend:?} {holder:?} {run}"
            );
            fs::remove_file(&out).unwrap();
        }
    }
}

#[test]
fn grant_of_a_missing_path_is_reported_once() {
    let project = project();
    Holder::Server.with(&project, &["~/absent"]);
    let run = Holder::Server.run(&project, "true");
    assert_eq!(count(&run, &["`runner` is granted", "absent", "nothing is there"]), 1, "{run}");
}

#[test]
fn server_grant_above_the_project_covers_only_the_project() {
    let project = project();
    let above = project.path().canonicalize().unwrap().parent().unwrap().to_owned();
    Holder::Server.with(&project, &[above.to_str().unwrap()]);
    let run = Holder::Server.run(&project, "touch free ../free");
    assert_eq!(count(&run, &["`runner`", "only the project is writable"]), 1, "{run}");
    assert!(project.path().join("free").exists() && !above.join("free").exists(), "{run}");
}

#[test]
fn failed_hook_grant_is_reported_once_per_conversation() {
    for holder in [Holder::Hook, Holder::ClaudeHook] {
        let call = || Reply::calls([("Bash", json!({"command": "true"}))]);
        let server = ModelServer::start([call(), call(), Reply::text("done")]);
        let project = project_with(&server);
        write_file(&project.config_directory().join("plugins/runner"), "told.sh", "true");
        holder.with(&project, &[".git/hooks", ".."]);
        let run = project.brynhild(&["chat", "--yes", "go"]);
        run.success();
        for words in ["`.git` in a workspace stays read-only", "contains the workspace"] {
            assert_eq!(count(&run, &["plugins.runner.sandbox", words]), 1, "{holder:?} {run}");
        }
    }
}

#[test]
fn one_file_of_a_granted_directory_can_be_denied() {
    if !has_bubblewrap() {
        return;
    }
    for holder in HOLDERS {
        let project = project();
        let notes = project.home().join("notes");
        write_file(&notes, "deep/secret", "CANARY\n");
        write_file(&notes, "deep/kept", "CANARY\n");
        project.config(
            "permissions: {deny: ['Read(~/notes/deep/secret)', 'Write(~/notes/deep/kept)']}\n",
        );
        holder.with(&project, &["~/notes"]);
        let script = format!(
            "cd {}; cat deep/secret > read; echo PWN > deep/secret; echo PWN > deep/kept; cat deep/kept > seen",
            notes.display()
        );
        let run = holder.run(&project, &script);
        let text = |name: &str| fs::read_to_string(notes.join(name)).unwrap_or_default();
        assert_eq!(text("seen"), "CANARY\n", "{holder:?} {run}");
        assert_eq!(
            [text("read"), text("deep/secret"), text("deep/kept")],
            ["", "CANARY\n", "CANARY\n"],
            "{holder:?} {run}"
        );
    }
}
