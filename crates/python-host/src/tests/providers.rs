//! Providers: asked event by event, and whole.

use contract::message::{Entry, Message, Part, Reply, StopReason, Usage};
use contract::provider::{
    Delivery, Delta, Failure, Provider, ProviderError, ReasoningFormat, ReasoningLevel, Request,
};
use contract::tool::{Recovery, Risk, ToolSpec, Traits};
use futures::StreamExt as _;
use serde_json::{Map, json};

use super::*;
use crate::provider::ProviderSettings;

/// A provider whose `stream` has this body.
fn file(body: &str) -> String {
    format!(
        "import asyncio, json\n\
         from brynhild.api.base import LLMProvider\n\
         from brynhild.api.types import *\n\
         from brynhild.api.types import StreamEvent as E, ToolUse, Usage, CompletionResponse\n\
         class Signed(ToolUse):\n\
         \x20   def to_tool_call_dict(self):\n\
         \x20       return dict(super().to_tool_call_dict(), thought_signature='s1')\n\
         class Provider(LLMProvider):\n\
         \x20   PROVIDER_NAME = 'mine'\n\
         \x20   def __init__(self, model, api_key=None, **extra):\n\
         \x20       self._model = model; self.api_key = api_key; self.extra = extra\n\
         \x20   name = property(lambda self: 'mine')\n\
         \x20   model = property(lambda self: self._model)\n\
         \x20   def supports_tools(self): return True\n\
         \x20   async def complete(self, messages, *, system=None, max_tokens=8192, tools=None):\n\
         \x20       return CompletionResponse(id='r', content=json.dumps(messages), \
         stop_reason='end_turn', usage=Usage(3, 4))\n\
         \x20   async def stream(self, messages, *, system=None, max_tokens=8192, tools=None):\n\
         \x20       {body}\n"
    )
}

async fn provider(world: &World) -> Arc<dyn Provider> {
    let described = world.described().await;
    assert!(described.offer.faults.is_empty(), "{:?}", described.offer.faults);
    let found = &described.providers[0];
    assert_eq!(found.name, "mine");
    let kwargs: Map<String, Value> = json!({"cache_ttl": 5}).as_object().unwrap().clone();
    world.host.provider(
        &world.plugin.list()[0],
        ProviderSettings {
            key: found.key.clone(),
            name: found.name.clone(),
            kwargs,
            model: "m1".into(),
            api_key: Some(contract::secret::Secret::new("k".into())),
            profile: Some(json!({"name": "zed", "default_temperature": 0.25})),
        },
    )
}

fn request(history: Vec<Message>, delivery: Delivery) -> Request {
    let tool = ToolSpec {
        name: "t".into(),
        description: "d".into(),
        input_schema: json!({"type": "object"}).into(),
        version: "1".into(),
        categories: Vec::new(),
        requires_permission: false,
        risk_level: Risk::ReadOnly,
        recovery_policy: Recovery::Allow,
        parallel: false,
        source: "builtin".into(),
        traits: Traits::default(),
    };
    Request {
        model: "m1".into(),
        system: "be good".into(),
        history: Arc::new(history.into_iter().map(|it| Arc::new(Entry::new(it))).collect()),
        tools: [Arc::new(tool)].into(),
        max_tokens: 99,
        temperature: None,
        reasoning_level: ReasoningLevel::Auto,
        reasoning_format: ReasoningFormat::Auto,
        params: std::collections::BTreeMap::new(),
        delivery,
    }
}

fn hello() -> Vec<Message> {
    vec![Message::User { text: "hello".into() }]
}

async fn ask(provider: &dyn Provider, request: Request) -> Vec<Result<Delta, ProviderError>> {
    match provider.stream(request).await {
        Ok(stream) => stream.collect().await,
        Err(error) => vec![Err(error)],
    }
}

async fn deltas(provider: &dyn Provider, request: Request) -> Vec<Delta> {
    ask(provider, request).await.into_iter().map(Result::unwrap).collect()
}

#[tokio::test]
async fn provider_gets_named_arguments_and_streams_events() {
    let body = "yield E(type='message_start')\n        \
                yield E(type='text_delta', text=json.dumps([system, max_tokens, [t.name for t in tools], \
                self.model, self.api_key, self.extra, messages]))\n        \
                yield E(type='message_stop', stop_reason='end_turn', usage=Usage(1, 2))";
    let world = World::new(&[("providers/mine.py", &file(body))]);
    let provider = provider(&world).await;
    let deltas = deltas(&*provider, request(hello(), Delivery::Streamed)).await;
    let Delta::Text(text) = &deltas[0] else { panic!("{deltas:?}") };
    let told: Value = serde_json::from_str(text).unwrap();
    let messages = json!([{"role": "user", "content": "hello"}]);
    assert_eq!(told, json!(["be good", 99, ["t"], "m1", "k", {"cache_ttl": 5}, messages]));
    let usage = Usage { input_tokens: 1, output_tokens: 2, ..Usage::default() };
    assert_eq!(deltas[1..], [Delta::Usage(usage), Delta::Stopped(StopReason::EndTurn)]);
    assert!(provider.models().await.unwrap().is_empty());
    world.host.shutdown().await;
}

