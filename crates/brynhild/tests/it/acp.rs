//! `brynhild acp` as editors use it. Each line that it writes is checked against the official schema.

mod clients;
mod fuzz;
mod pitfalls;
#[path = "../../../acp/tests/it/schema.rs"]
mod schema;
#[path = "../../../acp/tests/it/shown.rs"]
mod shown;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply, Run, Running};

use crate::python_plugins::{plugin, tool};
use crate::{project, project_with};
use schema::SCHEMA;

pub(crate) struct Editor {
    running: Running,
    read: usize,
    methods: BTreeMap<u64, String>,
    pub(crate) updates: Vec<Value>,
}

impl Editor {
    /// Starts the program in another directory than that of the project.
    pub(crate) fn start(project: &Project, flags: &[&str]) -> Self {
        let args = [flags, &["acp"]].concat();
        let running = project.command(&args).cwd(project.home()).spawn();
        let mut editor = Self { running, read: 0, methods: BTreeMap::new(), updates: Vec::new() };
        let answer = editor.result("initialize", json!({"protocolVersion": 1}));
        assert_eq!(answer["protocolVersion"], 1);
        editor
    }

    fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.methods.len() as u64;
        self.methods.insert(id, method.to_owned());
        let mut line = json!({"jsonrpc": "2.0", "id": id, "method": method});
        line["params"] = params;
        self.running.send(&format!("{line}\n"));
        id
    }

    fn notify(&mut self, method: &str, params: Value) {
        let mut line = json!({"jsonrpc": "2.0", "method": method});
        line["params"] = params;
        self.running.send(&format!("{line}\n"));
    }

    fn any(&mut self) -> Value {
        let line = self.running.line(self.read);
        self.read += 1;
        let line: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        let id = line["id"].as_u64().filter(|_| line.get("method").is_none());
        SCHEMA.check_line(&line, id.and_then(|id| self.methods.get(&id)).map(String::as_str));
        line
    }

    /// The next line that is no update. Updates are kept.
    pub(crate) fn next(&mut self) -> Value {
        loop {
            let line = self.any();
            if line["method"] != "session/update" {
                return line;
            }
            self.updates.push(line["params"]["update"].clone());
        }
    }

    /// Waits for an update.
    pub(crate) fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.any();
            assert_eq!(line["method"], "session/update", "{line}");
            let update = line["params"]["update"].clone();
            self.updates.push(update.clone());
            if is_it(&update) {
                return update;
            }
        }
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params);
        assert!(answer.get("error").is_none(), "{answer}\n{}", self.running.stderr());
        answer["result"].clone()
    }

    fn error(&mut self, method: &str, params: Value) -> i64 {
        self.call(method, params)["error"]["code"].as_i64().unwrap()
    }

    fn open(&mut self, project: &Project) -> String {
        let opened = self.result("session/new", json!({"cwd": project.path(), "mcpServers": []}));
        opened["sessionId"].as_str().unwrap().to_owned()
    }

    pub(crate) fn begin(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.send("session/prompt", json!({"sessionId": session, "prompt": prompt}))
    }

    fn prompt(&mut self, session: &str, text: &str) -> Value {
        let prompt = json!([{"type": "text", "text": text}]);
        self.result("session/prompt", json!({"sessionId": session, "prompt": prompt}))
    }

    pub(crate) fn answer(&mut self, request: &Value, outcome: Value) {
        let mut line = json!({"jsonrpc": "2.0", "id": request["id"], "result": {}});
        line["result"]["outcome"] = outcome;
        self.running.send(&format!("{line}\n"));
    }

    pub(crate) fn said(&self) -> String {
        let said = self.updates.iter().filter(|it| it["sessionUpdate"] == "agent_message_chunk");
        said.map(|it| it["content"]["text"].as_str().unwrap()).collect()
    }

    fn statuses(&self) -> Vec<String> {
        let statuses = self.updates.iter().filter_map(|it| it["status"].as_str());
        statuses.map(str::to_owned).collect()
    }

    pub(crate) fn end(self) -> Run {
        let run = self.running.wait();
        run.success();
        run
    }
}

fn write_call() -> Reply {
    Reply::calls([("Write", json!({"file_path": "made.txt", "content": "hi\n"}))])
}

