//! Providers of plugins: both ways to answer, tool calls there and back, and everything that goes
//! wrong on the way.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Run};

use super::plugin;
use crate::{has_bubblewrap, project};

const PROVIDER: &str = r#"
import dataclasses
import json
import brynhild.api.base as base
import brynhild.api.types as types


@dataclasses.dataclass
class Signed(types.ToolUse):
    signature: str = ""

    def to_tool_call_dict(self):
        wire = super().to_tool_call_dict()
        wire["extra_content"] = {"signature": self.signature}
        return wire


class Talker(base.LLMProvider):
    def __init__(self, model="none", api_key=None, region="nowhere", **rest):
        self._model = model
        self.given = dict(rest, region=region, key=api_key)

    @property
    def name(self): return "talker"
    @property
    def model(self): return self._model
    @property
    def supports_tools(self): return True

    def answer(self, messages, tools):
        last = messages[-1]
        if last["role"] == "user" and "CALL" in last["content"]:
            return [Signed("c1", "Inspect", {"operation": "cwd"}, "sig")], ""
        before = messages[-2] if len(messages) > 1 else None
        names = [tool.to_openai_format()["function"]["name"] for tool in tools or []]
        said = {"last": last, "before": before, "given": self.given, "tools": names, "model": self._model}
        return [], json.dumps(said)

    async def complete(self, messages, *, system=None, tools=None, max_tokens=8192):
        uses, text = self.answer(messages, tools)
        stop = "tool_use" if uses else "end_turn"
        return types.CompletionResponse("id", text, stop, types.Usage(7, 3), uses, "pondering")

    async def stream(self, messages, *, system=None, tools=None, max_tokens=8192):
        words = messages[-1]["content"] if messages[-1]["role"] == "user" else ""
        yield types.StreamEvent(type="message_start", message_id="m")
        if "ERROR" in words:
            yield types.StreamEvent(type="error", error="the backend is on fire")
            return
        if "EARLY" in words:
            yield types.StreamEvent(type="text_delta", text="half")
            return
        if "NOTHING" in words:
            return
        if "RAISE" in words:
            yield types.StreamEvent(type="text_delta", text="half")
            raise RuntimeError("lost the thread")
        if "WEIRD" in words:
            yield types.StreamEvent(type="quantum_flux")
            yield 42
            yield types.StreamEvent(type="text_delta", text=None)
            yield types.StreamEvent(type="tool_use_start", tool_use=types.ToolUse("", "", None))
        yield types.StreamEvent(type="thinking_delta", thinking="pondering")
        uses, text = self.answer(messages, tools)
        for use in uses:
            yield types.StreamEvent(type="tool_use_start", tool_use=use)
        if text:
            yield types.StreamEvent(type="text_delta", text=text)
        yield types.StreamEvent(type="content_stop")
        stop = "tool_use" if uses else "end_turn"
        yield types.StreamEvent(type="message_stop", stop_reason=stop, usage=types.Usage(11, 5))
"#;

fn project_with_provider() -> Project {
    let project = project().env("TALK_KEY", "k-123");
    plugin(&project, "talk", &[("providers/talker.py", PROVIDER)]);
    project.config(
        "providers:\n  instances:\n    mine:\n      type: talker\n      region: eu\n      \
         base_url: http://there\n      api_key_env: TALK_KEY\n      default_model: big\n",
    );
    project
}

fn chat_with_provider(project: &Project, provider: &str, words: &[&str]) -> Run {
    let args = [&["--provider", provider, "chat", "--json"], words].concat();
    project.brynhild(&args)
}

fn received_request(run: &Run) -> Value {
    serde_json::from_str(run.json()["response"].as_str().unwrap()).unwrap()
}

