use contract::tool::{Recovery, Traits};

use super::*;
use crate::tests::fixture::Project;

struct Named(Arc<ToolSpec>);

#[async_trait]
impl Tool for Named {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.0)
    }

    fn actions(&self, _: &Value) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    async fn run(&self, _: &ToolCall, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::success(format!("called {}", self.0.name)))
    }
}

fn tool(source: &str, name: String, description: &str) -> Arc<dyn Tool> {
    Arc::new(Named(Arc::new(ToolSpec {
        name,
        description: description.to_owned(),
        input_schema: json!({"type": "object", "properties": {"city": {"type": "string"}}}).into(),
        version: String::new(),
        categories: Vec::new(),
        requires_permission: false,
        risk_level: Risk::ReadOnly,
        recovery_policy: Recovery::Allow,
        parallel: false,
        source: source.to_owned(),
        traits: Traits::default(),
    })))
}

fn many() -> Vec<Arc<dyn Tool>> {
    let of = |source: &'static str, count: usize| {
        (0..count).map(move |index| {
            tool(source, format!("{source}_{index}"), &format!("Does thing number {index}."))
        })
    };
    let own = [tool(BUILTIN, String::from("Own"), "Is always there.")];
    own.into_iter().chain(of("few", 3)).chain(of("many", 60)).chain(of("some", 30)).collect()
}

const USUALLY: Deferral = Deferral { tools: 40, bytes: 64 << 10 };

fn offered((tools, is_hidden): &(Vec<Arc<dyn Tool>>, Option<IsHidden>)) -> Vec<String> {
    let names = tools.iter().map(|tool| tool.spec().name.clone());
    let is_hidden = |name: &String| is_hidden.as_ref().is_some_and(|is_hidden| is_hidden(name));
    names.filter(|name| !is_hidden(name)).collect()
}

async fn search(tools: &[Arc<dyn Tool>], query: &str) -> String {
    let search = tools.iter().find(|tool| tool.spec().name == NAME).unwrap();
    Project::new().output(search.as_ref(), json!({"query": query})).await
}

#[tokio::test]
async fn largest_plugin_is_offered_through_search() {
    let found = FoundTools::default();
    let tools = behind_search(many(), USUALLY, &found);
    let names = offered(&tools);
    assert_eq!(names.len(), 1 + 3 + 30 + 1, "{names:?}");
    for name in ["Own", "few_2", "some_29"] {
        assert!(names.iter().any(|it| it == name), "{names:?}");
    }
    let spec = tools.0.last().unwrap().spec();
    assert!(spec.description.contains("many (60): many_0, many_1"), "{}", spec.description);
    assert!(search(&tools.0, "thing number 21").await.contains("\"many_21\""));
    search(&tools.0, "select:many_3,many_4").await;
    let names = offered(&tools);
    for name in ["many_21", "many_3", "many_4"] {
        assert!(names.iter().any(|it| it == name), "{names:?}");
    }
    assert!(search(&tools.0, "zebra").await.contains("No matching tools"));
    let again = behind_search(many(), USUALLY, &found);
    assert!(offered(&again).contains(&String::from("many_3")), "what was found stays found");
}

#[test]
fn search_replaces_long_descriptions_only() {
    let found = FoundTools::default();
    let few: Vec<Arc<dyn Tool>> = many().into_iter().take(4).collect();
    assert_eq!(offered(&behind_search(few, USUALLY, &found)).len(), 4);
    let long = tool("long", String::from("long"), &"words ".repeat(20_000));
    let tools =
        behind_search(vec![long, tool("few", String::from("x"), "Short.")], USUALLY, &found);
    assert_eq!(offered(&tools), ["x", NAME]);
    let own = tool(BUILTIN, String::from("long"), &"words ".repeat(20_000));
    assert_eq!(offered(&behind_search(vec![own], USUALLY, &found)), ["long"]);
}