#[test]
fn prompt_is_answered_with_links_and_resources() {
    let server = ModelServer::start([Reply::text("Hello from the model.").usage(10, 5)]);
    let project = project_with(&server);
    let mut editor = Editor::start(&project, &[]);
    let session = editor.open(&project);
    let answer = editor.result(
        "session/prompt",
        json!({"sessionId": session, "prompt": [
            {"type": "text", "text": "Look at "},
            {"type": "resource_link", "uri": "file:///tmp/a%20b.rs", "name": "a b.rs"},
            {"type": "resource", "resource": {"uri": "file:///x.rs", "text": "fn x() {}"}},
        ]}),
    );
    assert_eq!(answer, json!({"stopReason": "end_turn"}));
    assert_eq!(editor.said(), "Hello from the model.");
    let chats = server.chats();
    let sent = chats[0].body["messages"].to_string();
    assert!(sent.contains("Look at `/tmp/a b.rs`") && sent.contains("fn x() {}"), "{sent}");
    editor.end();
}

#[test]
fn work_happens_in_the_directory_of_the_session() {
    let server = ModelServer::start([write_call(), Reply::text("Done.")]);
    let project = project_with(&server);
    let mut editor = Editor::start(&project, &[]);
    let session = editor.open(&project);
    assert_eq!(editor.prompt(&session, "write")["stopReason"], "end_turn");
    assert_eq!(project.read("made.txt"), "hi\n");
    let done = editor.updates.iter().find(|it| it["status"] == "completed").unwrap();
    assert_eq!(done["content"][0]["type"], "diff", "{done}");
    let path = project.path().canonicalize().unwrap().join("made.txt");
    assert_eq!(done["content"][0]["path"], json!(path));
    let call = editor.updates.iter().find(|it| it["kind"] == "edit").unwrap();
    assert_eq!(call["title"], "Edit made.txt");
    editor.end();
}

#[test]
fn permission_is_asked_and_each_answer_holds() {
    let replies = [write_call(), Reply::text("A"), write_call(), Reply::text("B"), write_call()];
    let server = ModelServer::start(replies);
    let project = project_with(&server);
    let mut editor = Editor::start(&project, &["--mode", "ask"]);
    let session = editor.open(&project);
    let made = project.path().join("made.txt");

    editor.begin(&session, "write");
    let request = editor.next();
    assert_eq!(request["method"], "session/request_permission");
    assert_eq!(request["params"]["toolCall"]["content"][0]["type"], "diff", "{request}");
    editor.answer(&request, json!({"outcome": "selected", "optionId": "deny"}));
    assert_eq!(editor.next()["result"]["stopReason"], "end_turn");
    assert!(!made.exists());

    editor.begin(&session, "write");
    let request = editor.next();
    editor.answer(&request, json!({"outcome": "selected", "optionId": "once"}));
    assert_eq!(editor.next()["result"]["stopReason"], "end_turn");
    assert!(made.exists());

    editor.begin(&session, "write");
    let request = editor.next();
    editor.answer(&request, json!({"outcome": "cancelled"}));
    assert_eq!(editor.next()["result"]["stopReason"], "cancelled");
    editor.end();
}

#[test]
fn cancel_stops_a_running_command() {
    let sleep = Reply::calls([("Bash", json!({"command": "echo begun; sleep 600"}))]);
    let server = ModelServer::start([sleep, Reply::text("Again.")]);
    let project = project_with(&server);
    let mut editor = Editor::start(&project, &[]);
    let session = editor.open(&project);
    let prompt = editor.begin(&session, "wait");
    editor.wait_for(|it| it["content"][0]["content"]["text"].to_string().contains("begun"));
    editor.notify("session/cancel", json!({"sessionId": session}));
    let answer = editor.next();
    assert_eq!(
        (&answer["id"], &answer["result"]),
        (&json!(prompt), &json!({"stopReason": "cancelled"}))
    );
    assert_eq!(editor.statuses().last().unwrap(), "failed");
    assert_eq!(editor.prompt(&session, "again")["stopReason"], "end_turn");
    editor.end();
}

