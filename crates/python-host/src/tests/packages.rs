//! Packages that a plugin declares, and interpreters.

use serde_json::json;

use super::*;

fn fruit_tool() -> String {
    tool_file("fruit", "import fruit; return ToolResult(True, fruit.KIND)")
}

#[tokio::test]
async fn declared_packages_are_installed_on_first_use() {
    let mut world = World::new(&[("tools/fruit.py", &format!("import fruit\n{}", fruit_tool()))]);
    world.plugin.facts.requirements.0 = vec![testkit::wheel("fruit", world.directory.path())];
    let plugin = world.plugin.list();
    let reported = world.host.describe(&plugin, Missing::Report).await.pop().unwrap();
    assert!(reported.offer.tools.len() == 1 && reported.offer.faults.is_empty(), "{reported:?}");
    let venvs = world.directory.path().join("state/venvs");
    assert!(!venvs.exists(), "stand-ins are enough to describe it");
    let tool = world.tool("fruit").await;
    assert!(!venvs.exists());
    assert_eq!(run(&*tool, json!({})).await.unwrap().output, "apple");
    world.host.shutdown().await;
    let again = world.again();
    assert_eq!(again.describe(&plugin, Missing::Report).await[0].offer.tools.len(), 1);
    again.shutdown().await;
    let kept = world.again().described(&plugin).pop().unwrap().unwrap();
    assert_eq!(kept.offer.tools.len(), 1);
}

#[tokio::test]
async fn failed_install_is_one_message_with_the_end_of_pips() {
    let mut world = World::new(&[("tools/fruit.py", &fruit_tool())]);
    world.plugin.facts.requirements.0 =
        vec!["fruit @ file:///nowhere/fruit-1.0-py3-none-any.whl".into()];
    // Its file loads without them, so that only a call wants them.
    let tool = world.tool("fruit").await;
    let words = run(&*tool, json!({})).await.unwrap_err().to_string();
    assert!(words.contains("could not be installed") && words.contains("ERROR"), "{words}");
    let file = world.plugin.facts.root.join("tools/fruit.py");
    // Its description depends on the packages.
    fs::write(file, format!("import fruit\nKIND = str(fruit.KIND)\n{}", fruit_tool())).unwrap();
    let described = world.described().await;
    assert_eq!(described.offer.faults.len(), 1);
    let words = &described.offer.faults[0].what;
    assert!(words.contains("could not be installed") && words.contains("ERROR"), "{words}");
    let venvs = fs::read_dir(world.directory.path().join("state/venvs")).unwrap();
    let left: Vec<_> = venvs.filter(|it| it.as_ref().unwrap().path().is_dir()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn missing_or_invalid_python_is_reported_with_a_hint() {
    let world = World::new(&[("tools/fruit.py", &fruit_tool())]);
    let mut settings = world.settings();
    settings.surroundings.env.insert("PATH".into(), "/nowhere".into());
    let none = Host::new(settings.clone()).describe(&world.plugin.list(), Missing::Install).await;
    assert!(
        none[0].offer.faults[0]
            .what
            .contains("there is no `python3` outside of the project: install Python 3.9"),
        "{none:?}"
    );
    settings.python = Some("/bin/false".into());
    let wrong = Host::new(settings).describe(&world.plugin.list(), Missing::Install).await;
    assert!(
        wrong[0].offer.faults[0].what.contains("/bin/false does not work as a Python"),
        "{wrong:?}"
    );
}

#[tokio::test]
async fn listed_packages_are_installed_only_if_a_file_needs_them() {
    for (head, is_needed) in [("import fruit\n", true), ("", false)] {
        let body = "return ToolResult(True, sys.prefix)";
        let file = format!("{head}{}", tool_file("look", body));
        let mut world = World::new(&[("tools/look.py", &file)]);
        let wheel = testkit::wheel("fruit", world.directory.path());
        let list = world.plugin.facts.root.join("requirements.txt");
        write(&list, &wheel);
        world.plugin.facts.requirements.1 = vec![list];
        let tool = world.tool("look").await;
        let venvs = world.directory.path().join("state/venvs").display().to_string();
        let prefix = run(&*tool, json!({})).await.unwrap().output;
        assert_eq!(prefix.starts_with(&venvs), is_needed, "{prefix}");
        world.host.shutdown().await;
        // Also in a run that describes it from the cache.
        let again = world.again();
        let offer = again.describe(&world.plugin.list(), Missing::Install).await.remove(0).offer;
        let tool = again.tools(&world.plugin.list()[0], &offer).remove(0);
        assert_eq!(run(&*tool, json!({})).await.unwrap().output, prefix);
        again.shutdown().await;
    }
}

#[tokio::test]
async fn undeclared_package_is_named_in_the_hint() {
    let file = format!("import yaml_of_nowhere\n{}", fruit_tool());
    let world = World::new(&[("tools/fruit.py", &file)]);
    let offer = world.described().await.offer;
    let hint = &offer.faults[0].hint;
    assert!(hint.contains("declare it under `dependencies:`"), "{hint}");
    assert!(!world.directory.path().join("state/venvs").exists());
    world.host.shutdown().await;
}
