//! The two complete examples of the plugin documents: a tool with a guarded import that asks a web
//! server, and a provider.

use std::process::Command;

use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::{error, exec, output, plugin, write};
use crate::{has_bubblewrap, project};

/// A tool in the documented form: guarded import, properties, a package that is imported in a call.
const CLIENT: &str = r#"
from __future__ import annotations
import typing as _typing

try:
    import brynhild.tools.base as _base
    ToolResult = _base.ToolResult
    ToolBase = _base.Tool
except ImportError:
    from brynhild.plugins.stubs import ToolResult, ToolBase


class Tool(ToolBase):
    """Asks web servers."""

    @property
    def name(self) -> str:
        return "HttpClient"

    @property
    def description(self) -> str:
        return """Sends a request to a web server.

Use it to:
- read from an API
- see whether a page is there"""

    @property
    def input_schema(self) -> dict[str, _typing.Any]:
        return {
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "Where to ask"},
                "method": {"type": "string", "enum": ["GET", "POST"], "default": "GET"},
                "headers": {"type": "object"},
                "body": {"type": "string"},
            },
            "required": ["url"],
        }

    @property
    def requires_permission(self) -> bool:
        return True

    @property
    def version(self) -> str:
        return "1.0.0"

    @property
    def categories(self) -> list[str]:
        return ["network", "api"]

    async def execute(self, input: dict[str, _typing.Any]) -> ToolResult:
        import httpx as _httpx

        url = input.get("url")
        if not url:
            return ToolResult(success=False, output="", error="URL is required")
        try:
            async with _httpx.AsyncClient() as client:
                response = await client.request(
                    method=input.get("method", "GET"),
                    url=url,
                    headers=input.get("headers", {}),
                    content=input.get("body"),
                    timeout=30.0,
                )
                text = f"Status: {response.status_code}\n\n{response.text[:2000]}"
                return ToolResult(success=True, output=text)
        except _httpx.TimeoutException:
            return ToolResult(success=False, output="", error="Request timed out")
        except Exception as e:
            return ToolResult(success=False, output="", error=str(e))
"#;

/// As much of that package as the tool uses.
const PACKAGE: &str = r"
import asyncio
import urllib.request


class TimeoutException(Exception):
    pass


class AsyncClient:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None

    async def request(self, method, url, headers, content, timeout):
        data = content.encode() if content else None
        request = urllib.request.Request(url, data, headers, method=method)
        response = await asyncio.to_thread(urllib.request.urlopen, request, None, timeout)
        self.status_code = response.status
        self.text = response.read().decode()
        return self
";

/// A provider in the documented form, whose answer comes in three events.
const PROVIDER: &str = r#"
from __future__ import annotations
import typing as _typing

try:
    import brynhild.api.base as _base
    import brynhild.api.types as _types
    LLMProvider = _base.LLMProvider
    CompletionResponse = _types.CompletionResponse
    StreamEvent = _types.StreamEvent
    Usage = _types.Usage
except ImportError:
    class LLMProvider:
        pass


class Provider(LLMProvider):
    """Answers for the documents."""

    PROVIDER_NAME = "my-provider"

    def __init__(self, api_key: str | None = None, model: str = "default-model",
                 base_url: str = "https://api.example.com", **kwargs: _typing.Any) -> None:
        self._api_key = api_key
        self._model = model
        self._base_url = base_url

    @property
    def name(self) -> str:
        return "my-provider"

    @property
    def model(self) -> str:
        return self._model

    def supports_tools(self) -> bool:
        return True

    def supports_reasoning(self) -> bool:
        return False

    async def complete(self, messages, *, system=None, tools=None, max_tokens=8192, use_profile=True):
        if use_profile and hasattr(self, "_profile") and self._profile:
            system = self.apply_profile_to_system(system)
            max_tokens = self.apply_profile_to_max_tokens(max_tokens)
        names = [t.to_openai_format()["function"]["name"] for t in tools or []]
        return CompletionResponse(
            id="1", content=f"{self._model} at {self._base_url} with {'Read' in names}",
            stop_reason="end_turn", usage=Usage(input_tokens=4, output_tokens=2), tool_uses=[])

    async def stream(self, messages, *, system=None, tools=None, max_tokens=8192, use_profile=True):
        yield StreamEvent(type="message_start")
        yield StreamEvent(type="text_delta", text="Hello from my provider!")
        yield StreamEvent(type="message_stop", stop_reason="end_turn")
"#;

#[test]
fn documented_tool_works_or_names_its_missing_package() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([]).models_reply(Reply::failure(200).body("pong"));
    let project = project();
    let root = plugin(&project, "web", &[("tools/http_client.py", CLIENT)]);
    let row = project.brynhild(&["tools", "list", "--json"]).json();
    let row = row.as_array().unwrap().iter().find(|row| row["name"] == "HttpClient").cloned();
    let row = row.unwrap();
    assert_eq!(
        (&row["version"], &row["categories"]),
        (&"1.0.0".into(), &json!(["network", "api"]))
    );
    assert_eq!(
        (&row["requires_permission"], &row["risk_level"]),
        (&true.into(), &"read_only".into())
    );
    let ask = json!({"url": format!("{}/v1/models", server.url())});
    let without = error(&exec(&project, "HttpClient", &ask));
    assert!(without.contains("httpx") && without.contains("dependencies"), "{without}");
    venv(&root.join(".venv"));
    write(&site(&root.join(".venv")).join("httpx.py"), PACKAGE);
    let offline = error(&exec(&project, "HttpClient", &ask));
    assert!(offline.contains("refused") || offline.contains("unreachable"), "{offline}");
    project.config("plugins: {web: {sandbox: {network: true}}}\n");
    assert_eq!(output(&exec(&project, "HttpClient", &ask)), "Status: 200\n\npong");
    let refused = exec(&project, "HttpClient", &json!({"url": "x", "method": "BREW"}));
    assert!(error(&refused).contains("method"), "{refused}");
    assert!(error(&exec(&project, "HttpClient", &json!({}))).contains("url"));
}

#[test]
fn documented_provider_answers_streamed_and_whole() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    plugin(&project, "docs", &[("providers/my_provider.py", PROVIDER)]);
    let streamed = project.brynhild(&["--provider", "my-provider", "chat", "Hello"]);
    assert_eq!(streamed.success().stdout.trim(), "Hello from my provider!", "{streamed}");
    project.config(
        "providers: {instances: {mine: {type: my-provider, base_url: http://here, default_model: big}}}\n",
    );
    let whole = project.brynhild(&["--provider", "mine", "chat", "--no-stream", "Hello"]);
    assert_eq!(whole.success().stdout.trim(), "big at http://here with True", "{whole}");
    let listed = project.brynhild(&["api", "providers", "--json"]).json();
    let row = |name: &str| -> Value {
        listed.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone()
    };
    assert_eq!(
        (&row("mine")["type"], &row("my-provider")["source"]),
        (&"my-provider".into(), &"plugin".into())
    );
    assert_eq!(row("my-provider")["description"], "Answers for the documents.");
}

/// An environment without any package.
#[expect(clippy::disallowed_methods, reason = "a test makes its environment with the real thing")]
pub(crate) fn venv(directory: &std::path::Path) {
    let done =
        Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(directory).output();
    let done = done.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// The package directory of an environment.
pub(super) fn site(venv: &std::path::Path) -> std::path::PathBuf {
    let mut versions = std::fs::read_dir(venv.join("lib")).unwrap().flatten();
    versions.next().unwrap().path().join("site-packages")
}
