//! `plugin install`, `update`, `remove` and `marketplace`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{Project, Run};

use super::{plugin, write};
use crate::project;

fn installed(project: &Project, name: &str) -> PathBuf {
    project.config_directory().join("plugins").join(name)
}

#[expect(clippy::disallowed_methods, reason = "the tests need a process and no sandbox")]
fn program(name: &str) -> Command {
    Command::new(name)
}

/// A repository with everything in a directory committed.
fn commit(directory: &Path) {
    for args in [
        &["init", "-q"][..],
        &["add", "-A"],
        &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "all"],
    ] {
        let status = program("git").args(args).current_dir(directory).status().unwrap();
        assert!(status.success(), "git {args:?}");
    }
}

fn run(project: &Project, args: &[&str]) -> Run {
    project.brynhild(&[&["plugin"], args].concat())
}

#[test]
fn directory_is_installed_updated_and_removed() {
    let project = project();
    plugin(&project.path(), "kit");
    let done = run(&project, &["install", "kit"]);
    assert!(done.success().stdout.contains("Installed kit"), "{done}");
    assert!(installed(&project, "kit").join("plugin.yaml").is_file());
    assert!(run(&project, &["list"]).stdout.contains("All of kit"));
    assert!(run(&project, &["install", "kit"]).stdout.contains("kit is up to date"));

    fs::write(project.path().join("kit/commands/c.md"), "---\ndescription: New\n---\nNew.\n")
        .unwrap();
    let refused = run(&project, &["update", "kit"]);
    assert!(refused.code(3).stdout.contains("~ commands/c.md"), "{refused}");
    let before = fs::read_to_string(installed(&project, "kit").join("commands/c.md")).unwrap();
    assert!(!before.contains("New"), "nothing changes before a yes");
    run(&project, &["update", "kit", "--yes"]).success();
    let after = fs::read_to_string(installed(&project, "kit").join("commands/c.md")).unwrap();
    assert!(after.contains("New"));

    assert!(run(&project, &["remove", "kit"]).code(3).stderr.contains("--yes"));
    run(&project, &["remove", "kit", "--yes"]).success();
    assert!(!installed(&project, "kit").exists());
    assert!(
        run(&project, &["remove", "kit", "--yes"]).code(2).stderr.contains("was not installed")
    );
}

#[test]
fn frozen_install_restores_and_compares() {
    let project = project();
    let repository = project.home().join("source");
    plugin(&repository, "kit");
    let root = repository.join("kit");
    commit(&root);
    let address = format!("file://{}", root.display());
    run(&project, &["install", &address]).success();
    // What the lock names is the commit, not the newest one.
    fs::write(root.join("commands/c.md"), "---\ndescription: Later\n---\nLater.\n").unwrap();
    commit(&root);
    fs::remove_dir_all(installed(&project, "kit")).unwrap();
    run(&project, &["install", "--frozen"]).success();
    let restored = fs::read_to_string(installed(&project, "kit").join("commands/c.md")).unwrap();
    assert!(!restored.contains("Later"));
    fs::write(installed(&project, "kit").join("commands/c.md"), "changed").unwrap();
    let differs = run(&project, &["install", "--frozen"]);
    assert!(differs.code(1).stderr.contains("kit differs from plugins.lock"), "{differs}");
}

#[test]
fn frozen_install_without_a_lock_file_is_misuse() {
    let run = run(&project(), &["install", "--frozen"]);
    assert!(run.code(2).stderr.contains("plugins.lock is missing or empty"), "{run}");
    assert!(run.stderr.contains("copy the lock file"), "{run}");
}

#[test]
fn lock_covers_the_tools_of_servers() {
    let project = project();
    run(&project, &["new", "greeter", "--kind", "mcp"]).success();
    // What it offers depends on a file that is not a part of the locked content.
    let description = "open(f).read() if __import__('os').path.exists(f) else 'Old words'";
    let server = project.read("greeter/server.py");
    let old = "\"description\": \"Make a greeting for somebody\"";
    assert!(server.contains(old), "{server}");
    let server = server.replace(old, &format!("\"description\": {description}"));
    let server =
        server.replacen("GREET =", "f = __file__.replace('server.py', 'venv/f')\nGREET =", 1);
    project.file("greeter/server.py", server);
    run(&project, &["install", "./greeter"]).success();
    let lock = || fs::read_to_string(project.config_directory().join("plugins.lock")).unwrap();
    assert!(!lock().contains("plugin:greeter:greeter"), "an install starts no server");
    run(&project, &["update", "greeter"]).success();
    let first = lock();
    assert!(first.contains("\"plugin:greeter:greeter\": \""), "{first}");
    run(&project, &["install", "--frozen"]).success();
    assert_eq!(lock(), first);

    write(&installed(&project, "greeter").join("venv/f"), "New words");
    let refused = run(&project, &["install", "--frozen"]);
    let message = "the tools of plugin:greeter:greeter differ from plugins.lock";
    assert!(refused.code(1).stderr.contains(message), "{refused}");
    let asked = run(&project, &["update", "greeter"]);
    assert!(asked.code(3).stdout.contains("~ tools of plugin:greeter:greeter"), "{asked}");
    assert!(
        asked.stdout.contains("- Old words") && asked.stdout.contains("+ New words"),
        "{asked}"
    );
    assert!(asked.stderr.contains("are not used"), "{asked}");
    assert_eq!(lock(), first);
    run(&project, &["update", "greeter", "--yes"]).success();
    assert_ne!(lock(), first);
    run(&project, &["install", "--frozen"]).success();
}