#[test]
fn tool_call_extras_survive_a_round_trip() {
    if !has_bubblewrap() {
        return;
    }
    let project = project_with_provider();
    for way in [&["CALL"][..], &["--no-stream", "CALL"]] {
        let run = chat_with_provider(&project, "talker", &[way, &["please"]].concat());
        let heard = received_request(&run);
        assert_eq!(heard["last"]["role"], "tool_result", "{run}");
        assert_eq!(
            (&heard["last"]["tool_use_id"], &heard["last"]["is_error"]),
            (&"c1".into(), &false.into())
        );
        let call = &heard["before"]["tool_calls"][0];
        assert_eq!(call["extra_content"], json!({"signature": "sig"}), "{run}");
        assert_eq!(call["function"]["arguments"], "{\"operation\":\"cwd\"}");
        assert!(heard["tools"].as_array().unwrap().contains(&"Read".into()));
        assert_eq!(heard["given"], json!({"region": "nowhere", "key": null}));
    }
    let streamed = chat_with_provider(&project, "talker", &["CALL"]).json();
    assert_eq!(streamed["usage"]["output_tokens"], 10, "{streamed}");
}

#[test]
fn instance_settings_and_key_reach_the_class() {
    if !has_bubblewrap() {
        return;
    }
    let project = project_with_provider();
    let heard = received_request(&chat_with_provider(&project, "mine", &["Hello"]));
    assert_eq!(heard["model"], "big");
    let given = json!({"cache_ttl": 3600, "base_url": "http://there", "default_model": "big", "region": "eu", "key": "k-123"});
    assert_eq!(heard["given"], given);
    let keyless =
        project.command(&["--provider", "mine", "chat", "Hello"]).env("TALK_KEY", "").run();
    assert!(keyless.code(2).stderr.contains("TALK_KEY"), "{keyless}");
    project.brynhild(&["plugin", "disable", "talk"]).success();
    let off = project.brynhild(&["--provider", "talker", "chat", "Hello"]);
    assert!(off.code(2).stderr.contains("Unknown provider 'talker'"), "{off}");
    let off = project.brynhild(&["--provider", "mine", "chat", "Hello"]);
    assert!(off.code(2).stderr.contains("unknown type 'talker'"), "{off}");
}

#[test]
fn stream_failure_is_one_message() {
    if !has_bubblewrap() {
        return;
    }
    let project = project_with_provider();
    let told = |words: &str| chat_with_provider(&project, "talker", &[words]);
    let run = told("ERROR");
    assert!(run.code(1).stdout.contains("talker: the backend is on fire"), "{run}");
    let run = told("RAISE");
    assert!(run.code(1).stdout.contains("talker: lost the thread"), "{run}");
    let run = told("NOTHING");
    assert!(run.code(1).stdout.contains("the reply ended before it began"), "{run}");
    let run = told("EARLY");
    assert_eq!(run.success().json()["response"], "half");
    assert_eq!(run.stderr.matches("ended without `message_stop`").count(), 1, "{run}");
    let run = told("WEIRD");
    assert!(run.success().stderr.contains("a int that is not an event"), "{run}");
    assert_eq!(received_request(&run)["model"], "none");
}

const HOLDER: &str = "import brynhild.api.base as base\n\
    import brynhild.api.types as types\n\
    from brynhild.api.credentials import load_credentials_from_path\n\
    class Provider(base.LLMProvider):\n\
    \x20   PROVIDER_NAME = 'KIND'\n\
    \x20   def __init__(self, model=None, credentials_path=None, **rest):\n\
    \x20       self.key = load_credentials_from_path(credentials_path)['api_key']\n\
    \x20   name = model = 'holder'\n\
    \x20   def supports_tools(self): return False\n\
    \x20   async def complete(self, messages, **rest):\n\
    \x20       return types.CompletionResponse('id', self.key, 'end_turn', types.Usage(1, 1))\n\
    \x20   async def stream(self, messages, **rest):\n\
    \x20       yield types.StreamEvent(type='text_delta', text='has ' + self.key[:3])\n\
    \x20       yield types.StreamEvent(type='message_stop')\n";

