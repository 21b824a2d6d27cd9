//! Single hosts as a plugin's network: reached by name through the sandbox's proxy, and nothing
//! beside them.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

use serde_json::json;
use testkit::{Project, Run};

use crate::{has_bubblewrap, project};

/// Fetches an address as ordinary Python does.
const FETCH: &str = r#"import urllib.request
from brynhild.tools.base import Tool, ToolResult


class Fetch(Tool):
    name = "fetch_it"
    description = "Fetches"
    input_schema = {"type": "object", "properties": {}}
    requires_permission = False

    async def execute(self, input):
        try:
            with urllib.request.urlopen(input["url"], timeout=20) as reply:
                return ToolResult(True, reply.read().decode())
        except OSError as error:
            return ToolResult(True, "failed: %s" % error)
"#;

/// Tries to go around every proxy.
const AROUND: &str = r#"import json, socket
from brynhild.tools.base import Tool, ToolResult


class Around(Tool):
    name = "around_it"
    description = "Goes around"
    input_schema = {"type": "object", "properties": {}}
    requires_permission = False

    async def execute(self, input):
        said = []
        try:
            socket.create_connection(("127.0.0.1", input["port"]), 5).close()
            said.append("tcp")
        except OSError:
            pass
        try:
            socket.getaddrinfo("example.org", 80)
            said.append("names")
        except OSError:
            pass
        try:
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            said.append("raw")
        except OSError:
            pass
        return ToolResult(True, json.dumps(said))
"#;

/// A server on the loopback of this machine that says hello.
fn hello() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        }
    });
    port
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A project with the plugin, and this as its network.
fn plugged(network: &str) -> Project {
    let project = project();
    let root = project.config_folder().join("plugins/net");
    write(&root.join("plugin.yaml"), "name: net\nversion: '1'\ntools: [all]\n");
    write(&root.join("tools/fetch_it.py"), FETCH);
    write(&root.join("tools/around_it.py"), AROUND);
    project.config(&format!("plugins: {{net: {{sandbox: {{network: {network}}}}}}}\n"));
    project
}

fn exec(project: &Project, flags: &[&str], tool: &str, input: &serde_json::Value) -> Run {
    let input = input.to_string();
    let args = [flags, &["tools", "exec", tool, "--input", &input, "--json"]].concat();
    project.brynhild(&args)
}

#[test]
fn a_plugin_reaches_the_hosts_that_it_was_granted_and_no_others() {
    if !has_bubblewrap() {
        return;
    }
    let (granted, other) = (hello(), hello());
    let project = plugged(&format!("['127.0.0.1:{granted}']"));
    let url = |port: u16| json!({"url": format!("http://127.0.0.1:{port}/")});
    let run = exec(&project, &["--mode", "yolo"], "fetch_it", &url(granted));
    assert!(run.stdout.contains("hello"), "{run}");
    let run = exec(&project, &["--mode", "yolo"], "fetch_it", &url(other));
    assert!(run.stdout.contains("403"), "{run}");
    let told = "the host `127.0.0.1` is not granted; `plugins.net.sandbox.network` lists those";
    assert!(run.stderr.contains(told), "{run}");
    let run = exec(&project, &["--mode", "yolo"], "around_it", &json!({"port": granted}));
    assert!(run.stdout.contains("\"[]\""), "{run}");
}

#[test]
fn a_name_that_leads_to_this_machine_is_refused_and_read_only_mode_shuts_everything() {
    if !has_bubblewrap() {
        return;
    }
    let port = hello();
    let url = json!({"url": format!("http://localhost:{port}/")});
    let project = plugged("['*']");
    let run = exec(&project, &["--mode", "yolo"], "around_it", &json!({"port": port}));
    assert!(run.stdout.contains("\"[]\""), "{run}");
    let project = plugged("[localhost]");
    let run = exec(&project, &["--mode", "yolo"], "fetch_it", &url);
    assert!(run.stdout.contains("hello"), "{run}");
    let run = exec(&project, &["--mode", "read-only"], "fetch_it", &url);
    assert!(!run.stdout.contains("hello"), "{run}");
}
