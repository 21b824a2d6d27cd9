//! Commands that reach a host that the user allows, and commands that see the project as it is.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use testkit::Project;

use crate::{has_bubblewrap, project};

/// A web server for the files of a directory, on a port of this machine.
struct FileServer {
    process: Child,
    port: u16,
}

impl FileServer {
    #[expect(clippy::disallowed_methods, reason = "a test starts a plain server")]
    fn start(directory: &std::path::Path) -> Self {
        let mut process = Command::new("python3")
            .args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"])
            .current_dir(directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let port = words.iter().position(|word| *word == "port").unwrap() + 1;
        Self { process, port: words[port].parse().unwrap() }
    }
}

impl Drop for FileServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "a test prepares its project with a plain shell")]
fn shell(project: &Project, command: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(project.path()).env("HOME", project.home());
    assert!(shell.status().unwrap().success(), "{command}");
}

fn bash(project: &Project, input: &serde_json::Value) -> testkit::Run {
    project.brynhild(&["tools", "exec", "Bash", "--input", &input.to_string()])
}

#[test]
fn an_allowed_localhost_is_reached_through_the_proxy() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    project.file("served.txt", "from the server\n");
    let server = FileServer::start(&project.path());
    let fetch = format!(
        "python3 -c \"import urllib.request as u; \
         print(u.urlopen('http://localhost:{}/served.txt').read().decode())\"",
        server.port
    );
    let input = json!({"command": fetch, "network": ["localhost"], "reason": "a test"});
    bash(&project, &input).code(3);
    project.config("permissions: {allow: ['Host(localhost)']}\n");
    let run = bash(&project, &input);
    assert!(run.success().stdout.contains("from the server"), "{run}");
    let complaint =
        format!("curl: (7) Failed to connect to localhost port {} after 0 ms", server.port);
    let run = bash(&project, &json!({"command": format!("echo '{complaint}' >&2; exit 7")}));
    let text = format!("{}{}", run.stdout, run.stderr);
    assert!(text.contains("\"network\":[\"localhost"), "{run}");
}

#[test]
fn git_fetches_from_an_allowed_host() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let site = tempfile::tempdir().unwrap();
    let server = FileServer::start(site.path());
    shell(
        &project,
        &format!(
            "git init -q -b main && git config user.name Ann && git config user.email a@b.example && \
             git commit -q --allow-empty -m one && git clone -q --bare . {site}/up.git && \
             git -C {site}/up.git update-server-info && \
             git remote add origin http://localhost:{port}/up.git",
            site = site.path().display(),
            port = server.port
        ),
    );
    project.config("permissions: {allow: ['Host(localhost)']}\n");
    let command = "git fetch origin && git log --oneline origin/main && git pull -q origin main";
    let run = bash(&project, &json!({"command": command, "network": ["localhost"]}));
    assert!(run.success().stdout.contains("one"), "{run}");
}

#[test]
fn commands_see_exactly_the_files_that_exist() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    project.file("a", "a\n");
    shell(&project, "git init -q && rm -rf .brynhild && ls -A > /dev/null");
    let before = std::fs::read_dir(project.path()).unwrap().count();
    let look = "touch b; ls -A; echo --; git status --short; echo --; git clean -nd; echo --; \
                tar cf - --exclude=./.git . | tar t; echo --; \
                python3 -c 'import os; print(sorted(os.listdir()))'";
    let run = bash(&project, &json!({"command": look}));
    let expected = ".git\na\nb\n--\n?? a\n?? b\n--\nWould remove a\nWould remove b\n--\n\
                    ./\n./b\n./a\n--\n['.git', 'a', 'b']";
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.trim().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&run.success().stdout), sorted(expected), "{run}");
    assert_eq!(std::fs::read_dir(project.path()).unwrap().count(), before + 1);
}