#[test]
fn marketplace_entry_can_define_the_plugin() {
    let project = project();
    let shop = project.home().join("shop");
    write(&shop.join("tools/greet/say/hi.md"), "---\ndescription: Greets\n---\nSay hi.\n");
    let list = r#"{"name": "shop", "owner": {"name": "o"}, "plugins": [
        {"name": "greet", "description": "Greets", "source": "./tools/greet", "strict": false,
         "commands": ["./say/hi.md"]},
        {"name": "far", "source": {"source": "command", "command": "x"}}]}"#;
    write(&shop.join(".claude-plugin/marketplace.json"), list);
    commit(&shop);
    let unknown = run(&project, &["install", "greet@shop"]);
    assert!(unknown.code(2).stderr.contains("marketplace add"), "{unknown}");
    for source in [shop.display().to_string(), format!("file://{}", shop.display())] {
        let added = run(&project, &["marketplace", "add", &source]);
        assert!(added.success().stdout.contains("Added shop"), "{added}");
        assert!(run(&project, &["marketplace", "list"]).stdout.contains("greet@shop"));
        run(&project, &["install", "greet@shop", "--yes"]).success();
        let shown = run(&project, &["show", "greet"]);
        assert!(shown.stdout.contains("/greet:hi"), "{shown}");
        let far = run(&project, &["install", "far@shop"]);
        assert!(far.code(2).stderr.contains("`command` are not supported"), "{far}");
        run(&project, &["marketplace", "remove", "shop"]).success();
    }
}

#[test]
fn python_package_gets_its_own_environment() {
    let project = project();
    let directory = project.home().join("wheels");
    fs::create_dir_all(&directory).unwrap();
    testkit::wheel("fruit", &directory);
    let file = format!("pip:{}", directory.join("fruit-1.0-py3-none-any.whl").display());
    let done = run(&project, &["install", &file]);
    assert!(done.success().stdout.contains("+ fruit"), "{done}");
    let environment = project.config_directory().join("plugin-packages/fruit");
    assert!(environment.join("pyvenv.cfg").is_file());
    run(&project, &["remove", "fruit", "--yes"]).success();
    assert!(!environment.exists());
    let missing = run(&project, &["install", "pip:./no-such-wheel.whl"]);
    assert!(missing.code(1).stderr.contains("pip failed"), "{missing}");
}

#[test]
fn npm_package_is_installed_without_its_scripts() {
    if program("npm").arg("--version").output().is_err() {
        return;
    }
    let project = project();
    let package = project.home().join("package");
    plugin(&package, "kit");
    let root = package.join("kit");
    let json = r#"{"name": "kit", "version": "1.2.3", "scripts": {"prepack": "touch ran"}}"#;
    write(&root.join("package.json"), json);
    let archive = program("npm")
        .args(["pack", "--silent", "--ignore-scripts"])
        .current_dir(&root)
        .output()
        .unwrap();
    let archive = String::from_utf8(archive.stdout).unwrap();
    let done = run(&project, &["install", &format!("npm:{}", root.join(archive.trim()).display())]);
    assert!(done.success().stdout.contains("Installed kit"), "{done}");
    assert!(!installed(&project, "kit").join("ran").exists());
}

#[test]
fn foreign_or_missing_sources_are_refused() {
    let project = project();
    plugin(&project.config_directory().join("plugins"), "own");
    plugin(&project.path(), "own");
    let taken = run(&project, &["install", "own"]);
    assert!(taken.code(2).stderr.contains("was not installed by this command"), "{taken}");
    fs::create_dir(project.path().join("empty")).unwrap();
    assert!(run(&project, &["install", "empty"]).code(1).stderr.contains("there is no plugin"));
    for text in ["nothing", "ext::sh -c touch% x.git", "--upload-pack=x.git"] {
        let refused = run(&project, &["install", "--", text]);
        assert!(refused.code(2).stderr.contains("names no plugin"), "{refused}");
    }
    let gone = run(&project, &["install", "file:///nowhere/at/all.git"]);
    assert!(gone.code(1).stderr.contains("git failed"), "{gone}");
}
