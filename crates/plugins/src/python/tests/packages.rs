//! Packages that a plugin declares, and interpreters.

use serde_json::json;

use super::*;

/// Writes a wheel that holds one module.
const WHEEL: &str = "import sys, zipfile\n\
    z = zipfile.ZipFile(sys.argv[1], 'w')\n\
    z.writestr('fruit.py', 'KIND = \"apple\"\\n')\n\
    z.writestr('fruit-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: fruit\\nVersion: 1.0\\n')\n\
    z.writestr('fruit-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\n\
    Root-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
    z.writestr('fruit-1.0.dist-info/RECORD', '')\n\
    z.close()\n";

#[expect(clippy::disallowed_methods, reason = "the test makes a package with plain Python")]
fn wheel(folder: &Path) -> String {
    let file = folder.join("fruit-1.0-py3-none-any.whl");
    let made = std::process::Command::new("/usr/bin/env")
        .args(["python3", "-c", WHEEL])
        .arg(&file)
        .status()
        .unwrap();
    assert!(made.success());
    format!("fruit @ file://{}", file.display())
}

fn fruit_tool() -> String {
    tool_file("fruit", "import fruit; return ToolResult(True, fruit.KIND)")
}

#[tokio::test]
async fn declared_packages_are_installed_when_they_are_first_needed() {
    let mut world = World::new(&[("tools/fruit.py", &format!("import fruit\n{}", fruit_tool()))]);
    world.plugin.manifest.dependencies = vec![wheel(world.folder.path())];
    let plugin = [&world.plugin];
    let reported = world.hosts.describe(&plugin, Missing::Report).await.pop().unwrap();
    assert!(reported.needs_install && reported.tools.is_empty());
    assert!(reported.problems[0].what.contains("not installed yet: fruit @ file"), "{reported:?}");
    let tool = world.tool("fruit").await;
    assert_eq!(run(&*tool, json!({})).await.unwrap().output, "apple");
    world.hosts.shutdown().await;
    let kept = world.again().described(&plugin).pop().unwrap().unwrap();
    assert_eq!(kept.tools.len(), 1);
}

#[tokio::test]
async fn packages_that_cannot_be_installed_cost_one_message_with_the_last_of_pip() {
    let mut world = World::new(&[("tools/fruit.py", &fruit_tool())]);
    world.plugin.manifest.dependencies =
        vec!["fruit @ file:///nowhere/fruit-1.0-py3-none-any.whl".into()];
    let described = world.described().await;
    assert_eq!(described.problems.len(), 1);
    let words = &described.problems[0].what;
    assert!(words.contains("could not be installed") && words.contains("ERROR"), "{words}");
    let venvs = fs::read_dir(world.folder.path().join("state/venvs")).unwrap();
    let left: Vec<_> = venvs.filter(|it| it.as_ref().unwrap().path().is_dir()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_python_that_is_missing_or_none_is_said_with_what_to_do() {
    let world = World::new(&[("tools/fruit.py", &fruit_tool())]);
    let mut settings = world.hosts.0.host.settings.clone();
    settings.surroundings.env.insert("PATH".into(), "/nowhere".into());
    let none = Hosts::new(settings.clone()).describe(&[&world.plugin], Missing::Install).await;
    assert!(
        none[0].problems[0].what.contains("there is no `python3`: install Python 3.9"),
        "{none:?}"
    );
    settings.python = Some("/bin/false".into());
    let wrong = Hosts::new(settings).describe(&[&world.plugin], Missing::Install).await;
    assert!(
        wrong[0].problems[0].what.contains("/bin/false does not work as a Python"),
        "{wrong:?}"
    );
}