#[tokio::test]
async fn provider_finds_the_profile_of_its_own_model() {
    let body = "yield E(type='text_delta', text=str([self.profile and self.profile.name, \
                self.profile and self.profile.default_temperature]))\n        \
                yield E(type='message_stop')";
    let world = World::new(&[("providers/mine.py", &file(body))]);
    let provider = provider(&world).await;
    for (model, said) in [("m1", "['zed', 0.25]"), ("other", "[None, None]")] {
        let mut request = request(hello(), Delivery::Streamed);
        request.model = model.into();
        assert_eq!(deltas(&*provider, request).await[0], Delta::Text(said.into()));
    }
    world.host.shutdown().await;
}

#[tokio::test]
async fn each_requested_model_has_its_own_instance() {
    let body = "self.count = getattr(self, 'count', 0) + 1\n        \
                yield E(type='text_delta', text='%s %d' % (self.model, self.count))\n        \
                yield E(type='message_stop')";
    let world = World::new(&[("providers/mine.py", &file(body))]);
    let provider = provider(&world).await;
    for (model, said) in [("m1", "m1 1"), ("judge", "judge 1"), ("m1", "m1 2")] {
        let mut request = request(hello(), Delivery::Streamed);
        request.model = model.into();
        assert_eq!(deltas(&*provider, request).await[0], Delta::Text(said.into()));
    }
    world.host.shutdown().await;
}

#[tokio::test]
async fn opaque_tool_use_fields_are_returned_in_the_history() {
    let body = "yield E(type='tool_use_start', tool_use=Signed('c1', 't', {'a': 1}))\n        \
                yield E(type='message_stop', stop_reason='tool_use')";
    let world = World::new(&[("providers/mine.py", &file(body))]);
    let provider = provider(&world).await;
    let deltas = deltas(&*provider, request(hello(), Delivery::Streamed)).await;
    let Delta::Call(call) = &deltas[1] else { panic!("{deltas:?}") };
    assert_eq!((call.name.as_str(), &call.args), ("t", &json!({"a": 1})));
    let mut history = hello();
    let parts = vec![Part::Call(call.clone())];
    history.push(Message::Assistant(Reply { parts, stop: StopReason::ToolUse }));
    history.push(Message::Tool {
        call: call.id.clone(),
        name: "t".into(),
        content: "out".into(),
        is_error: false,
    });
    let whole = self::deltas(&*provider, request(history, Delivery::Whole)).await;
    let Delta::Text(text) = &whole[0] else { panic!("{whole:?}") };
    let seen: Value = serde_json::from_str(text).unwrap();
    assert_eq!(seen[1]["tool_calls"][0]["thought_signature"], "s1");
    assert_eq!(seen[1]["tool_calls"][0]["function"]["arguments"], "{\"a\":1}");
    assert_eq!(
        seen[2],
        json!({"role": "tool_result", "tool_use_id": "c1", "content": "out", "is_error": false})
    );
    assert!(matches!(&whole[1], Delta::Usage(usage) if usage.output_tokens == 4));
    world.host.shutdown().await;
}

#[tokio::test]
async fn errors_keep_earlier_pieces_and_the_provider_message() {
    let raises = "yield E(type='text_delta', text='a')\n        raise RuntimeError('lost it')";
    let reports = "yield E(type='error', error='over quota')";
    let silent = "return\n        yield";
    let early = "yield E(type='text_delta', text='a')";
    for (body, kind, words) in [
        (raises, Some(Failure::Rejected), "mine: lost it"),
        (reports, Some(Failure::Rejected), "mine: over quota"),
        (silent, Some(Failure::Cut), "mine: the reply ended before it began"),
        (early, None, ""),
    ] {
        let world = World::new(&[("providers/mine.py", &file(body))]);
        let provider = provider(&world).await;
        let mut all = ask(&*provider, request(hello(), Delivery::Streamed)).await;
        match (all.pop().unwrap(), kind) {
            (Err(error), Some(kind)) => {
                assert_eq!((error.kind, error.message.as_str()), (kind, words), "{body}");
            }
            (Ok(delta), None) => assert_eq!(delta, Delta::Stopped(StopReason::EndTurn)),
            other => panic!("{body}: {other:?}"),
        }
        world.host.shutdown().await;
    }
}

#[tokio::test]
async fn a_dropped_stream_stops_the_provider() {
    let body = "try:\n            while True:\n                \
                yield E(type='text_delta', text='x'); await asyncio.sleep(0)\n        \
                finally: print('undone', flush=True)";
    let world = World::new(&[("providers/mine.py", &file(body))]);
    let provider = provider(&world).await;
    let mut stream = provider.stream(request(hello(), Delivery::Streamed)).await.unwrap();
    assert!(matches!(stream.next().await, Some(Ok(Delta::Text(_)))));
    drop(stream);
    while !world.heard().contains("undone") {
        tokio::task::yield_now().await;
    }
    world.host.shutdown().await;
}

#[tokio::test]
async fn provider_is_recreated_in_a_restarted_worker() {
    let body = "import os\n        if messages[0]['content'] == 'die': os._exit(1)\n        \
                yield E(type='text_delta', text='alive')";
    let world = World::new(&[("providers/mine.py", &file(body))]);
    let provider = provider(&world).await;
    let die = vec![Message::User { text: "die".into() }];
    let all = ask(&*provider, request(die, Delivery::Streamed)).await;
    assert!(all[0].as_ref().unwrap_err().message.contains("exit code 1"), "{all:?}");
    let deltas = deltas(&*provider, request(hello(), Delivery::Streamed)).await;
    assert_eq!(deltas[0], Delta::Text("alive".into()));
    world.host.shutdown().await;
}
