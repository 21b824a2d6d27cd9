//! Tools: described, called, cached.

use serde_json::json;

use super::*;
use contract::action::Action;

#[tokio::test]
async fn tool_is_described_called_and_its_output_shown() {
    let body = "print('while it runs'); return ToolResult(True, 'got ' + input['x'])";
    let file = format!("print('at import')\n{}", tool_file("greet", body));
    let world = World::new(&[("tools/greet.py", &file)]);
    let tool = world.tool("greet").await;
    assert_eq!(tool.spec().source, "demo");
    let output = run(&*tool, json!({"x": "a\u{1f600}\n"})).await.unwrap();
    assert_eq!((output.success, output.output.as_str()), (true, "got a\u{1f600}\n"));
    world.host.shutdown().await;
    let heard = world.heard();
    assert!(heard.contains("at import") && heard.contains("while it runs"), "{heard}");
    let what = "plugin demo: greet {\"x\":\"\\\\u{202e}\"}".replace("\\\\", "\\");
    let actions = tool.actions(&json!({"x": "\u{202e}"})).unwrap().actions;
    assert_eq!(actions, [Action::Opaque { what }]);
}

#[tokio::test]
async fn later_run_describes_from_the_cache() {
    let world =
        World::new(&[("tools/greet.py", &tool_file("greet", "return ToolResult(True, 'hi')"))]);
    let first = world.described().await;
    world.host.shutdown().await;
    let later = world.again();
    let kept = later.described(&world.plugin.list()).pop().unwrap().unwrap();
    assert_eq!(kept, first);
    let tool = later.tools(&world.plugin.list()[0], &kept.offer).pop().unwrap();
    assert_eq!(run(&*tool, json!({})).await.unwrap().output, "hi");
    later.shutdown().await;
}

#[tokio::test]
async fn tool_keeps_state_and_event_loop_between_calls() {
    let body = "Tool.count += 1; self.loops = getattr(self, 'loops', set()) | \
                {id(asyncio.get_running_loop())}; \
                return ToolResult(True, f'{Tool.count} {len(self.loops)}')";
    let world = World::new(&[("tools/greet.py", &tool_file("greet", body))]);
    let tool = world.tool("greet").await;
    for number in 1..=3 {
        assert_eq!(run(&*tool, json!({})).await.unwrap().output, format!("{number} 1"));
    }
    world.host.shutdown().await;
}

#[tokio::test]
async fn exception_or_invalid_result_fails_the_tool() {
    let world = World::new(&[
        ("tools/raises.py", &tool_file("raises", "raise ValueError('no way')")),
        ("tools/odd.py", &tool_file("odd", "return object()")),
        ("tools/broken.py", "this is not python"),
    ]);
    let described = world.described().await;
    assert_eq!(described.offer.faults.len(), 1, "{:?}", described.offer.faults);
    assert!(described.offer.faults[0].path.ends_with("tools/broken.py"));
    let tools = world.host.tools(&world.plugin.list()[0], &described.offer);
    let named = |name: &str| tools.iter().find(|tool| tool.spec().name == name).unwrap();
    let raised = run(&**named("raises"), json!({})).await.unwrap();
    assert_eq!((raised.success, raised.error.as_deref()), (false, Some("ValueError: no way")));
    assert!(world.heard().contains("in execute"), "the traceback is shown");
    let odd = run(&**named("odd"), json!({})).await.unwrap();
    let error = Some("the tool returned a object where a ToolResult belongs");
    assert_eq!((odd.success, odd.error.as_deref()), (false, error));
    assert!(odd.output.contains("object at"), "{odd:?}");
    world.host.shutdown().await;
}

#[tokio::test]
async fn changed_file_is_described_and_run_again() {
    let file = |text: &str| tool_file("greet", &format!("return ToolResult(True, '{text}')"));
    let world = World::new(&[("tools/greet.py", &file("old"))]);
    assert_eq!(run(&*world.tool("greet").await, json!({})).await.unwrap().output, "old");
    write(&world.plugin.facts.root.join("tools/greet.py"), &file("changed"));
    write(&world.plugin.facts.root.join("tools/more.py"), &tool_file("more", "return None"));
    assert_eq!(world.tools().await.len(), 2);
    assert_eq!(run(&*world.tool("greet").await, json!({})).await.unwrap().output, "changed");
    world.host.shutdown().await;
}

#[tokio::test]
async fn changed_description_replaces_the_tool() {
    let file = tool_file("greet", "Tool.count += 1; return ToolResult(True, '')")
        .replace("    description = 'does something'\n", "")
        + "    @property\n    def description(self):\n        return f'used {Tool.count} times'\n    \
           @property\n    def requires_permission(self):\n        return Tool.count > 0\n";
    let world = World::new(&[("tools/greet.py", &file)]);
    let tool = world.tool("greet").await;
    assert_eq!(
        (tool.spec().description.as_str(), tool.spec().requires_permission),
        ("used 0 times", false)
    );
    run(&*tool, json!({})).await.unwrap();
    assert!(world.host.take_changed_tool());
    let spec = tool.spec();
    assert_eq!((spec.description.as_str(), spec.requires_permission), ("used 1 times", true));
    assert!(!world.host.take_changed_tool());
    world.host.shutdown().await;
}

#[tokio::test]
async fn calls_of_one_worker_run_concurrently() {
    let body = "Tool.count += 1\n        while Tool.count < 2: await asyncio.sleep(0)\n        \
                return ToolResult(True, 'met')";
    let world = World::new(&[("tools/meet.py", &tool_file("meet", body))]);
    let tool = world.tool("meet").await;
    let (one, two) = tokio::join!(run(&*tool, json!({})), run(&*tool, json!({})));
    assert_eq!((one.unwrap().output.as_str(), two.unwrap().output.as_str()), ("met", "met"));
    world.host.shutdown().await;
}

#[tokio::test]
async fn plugin_sees_only_profile_environment_variables() {
    let body = "return ToolResult(True, str([os.environ.get('SECRET'), os.environ.get('OTHER'), \
                os.environ['BRYNHILD_PLUGIN_NAME'], os.getcwd(), sys.path[0].endswith('shim')]))";
    let mut world = World::new(&[("tools/look.py", &tool_file("look", body))]);
    world.plugin.env.insert("SECRET".into(), "s".into());
    let output = run(&*world.tool("look").await, json!({})).await.unwrap().output;
    let cwd = world.directory.path().join("work").canonicalize().unwrap();
    let expected = format!("['s', None, 'demo', '{}', True]", cwd.display());
    assert_eq!(output, expected);
    world.host.shutdown().await;
}