#[test]
fn session_is_loaded_after_the_program_was_killed() {
    let replies = [write_call(), Reply::text("Done."), Reply::text("I remember.")];
    let server = ModelServer::start(replies);
    let project = project_with(&server);
    let mut editor = Editor::start(&project, &[]);
    let session = editor.open(&project);
    editor.prompt(&session, "write it");
    editor.running.kill();
    drop(editor);

    let mut editor = Editor::start(&project, &[]);
    let listed = editor.result("session/list", json!({}));
    assert_eq!(listed["sessions"][0]["sessionId"], session);
    assert_eq!(listed["sessions"][0]["cwd"], json!(project.path().canonicalize().unwrap()));
    let params = json!({"sessionId": session, "cwd": project.path(), "mcpServers": []});
    let loaded = editor.result("session/load", params);
    assert_eq!(loaded["modes"]["currentModeId"], "normal");
    assert_eq!(editor.updates[0]["content"]["text"], "write it");
    assert_eq!(editor.said(), "Done.");
    assert_eq!(editor.statuses().last().unwrap(), "completed");
    assert_eq!(editor.prompt(&session, "more")["stopReason"], "end_turn");
    let chats = server.chats();
    assert!(chats.last().unwrap().body["messages"].to_string().contains("write it"));
    editor.end();
}

#[test]
fn sessions_are_resumed_closed_listed_and_deleted() {
    let server = ModelServer::start([Reply::text("One."), Reply::text("Two.")]);
    let project = project_with(&server);
    let mut editor = Editor::start(&project, &[]);
    assert_eq!(editor.result("session/list", json!({}))["sessions"], json!([]));
    let session = editor.open(&project);
    editor.prompt(&session, "first");
    assert_eq!(editor.result("session/close", json!({"sessionId": session})), json!({}));
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]});
    assert_eq!(editor.error("session/prompt", params), -32002);
    editor.updates.clear();
    editor.result("session/resume", json!({"sessionId": session, "cwd": project.path()}));
    assert_eq!(editor.updates, Vec::<Value>::new());
    editor.prompt(&session, "second");
    assert!(server.chats()[1].body["messages"].to_string().contains("first"));
    let elsewhere = editor.result("session/list", json!({"cwd": "/"}));
    assert_eq!(elsewhere["sessions"], json!([]));
    assert_eq!(editor.result("session/delete", json!({"sessionId": session})), json!({}));
    assert_eq!(editor.result("session/list", json!({}))["sessions"], json!([]));
    let params = json!({"sessionId": session, "cwd": project.path(), "mcpServers": []});
    assert_eq!(editor.error("session/load", params), -32002);
    editor.end();
}

#[test]
fn modes_options_and_slash_commands_change_the_session() {
    let server = ModelServer::start([write_call(), Reply::text("Refused."), Reply::text("Big.")]);
    let project = project_with(&server);
    let mut editor = Editor::start(&project, &[]);
    let session = editor.open(&project);
    let mode = json!({"sessionId": session, "modeId": "read-only"});
    assert_eq!(editor.result("session/set_mode", mode), json!({}));
    editor.prompt(&session, "write");
    assert!(!project.path().join("made.txt").exists());
    let option = json!({"sessionId": session, "configId": "mode", "value": "ask"});
    let all = editor.result("session/set_config_option", option);
    assert_eq!(all["configOptions"][0]["currentValue"], "ask");
    assert_eq!(all["configOptions"][1]["currentValue"], "test-model");
    editor.updates.clear();
    assert_eq!(editor.prompt(&session, "/mode")["stopReason"], "end_turn");
    assert!(editor.said().contains("The mode is ask."), "{}", editor.said());
    editor.updates.clear();
    editor.prompt(&session, "/model other-model");
    assert!(editor.said().contains("The model is other-model."), "{}", editor.said());
    editor.prompt(&session, "hi");
    let chats = server.chats();
    let last = &chats.last().unwrap().body;
    assert_eq!(last["model"], "other-model");
    assert!(last["messages"].to_string().contains("Refused."), "the history is gone: {last}");
    editor.updates.clear();
    editor.prompt(&session, "/rename My work");
    editor.wait_for(|it| it["sessionUpdate"] == "session_info_update");
    editor.prompt(&session, "/theme");
    assert!(editor.said().contains("for the terminal"), "{}", editor.said());
    editor.end();
}

