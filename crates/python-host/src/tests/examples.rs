//! The examples that ship with the program.

use contract::message::{Entry, Message};
use contract::provider::{Delivery, Delta, ReasoningFormat, ReasoningLevel, Request};
use futures::StreamExt as _;
use serde_json::{Map, json};

use super::*;
use crate::provider::ProviderSettings;

fn example(world: &mut World, name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins").join(name);
    world.plugin.tools = root.join("tools").exists();
    world.plugin.providers = root.join("providers").exists();
    world.plugin.facts.root = root;
}

#[tokio::test]
async fn the_example_tool_counts_lines() {
    let mut world = World::new(&[]);
    example(&mut world, "line-count");
    write(&world.directory.path().join("work/a.txt"), "1\n2\n3\n");
    let tool = world.tool("line_count").await;
    let output = run(&*tool, json!({})).await.unwrap();
    assert_eq!(output.output, "       3 .txt");
    assert!(!tool.spec().requires_permission);
    let wrong = run(&*tool, json!({"directory": "nowhere"})).await.unwrap();
    assert_eq!(wrong.error.as_deref(), Some("Not a directory: nowhere"));
    world.host.shutdown().await;
}

#[tokio::test]
async fn the_example_provider_repeats() {
    let mut world = World::new(&[]);
    example(&mut world, "parrot");
    let described = world.described().await;
    let found = &described.providers[0];
    let settings = ProviderSettings {
        profile: None,
        key: found.key.clone(),
        name: found.name.clone(),
        kwargs: Map::new(),
        model: "grey".into(),
        api_key: None,
    };
    let provider = world.host.provider(&world.plugin.list()[0], settings);
    let entry = Entry::new(Message::User { text: "Pieces of eight".into() });
    let request = Request {
        model: "grey".into(),
        system: "".into(),
        history: Arc::new(vec![Arc::new(entry)]),
        tools: [].into(),
        max_tokens: 10,
        temperature: None,
        reasoning_level: ReasoningLevel::Auto,
        reasoning_format: ReasoningFormat::Auto,
        params: std::collections::BTreeMap::new(),
        delivery: Delivery::Streamed,
    };
    let deltas: Vec<_> = provider.stream(request).await.unwrap().collect().await;
    let text: String = deltas
        .into_iter()
        .filter_map(|delta| match delta.unwrap() {
            Delta::Text(text) => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(text.trim(), "Pieces of eight");
    world.host.shutdown().await;
}
