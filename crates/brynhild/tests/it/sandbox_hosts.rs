//! Single hosts as the network of a plugin's tool, of its hooks and of an MCP server: reached by name
//! through the sandbox's proxy, and nothing beside them.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run};

use crate::{has_bubblewrap, project, project_with};

/// Tries every way to the host's network.
const REACH: &str = include_str!("sandbox_hosts/reach.py");

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

/// Like the function above, for datagrams.
fn hello_by_datagram() -> u16 {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((_, sender)) = socket.recv_from(&mut [0; 16]) {
            let _ = socket.send_to(b"hello", sender);
        }
    });
    port
}

/// Servers of this machine: the one that is granted, another one, and one for datagrams.
struct Ports {
    granted: u16,
    other: u16,
    udp: u16,
}

impl Ports {
    fn open() -> Self {
        Self { granted: hello(), other: hello(), udp: hello_by_datagram() }
    }

    /// The grant, as it is configured.
    fn network(&self) -> String {
        format!("['127.0.0.1:{}']", self.granted)
    }

    /// The arguments of the script.
    fn words(&self) -> String {
        format!("{} {} {}", self.granted, self.other, self.udp)
    }
}

/// Checks what the script found with the grant, or without it.
fn check(found: &Value, is_granted: bool) {
    // A sandbox without a proxy has no network at all.
    let has_proxy = is_granted && has_bubblewrap();
    let (granted, other) = if has_proxy { ("hello", "403") } else { ("nothing", "nothing") };
    assert_eq!(*found, json!({"granted": granted, "other": other, "around": []}));
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A project with the plugin, and this as its network.
fn plugged(network: &str) -> Project {
    let project = project();
    let root = project.config_directory().join("plugins/net");
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
fn plugin_reaches_only_granted_hosts() {
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
    let told = format!(
        "the host `127.0.0.1` is granted for port {granted}; `127.0.0.1:{other}` in \
         `plugins.net.sandbox.network` would open port {other}"
    );
    assert!(run.stderr.contains(&told), "{run}");
    let run = exec(&project, &["--mode", "yolo"], "around_it", &json!({"port": granted}));
    assert!(run.stdout.contains("\"[]\""), "{run}");
    let listed = project.brynhild(&["audit", "list", "--json"]).success().json();
    let decided = |entry: &Value| format!("{} {}", entry["what"], entry["detail"]).replace('"', "");
    let decided: Vec<String> = listed.as_array().unwrap().iter().map(decided).collect();
    let key = "(plugins.net.sandbox.network)";
    let wanted = [
        format!("reached 127.0.0.1:{granted} {key}"),
        format!("not reached 127.0.0.1:{other} {key}"),
    ];
    assert!(wanted.iter().all(|line| decided.contains(line)), "{decided:?}");
}

/// Asks for many hosts, then for one.
const MANY: &str = r#"import urllib.request
from brynhild.tools.base import Tool, ToolResult


class Many(Tool):
    name = "many_it"
    description = "Asks for many"
    input_schema = {"type": "object", "properties": {}}
    requires_permission = False

    async def execute(self, input):
        for number in range(60):
            try:
                urllib.request.urlopen("http://h%d.test/" % number, timeout=20)
            except OSError:
                pass
        with urllib.request.urlopen(input["url"], timeout=20) as reply:
            return ToolResult(True, reply.read().decode())
"#;

#[test]
fn refused_hosts_do_not_affect_granted_ones() {
    if !has_bubblewrap() {
        return;
    }
    let port = hello();
    let project = plugged(&format!("['127.0.0.1:{port}']"));
    write(&project.config_directory().join("plugins/net/tools/many_it.py"), MANY);
    let url = json!({"url": format!("http://127.0.0.1:{port}/")});
    let run = exec(&project, &["--mode", "yolo"], "many_it", &url);
    assert!(run.stdout.contains("hello"), "{run}");
    let listed = project.brynhild(&["audit", "list", "--json"]).success().json();
    let entries = listed.as_array().unwrap();
    let details = |what: &str| -> Vec<&str> {
        let of_kind = entries.iter().filter(|entry| entry["what"] == what);
        of_kind.filter_map(|entry| entry["detail"].as_str()).collect()
    };
    let key = "(plugins.net.sandbox.network)";
    assert_eq!(details("reached"), [format!("127.0.0.1:{port} {key}")], "{listed:#}");
    let refused = details("not reached");
    assert_eq!(refused.len(), 51, "{listed:#}");
    let last = format!("h50.test:80 {key}; further ones of this process are not listed");
    assert_eq!(refused[50], last);
}

#[test]
fn granted_name_covers_only_web_ports() {
    if !has_bubblewrap() {
        return;
    }
    let project = plugged("[docs.x.test]");
    for port in [22, 25, 3306] {
        let url = json!({"url": format!("http://docs.x.test:{port}/")});
        let run = exec(&project, &["--mode", "yolo"], "fetch_it", &url);
        assert!(run.stdout.contains("403"), "{run}");
        assert!(run.stderr.contains(&format!("`docs.x.test:{port}` in `plugins.net")), "{run}");
    }
}

#[test]
fn loopback_names_are_refused_and_read_only_has_no_network() {
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

#[test]
fn denied_host_overrides_plugin_and_server_grants() {
    let port = hello();
    let url = format!("http://localhost:{port}/");
    let project = plugged("[localhost]");
    project.config_more("permissions: {deny: ['Host(localhost)']}\n");
    if has_bubblewrap() {
        let run = exec(&project, &["--mode", "yolo"], "fetch_it", &json!({"url": url}));
        assert!(run.stdout.contains("403") && !run.stdout.contains("hello"), "{run}");
        assert!(run.stderr.contains("is denied by the rule `Host(localhost)`"), "{run}");
    }
    project.brynhild(&["mcp", "add", "near", "--url", &url]).success();
    let run = project.brynhild(&["mcp", "test", "near"]);
    assert!(run.code(1).stderr.contains("the rule `Host(localhost)` denies its host"), "{run}");
}

#[test]
fn network_is_open_without_a_sandbox() {
    let ports = Ports::open();
    let project = project();
    project.file("reach.py", REACH);
    let script = format!("python3 reach.py {}", ports.words());
    let words = ["--dangerously-skip-sandbox", "sandbox", "run", "--", "sh", "-c", &script];
    let run = project.brynhild(&words);
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&found["granted"], &found["other"]), (&json!("hello"), &json!("hello")), "{run}");
    let around = found["around"].as_array().unwrap();
    for way in ["tcp", "udp", "routes"] {
        assert!(around.contains(&json!(way)), "{way}: {run}");
    }
}

#[test]
fn plugin_hook_reaches_only_granted_hosts() {
    let ports = Ports::open();
    let project = project();
    let root = project.config_directory().join("plugins/net");
    write(&root.join("plugin.yaml"), "name: net\nversion: '1'\nhooks: true\n");
    write(&root.join("reach.py"), REACH);
    let command = format!(
        "python3 {}/reach.py {} > $BRYNHILD_PLUGIN_DATA/found",
        root.display(),
        ports.words()
    );
    let hook = json!({"name": "a", "type": "command", "command": command});
    let hooks = json!({"hooks": {"session_start": [hook]}});
    write(&root.join("hooks.yaml"), &hooks.to_string());
    project.brynhild(&["hooks", "test", "session_start"]).success();
    check(&found_by(&project), false);
    let config = format!("plugins: {{net: {{sandbox: {{network: {}}}}}}}\n", ports.network());
    project.config(&config);
    project.brynhild(&["hooks", "test", "session_start"]).success();
    check(&found_by(&project), true);
    project.brynhild(&["--mode", "read-only", "hooks", "test", "session_start"]).success();
    check(&found_by(&project), false);
}

#[test]
fn claude_hook_reaches_only_granted_hosts() {
    let ports = Ports::open();
    let server = ModelServer::start([Reply::text("one"), Reply::text("two")]);
    let project = project_with(&server);
    let root = project.config_directory().join("plugins/net");
    write(&root.join(".claude-plugin/plugin.json"), r#"{"name": "net", "version": "1.0.0"}"#);
    write(&root.join("reach.py"), REACH);
    let command = format!(
        "python3 \"$CLAUDE_PLUGIN_ROOT/reach.py\" {} > \"$CLAUDE_PLUGIN_DATA/found\"",
        ports.words()
    );
    let handler = json!({"type": "command", "command": command});
    let hooks = json!({"hooks": {"SessionStart": [{"hooks": [handler]}]}});
    write(&root.join("hooks/hooks.json"), &hooks.to_string());
    project.brynhild(&["chat", "go"]).success();
    check(&found_by(&project), false);
    let config = format!("plugins: {{net: {{sandbox: {{network: {}}}}}}}\n", ports.network());
    project.config_more(&config);
    project.brynhild(&["chat", "go"]).success();
    check(&found_by(&project), true);
}

/// The lines of the hook in the data directory of its plugin, one for each run.
fn found_by(project: &Project) -> Value {
    let file = project.config_directory().join("plugin-data/net/found");
    let text = fs::read_to_string(&file).unwrap();
    fs::remove_file(file).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn mcp_server_reaches_only_granted_hosts() {
    let ports = Ports::open();
    let project = project();
    project.file("reach.py", REACH);
    let input = json!({"granted": ports.granted, "other": ports.other, "udp": ports.udp});
    let reach = |flags: &[&str]| {
        let run = exec(&project, flags, "mcp__net__reach", &input);
        let text = run.json()["output"].as_str().map(str::to_owned);
        serde_json::from_str(&text.unwrap_or_else(|| panic!("{run}"))).unwrap()
    };
    let server = "command: python3, args: [reach.py, serve]";
    let config = |more: &str| {
        project.config(&format!("mcp: {{servers: {{net: {{{server}{more}}}}}}}\n"));
    };
    config("");
    check(&reach(&["--mode", "yolo"]), false);
    config(&format!(", sandbox: {{network: {}}}", ports.network()));
    check(&reach(&["--mode", "yolo"]), true);
}

#[test]
fn only_granted_names_are_resolved() {
    const LEAK: &str = "python3 - <<'END'\nimport socket, urllib.request\n\
        def attempt(way):\n    try:\n        way()\n    except OSError:\n        pass\n\
        attempt(lambda: socket.getaddrinfo('direct.test', 80))\n\
        attempt(lambda: urllib.request.urlopen('http://other.test/', timeout=20))\n\
        attempt(lambda: urllib.request.urlopen('http://granted.test/', timeout=20))\nEND";
    if !has_bubblewrap() {
        return;
    }
    let base = tempfile::tempdir().unwrap();
    let path = |name: &str| base.path().join(name);
    write(&path("nameserver.py"), include_str!("sandbox_hosts/nameserver.py"));
    // Without privileges of its own the machine is one in a user namespace.
    let own = if rustix::process::geteuid().is_root() { "" } else { "--user --map-root-user" };
    let wrapper = format!(
        "#!/bin/sh\nexec unshare {own} --mount --net python3 '{0}/nameserver.py' '{0}' '{1}' \"$@\"\n",
        base.path().display(),
        env!("CARGO_BIN_EXE_brynhild")
    );
    write(&path("brynhild"), &wrapper);
    fs::set_permissions(path("brynhild"), fs::Permissions::from_mode(0o755)).unwrap();
    let project = Project::with_binary(path("brynhild"));
    let root = project.config_directory().join("plugins/net");
    write(&root.join("plugin.yaml"), "name: net\nversion: '1'\nhooks: true\n");
    let hook = json!({"name": "a", "type": "command", "command": LEAK});
    write(&root.join("hooks.yaml"), &json!({"hooks": {"session_start": [hook]}}).to_string());
    project.config("plugins: {net: {sandbox: {network: [granted.test]}}}\n");
    let run = project.brynhild(&["hooks", "test", "session_start"]);
    run.success();
    let asked = fs::read_to_string(path("asked")).unwrap();
    let asked: std::collections::BTreeSet<&str> = asked.lines().collect();
    assert_eq!(asked, ["granted.test"].into(), "{run}");
}
