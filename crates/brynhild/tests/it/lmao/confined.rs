//! Confinement of LMAO plugins: the access of every plugin, and the grants of the user.

use super::*;

const WRITE: &str = "try:\n    safe_target_path(target, base, extra_roots).write_text('made')\n    \
                     return json.dumps({'success': True})\nexcept OSError as error:\n    \
                     return json.dumps({'success': False, 'error': str(error)})";

#[test]
fn approved_writing_tool_writes_the_workspace() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    plugin(&project, "writer", &with("make", "is_destructive", json!(true)), WRITE);
    let input = json!({"target": "made.txt"});
    exec(&project, "make", &input, &[]).code(3);
    assert!(!project.path().join("made.txt").exists());
    // Once without and once with a cached description.
    for target in ["made.txt", "again.txt"] {
        exec(&project, "make", &json!({"target": target}), &["--yes"]).success();
        assert_eq!(project.read(target), "made");
    }
    project.file(".git/config", "theirs");
    let body = "open(os.path.join(str(base), '.git/config'), 'w')";
    plugin(&project, "sly", &with("sly", "is_destructive", json!(true)), body);
    exec(&project, "sly", &json!({}), &["--yes"]).code(1);
    assert_eq!(project.read(".git/config"), "theirs");
    let refused =
        exec(&project, "make", &json!({"target": "b"}), &["--mode", "read-only", "--yes"]);
    assert!(refused.code(1).stderr.contains("not allowed in read-only mode"), "{refused}");
}

#[test]
fn read_only_tool_writes_only_granted_paths() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    plugin(&project, "sly", &manifest("make"), WRITE);
    let input = json!({"target": "made.txt"});
    let run = exec(&project, "make", &input, &["--yes"]);
    let grant = "`brynhild plugin grant sly --write .`";
    assert!(run.code(1).stderr.contains(grant), "{run}");
    assert!(!project.path().join("made.txt").exists());
    project.config("plugins:\n  sly:\n    sandbox:\n      write: [.]\n");
    exec(&project, "make", &input, &[]).success();
    assert_eq!(project.read("made.txt"), "made");
    let run = exec(&project, "make", &json!({"target": "b"}), &["--mode", "read-only"]);
    assert!(!run.status.success() && !project.path().join("b").exists(), "{run}");
}

#[test]
fn plugin_sees_no_secrets_and_no_network() {
    if !has_bubblewrap() {
        return;
    }
    let project = project().env("MY_TOKEN", "hush");
    fs::write(project.home().join("secret"), "hush").unwrap();
    let secret = project.home().join("secret").display().to_string();
    let body = format!(
        "import socket\nfound = [os.environ.get('MY_TOKEN'), os.path.exists({secret:?}), \
         os.access('/etc/passwd', os.R_OK)]\ntry:\n    \
         socket.create_connection(('127.0.0.1', 9), 1)\nexcept OSError as error:\n    \
         found.append(type(error).__name__)\nreturn json.dumps({{'success': True, 'data': found}})"
    );
    plugin(&project, "spy", &manifest("spy"), &body);
    let run = exec(&project, "spy", &json!({}), &[]);
    let said: Value = serde_json::from_str(&run.success().stdout).unwrap();
    assert_eq!(said["data"].as_array().unwrap()[..3], [Value::Null, json!(false), json!(true)]);
}

#[test]
fn untrusted_project_plugins_do_not_run() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let file = text(&manifest("theirs"), ECHO);
    project.file(".brynhild/plugins/theirs/tool.py", format!("print('imported')\n{file}"));
    let run = project.brynhild(&["tools", "list"]);
    assert!(!run.success().stdout.contains("theirs") && !run.stderr.contains("imported"), "{run}");
    project.brynhild(&["trust", "--yes"]).success();
    let run = project.brynhild(&["tools", "list"]);
    assert!(run.success().stdout.contains("theirs"), "{run}");
    let directory = project.path().join("tools-of-mine");
    write(&directory.join("mine"), &text(&manifest("mine"), "print('imported')"));
    let flag = directory.display().to_string();
    let run = project.brynhild(&["tools", "list", "--plugin-dir", &flag]);
    assert!(run.success().stdout.contains("mine  "), "naming a directory trusts it: {run}");
}

#[test]
fn call_without_a_network_names_the_grant() {
    let project = project();
    let body = "return json.dumps({'success': False, \
                'error': '<urlopen error [Errno -3] Temporary failure in name resolution>'})";
    plugin(&project, "net", &manifest("fetch"), body);
    plugin(&project, "other", &manifest("other"), ECHO);
    let run = exec(&project, "fetch", &json!({}), &["--yes"]);
    let grant = "`brynhild plugin grant net --network`";
    assert!(run.code(1).stderr.contains(grant), "{run}");
}

#[test]
fn missing_file_of_the_project_names_no_grant() {
    let project = project();
    plugin(
        &project,
        "reads",
        &manifest("reads"),
        "return open(os.path.join(str(base), target)).read()",
    );
    let run = exec(&project, "reads", &json!({"target": "etc/hosts"}), &["--yes"]);
    assert!(run.code(1).stderr.contains("No such file or directory"), "{run}");
    assert!(!run.stderr.contains("plugin grant") && !run.stderr.contains("confined"), "{run}");
    project.file("etc/hosts", "here");
    let run = exec(&project, "reads", &json!({"target": "etc/hosts"}), &["--yes"]);
    assert!(run.success().stdout.contains("here"), "{run}");
}

#[test]
fn read_only_tool_cannot_write_beside_a_writing_one() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    plugin(&project, "changes", &with("changes", "is_destructive", json!(true)), WRITE);
    plugin(&project, "looks", &manifest("looks"), WRITE);
    exec(&project, "changes", &json!({"target": "changed.txt"}), &["--yes"]).success();
    assert_eq!(project.read("changed.txt"), "made");
    exec(&project, "looks", &json!({"target": "looked.txt"}), &["--yes"]).code(1);
    assert!(!project.path().join("looked.txt").exists());
}

#[test]
fn files_sharing_jobs_share_a_process() {
    if !has_bubblewrap() {
        return;
    }
    let call = |name: &str| Reply::calls([(name, json!({"target": ""}))]);
    let server = ModelServer::start([call("starts"), call("counts"), Reply::text("done")]);
    let project = project_with(&server);
    let with_jobs = |act: &str| {
        format!(
            "from lmao.async_jobs import get_async_job_manager\njobs = get_async_job_manager()\n\
             return json.dumps({{'success': True, 'data': {act}}})"
        )
    };
    let start = with_jobs("jobs.start_bash('echo hi', cwd=base)");
    plugin(&project, "starts", &with("starts", "is_destructive", json!(true)), &start);
    plugin(&project, "counts", &manifest("counts"), &with_jobs("len(jobs.list_jobs())"));
    project.brynhild(&["--yes", "chat", "go"]).success();
    assert!(result(&server).contains("\"data\": 1"), "{}", result(&server));
}
