//! A client in the same process, which checks each line that it gets.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};
use tokio::task::{JoinHandle, LocalSet};

use crate::fake::FakeHost;
use crate::schema::SCHEMA;

pub(crate) struct Client {
    lines: Lines<BufReader<DuplexStream>>,
    output: Option<DuplexStream>,
    methods: BTreeMap<u64, String>,
    pub(crate) updates: Vec<Value>,
    pub(crate) host: Rc<FakeHost>,
    served: JoinHandle<std::io::Result<()>>,
}

/// Runs a test with a client.
pub(crate) async fn with_client<T>(test: impl AsyncFnOnce(&mut Client) -> T) -> T {
    let tasks = LocalSet::new();
    tasks
        .run_until(async {
            let host = Rc::new(FakeHost::default());
            let (output, input) = tokio::io::duplex(1 << 20);
            let (answers, lines) = tokio::io::duplex(1 << 20);
            let program = Rc::clone(&host) as Rc<dyn acp::host::Host>;
            let served = tokio::task::spawn_local(acp::serve(program, "0.1.0", input, answers));
            let mut client = Client {
                lines: BufReader::new(lines).lines(),
                output: Some(output),
                methods: BTreeMap::new(),
                updates: Vec::new(),
                host,
                served,
            };
            let result = test(&mut client).await;
            client.output.take();
            while client.lines.next_line().await.expect("as scripted").is_some() {}
            client.served.await.expect("as scripted").expect("as scripted");
            result
        })
        .await
}

impl Client {
    pub(crate) async fn raw(&mut self, line: &[u8]) {
        let output = self.output.as_mut().expect("as scripted");
        output.write_all(line).await.expect("as scripted");
        output.write_all(b"\n").await.expect("as scripted");
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        let line = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.raw(line.to_string().as_bytes()).await;
    }

    pub(crate) async fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.methods.len() as u64;
        self.methods.insert(id, method.to_owned());
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.raw(line.to_string().as_bytes()).await;
        id
    }

    /// The next line that is no update. Updates are kept.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            let line = self.any().await;
            if line["method"] == "session/update" {
                self.updates.push(line["params"]["update"].clone());
            } else {
                return line;
            }
        }
    }

    pub(crate) async fn any(&mut self) -> Value {
        let line = self.lines.next_line().await.expect("as scripted").expect("a line");
        let line: Value = serde_json::from_str(&line).expect("as scripted");
        let id = line["id"].as_u64().filter(|_| line.get("method").is_none());
        SCHEMA.check_line(&line, id.and_then(|id| self.methods.get(&id)).map(String::as_str));
        line
    }

    /// The next update.
    pub(crate) async fn update(&mut self) -> Value {
        let line = self.any().await;
        assert_eq!(line["method"], "session/update", "{line}");
        line["params"]["update"].clone()
    }

    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub(crate) async fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params).await;
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    pub(crate) async fn error(&mut self, method: &str, params: Value) -> i64 {
        self.call(method, params).await["error"]["code"].as_i64().expect("an error")
    }

    pub(crate) async fn initialize(&mut self, capabilities: Value) -> Value {
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        self.result("initialize", params).await
    }

    /// Opens a session and reads its commands.
    pub(crate) async fn session(&mut self) -> String {
        self.initialize(json!({})).await;
        let params = json!({"cwd": "/p", "mcpServers": []});
        let opened = self.result("session/new", params).await;
        let commands = self.update().await;
        assert_eq!(commands["sessionUpdate"], "available_commands_update");
        opened["sessionId"].as_str().expect("as scripted").to_owned()
    }

    pub(crate) async fn prompt(&mut self, session: &str, text: &str) -> Value {
        let prompt = json!([{"type": "text", "text": text}]);
        self.result("session/prompt", json!({"sessionId": session, "prompt": prompt})).await
    }

    pub(crate) async fn begin(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.send("session/prompt", json!({"sessionId": session, "prompt": prompt})).await
    }

    pub(crate) async fn answer(&mut self, request: &Value, outcome: Value) {
        let result = json!({"outcome": outcome});
        let line = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        self.raw(line.to_string().as_bytes()).await;
    }
}
