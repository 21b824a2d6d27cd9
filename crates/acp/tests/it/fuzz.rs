//! Lines that no client should send.

use serde_json::{Value, json};

use crate::client::with_client;

#[tokio::test]
async fn broken_lines_get_one_error_each() {
    with_client(async |client| {
        let session = client.session().await;
        for (line, code, id) in [
            (&b"{"[..], -32700, Value::Null),
            (b"\xff\xfe", -32700, Value::Null),
            (b"nonsense", -32700, Value::Null),
            (b"[]", -32600, Value::Null),
            (br#"[{"jsonrpc":"2.0","id":1,"method":"session/list"}]"#, -32600, Value::Null),
            (b"3", -32600, Value::Null),
            (b"null", -32600, Value::Null),
            (b"{}", -32600, Value::Null),
            (br#"{"jsonrpc":"1.0","id":4,"method":"session/list"}"#, -32600, json!(4)),
            (br#"{"id":"a","method":"session/list"}"#, -32600, json!("a")),
            (br#"{"jsonrpc":"2.0","id":{},"method":"session/list"}"#, -32600, Value::Null),
            (br#"{"jsonrpc":"2.0","id":1.5,"method":"session/list"}"#, -32600, Value::Null),
            (br#"{"jsonrpc":"2.0","id":5,"method":7}"#, -32600, json!(5)),
            (br#"{"jsonrpc":"2.0","id":6}"#, -32600, json!(6)),
            (br#"{"jsonrpc":"2.0","id":6,"result":1,"error":2}"#, -32600, json!(6)),
            (br#"{"jsonrpc":"2.0","result":1}"#, -32600, Value::Null),
            (br#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, -32601, Value::Null),
        ] {
            client.raw(line).await;
            let answer = client.next().await;
            let shown = String::from_utf8_lossy(line);
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{shown}");
        }
        let deep = "[".repeat(100_000);
        client.raw(deep.as_bytes()).await;
        assert_eq!(client.next().await["error"]["code"], -32700);
        assert_eq!(client.prompt(&session, "hi").await["stopReason"], "end_turn");
    })
    .await;
}