#[test]
fn provider_reads_the_credentials_of_its_instance() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let secrets = project.home().join(".secrets");
    std::fs::create_dir(&secrets).unwrap();
    std::fs::write(secrets.join("key.json"), r#"{"api_key": "abcdef"}"#).unwrap();
    plugin(&project, "holder", &[("providers/holder.py", &HOLDER.replace("KIND", "holder"))]);
    plugin(&project, "other", &[("providers/file.py", &HOLDER.replace("KIND", "renamed"))]);
    let instance = |kind: &str| {
        project.config(&format!(
            "providers: {{instances: {{mine: {{type: {kind}, credentials_path: \
             ~/.secrets/key.json, default_model: m}}}}}}\n"
        ));
        project.brynhild(&["--provider", "mine", "chat", "hi"])
    };
    let run = instance("holder");
    assert!(run.success().stdout.contains("has abc"), "{run}");
    // The file of this provider is unknown before it runs.
    let run = instance("renamed");
    let command =
        run.stderr.split('`').find(|part| part.starts_with("brynhild plugin grant other"));
    let words = command.unwrap_or_else(|| panic!("{run}")).split(' ').skip(1).chain(["--yes"]);
    project.brynhild(&words.collect::<Vec<_>>()).success();
    let run = project.brynhild(&["--provider", "mine", "chat", "hi"]);
    assert!(run.success().stdout.contains("has abc"), "{run}");
}

#[test]
fn role_uses_a_plugin_provider_or_its_instance() {
    if !has_bubblewrap() {
        return;
    }
    let project = project_with_provider();
    for provider in ["talker", "mine"] {
        let role = format!("name: r\nprompt: p\nmodel: {provider}:role-m\ntools: []\n");
        let file = project.config_directory().join("agents/r.yaml");
        super::write(&file, &role);
        let file = file.display().to_string();
        let run = project.brynhild(&["run", &file, "-p", "hi"]);
        assert!(run.success().stdout.contains("\"model\": \"role-m\""), "{run}");
        assert!(!run.stderr.contains("is not known here"), "{run}");
    }
    let file = project.config_directory().join("agents/r.yaml");
    super::write(&file, "name: r\nprompt: p\nmodel: nobody:role-m\ntools: []\n");
    let run = project.brynhild(&["run", &file.display().to_string(), "-p", "hi"]);
    assert!(run.stderr.contains("the role's provider nobody is not known here"), "{run}");
}

#[test]
fn only_providers_have_a_network_in_every_mode() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([]);
    let fetch = format!(
        "        import urllib.request, urllib.error\n        try:\n            \
         urllib.request.urlopen('{}/nothing')\n        except urllib.error.HTTPError as error:\n            \
         words = 'reached'\n        yield types.StreamEvent(type=\"message_start\"",
        server.url()
    );
    let text =
        PROVIDER.replacen("        yield types.StreamEvent(type=\"message_start\"", &fetch, 1);
    assert_ne!(text, PROVIDER);
    let project = project();
    let body = format!(
        "import urllib.request, urllib.error\ntry:\n    urllib.request.urlopen('{}/nothing')\n\
         except urllib.error.HTTPError:\n    return ToolResult(True, 'reached')\n\
         except Exception:\n    return ToolResult(True, 'shut out')",
        server.url()
    );
    let files =
        [("providers/talker.py", text.as_str()), ("tools/reach.py", &super::tool("reach", &body))];
    plugin(&project, "talk", &files);
    project.config("plugins: {talk: {sandbox: {network: true}}}\n");
    for mode in ["normal", "read-only"] {
        let run = project.brynhild(&["--mode", mode, "--provider", "talker", "chat", "hi"]);
        assert!(run.success().stdout.contains("\"model\""), "{run}");
    }
    let run = project.brynhild(&["--mode", "read-only", "tools", "exec", "reach", "--input", "{}"]);
    assert!(!run.stdout.contains("reached"), "{run}");
}