#[test]
fn five_sessions_work_at_once() {
    let server = ModelServer::respond_with(|request| {
        let text = request.body["messages"].to_string();
        let number = (0..5).find(|number| text.contains(&format!("number {number}")));
        Reply::text(format!("This is {}.", number.unwrap()))
    });
    let project = project_with(&server);
    let mut editor = Editor::start(&project, &[]);
    let sessions: Vec<String> = (0..5).map(|_| editor.open(&project)).collect();
    let mut waiting: BTreeMap<u64, usize> = BTreeMap::new();
    for (number, session) in sessions.iter().enumerate() {
        waiting.insert(editor.begin(session, &format!("number {number}")), number);
    }
    let mut said: BTreeMap<String, String> = BTreeMap::new();
    while !waiting.is_empty() {
        let line = editor.any();
        if let Some(id) = line["id"].as_u64() {
            assert_eq!(line["result"]["stopReason"], "end_turn");
            waiting.remove(&id);
        } else if let Some(text) = line["params"]["update"]["content"]["text"].as_str() {
            let session = line["params"]["sessionId"].as_str().unwrap().to_owned();
            said.entry(session).or_default().push_str(text);
        }
    }
    for (number, session) in sessions.iter().enumerate() {
        assert_eq!(said[session], format!("This is {number}."));
    }
    editor.end();
}

#[test]
fn missing_provider_asks_for_a_login() {
    let project = project();
    let mut editor = Editor::start(&project, &[]);
    let params = json!({"cwd": project.path(), "mcpServers": []});
    let answer = editor.call("session/new", params);
    assert_eq!(answer["error"]["code"], -32000, "{answer}");
    let capabilities = json!({"auth": {"terminal": true}});
    let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
    let answer = editor.result("initialize", params);
    assert_eq!(answer["authMethods"][0]["args"], json!(["--login"]));
    editor.end();
}

#[test]
fn directories_that_cannot_be_used_are_refused() {
    let server = ModelServer::start([]);
    let project = project_with(&server);
    let mut editor = Editor::start(&project, &[]);
    for cwd in [json!("/does/not/exist"), json!("relative"), json!(project.home())] {
        let params = json!({"cwd": cwd, "mcpServers": []});
        assert_eq!(editor.error("session/new", params), -32602, "{cwd}");
    }
    editor.end();
}

#[test]
fn tools_of_slow_plugins_join_a_conversation() {
    let server = ModelServer::start([Reply::text("Hi.")]).repeat_last();
    let project = project_with(&server);
    let flag = project.config_directory().join("plugins/slow/go");
    let body = "return ToolResult(True, 'joined')";
    let wait = format!(
        "import os, time\nwhile not os.path.exists({flag:?}):\n    time.sleep(0.01)\n\n{}",
        tool("slow_one", body)
    );
    // A plugin with providers is described before one is chosen.
    let manifest = "name: slow\nversion: '1.0.0'\ntools: [all]\n";
    plugin(&project, "slow", &[("plugin.yaml", manifest), ("tools/slow_one.py", &wait)]);
    // A conversation waits for the descriptions of 16 plugins.
    for number in 0..16 {
        let manifest = manifest.replace("slow", &format!("other-{number}"));
        let (name, text) = (format!("other_{number}"), "return ToolResult(True, 'other')");
        let file = format!("tools/{name}.py");
        let files = [("plugin.yaml", manifest.as_str()), (&file, &tool(&name, text))];
        plugin(&project, &format!("other-{number}"), &files);
    }
    let mut editor = Editor::start(&project, &[]);
    let session = editor.open(&project);
    let has_tool =
        |chat: usize| server.chats()[chat].body["tools"].to_string().contains("slow_one");
    editor.prompt(&session, "hello");
    assert!(!has_tool(0));
    std::fs::write(&flag, "").unwrap();
    let mut chats = 1;
    while !has_tool(chats - 1) && chats < 2000 {
        editor.prompt(&session, "again");
        chats += 1;
    }
    assert!(has_tool(chats - 1), "{}", editor.running.stderr());
    let said = editor.end().stderr;
    let wanted = "others are still being read; their tools join then";
    assert!(said.contains(wanted), "{said}");
}
