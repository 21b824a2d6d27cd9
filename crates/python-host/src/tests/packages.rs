//! Packages that a plugin declares, and interpreters.

use serde_json::json;

use super::*;

fn fruit_tool() -> String {
    tool_file("fruit", "import fruit; return ToolResult(True, fruit.KIND)")
}

#[tokio::test]
async fn declared_packages_are_installed_when_they_are_first_needed() {
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
    assert!(kept.offer.tools.len() == 1 && !kept.is_pretended);
}

#[tokio::test]
async fn packages_that_cannot_be_installed_cost_one_message_with_the_last_of_pip() {
    let mut world = World::new(&[("tools/fruit.py", &fruit_tool())]);
    world.plugin.facts.requirements.0 =
        vec!["fruit @ file:///nowhere/fruit-1.0-py3-none-any.whl".into()];
    // Its file loads without them, so that only a call wants them.
    let tool = world.tool("fruit").await;
    let words = run(&*tool, json!({})).await.unwrap_err().to_string();
    assert!(words.contains("could not be installed") && words.contains("ERROR"), "{words}");
    let file = world.plugin.facts.root.join("tools/fruit.py");
    // What it says of itself depends on them.
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
async fn a_python_that_is_missing_or_none_is_said_with_what_to_do() {
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

const UNDECLARED: [(&str, &str); 3] = [
    ("tools/first.py", "import watchfiles\n"),
    ("tools/second.py", ""),
    ("tools/third.py", "try:\n    import textual\nexcept ImportError:\n    textual = None\n"),
];

/// A plugin that imports packages without a word, and a host that finds packages in its directory
/// alone.
fn undeclared() -> (World, Settings) {
    let nested = "import watchfiles; return ToolResult(True, watchfiles.KIND)";
    let files = UNDECLARED.map(|(file, head)| {
        let name = file.split(['/', '.']).nth(1).unwrap();
        (file, format!("{head}{}", tool_file(name, nested)))
    });
    let world = World::new(&files.each_ref().map(|(file, text)| (*file, text.as_str())));
    let mut settings = world.settings();
    let links = world.directory.path().display().to_string();
    let variables = &mut settings.surroundings.variables;
    variables.insert("PIP_NO_INDEX".into(), "1".into());
    variables.insert("PIP_FIND_LINKS".into(), links);
    (world, settings)
}

#[tokio::test]
async fn a_well_known_package_that_is_not_declared_is_installed_as_if_it_were() {
    let (world, settings) = undeclared();
    testkit::wheel("watchfiles", world.directory.path());
    let plugin = world.plugin.list();
    let host = Host::new(settings.clone());
    let reported = host.describe(&plugin, Missing::Report).await.pop().unwrap();
    assert!(reported.needs_install && reported.offer.tools.len() == 3, "{reported:?}");
    let described = host.describe(&plugin, Missing::Install).await.pop().unwrap();
    assert!(described.offer.faults.is_empty(), "{:?}", described.offer.faults);
    for tool in host.tools(&plugin[0], &described.offer) {
        assert_eq!(run(&*tool, json!({})).await.unwrap().output, "apple");
    }
    host.shutdown().await;
    let later = Host::new(settings);
    let kept = later.describe(&plugin, Missing::Install).await.pop().unwrap();
    assert_eq!(kept.offer.tools, described.offer.tools);
    let tool = later.tools(&plugin[0], &kept.offer).pop().unwrap();
    assert_eq!(run(&*tool, json!({})).await.unwrap().output, "apple");
    later.shutdown().await;
}

#[tokio::test]
async fn a_package_that_cannot_be_had_fails_a_call_and_is_not_tried_again_at_once() {
    let (world, mut settings) = undeclared();
    let heard = Heard::default();
    let ear = Arc::clone(&heard);
    settings.on_progress = Arc::new(move |_, line| ear.lock().unwrap().push(line.to_owned()));
    let tried = || {
        let heard = std::mem::take(&mut *heard.lock().unwrap());
        heard.iter().filter(|line| line.starts_with("installing")).count()
    };
    for attempts in [1, 0] {
        let host = Host::new(settings.clone());
        let described = host.describe(&world.plugin.list(), Missing::Install).await.pop().unwrap();
        assert!(described.offer.faults.is_empty(), "{:?}", described.offer.faults);
        assert_eq!((described.offer.tools.len(), tried()), (3, 0));
        let tools = host.tools(&world.plugin.list()[0], &described.offer);
        let first = run(&*tools[0], json!({})).await;
        let words = first.map_or_else(|error| error.to_string(), |output| output.for_model());
        assert!(words.contains("No module named 'watchfiles'"), "{words}");
        assert_eq!(tried(), attempts);
        host.shutdown().await;
    }
}
