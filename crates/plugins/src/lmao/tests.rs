//! Plugins of one directory, with a host that tells what their manifests say.

use std::fs;
use std::sync::Mutex;
use std::time::Duration;

use contract::action::Action;
use contract::policy::Mode;
use contract::python::PythonPlugin;
use contract::tool::{Recovery, Risk, ToolError, ToolSpec, Traits};
use futures::FutureExt as _;
use serde_json::json;

use super::*;
use crate::directories::Directories;
use crate::python::{Python, Settings};
use crate::tests::fixture::{Offering, surroundings};

struct Yard {
    directory: tempfile::TempDir,
    host: Arc<Offering>,
    conditions: Conditions,
}

/// A description of plugins whose files contain their facts as JSON.
fn offer(plugin: &dyn PythonPlugin) -> PythonOffer {
    let mut offer = PythonOffer { plugin: plugin.facts().name.clone(), ..PythonOffer::default() };
    let mut facts = serde_json::Map::new();
    for file in plugin.initialize()["plugin"]["files"].as_array().unwrap() {
        let file = file.as_str().unwrap();
        let text = fs::read_to_string(file).unwrap();
        let mut said: Value = serde_json::from_str(text.lines().nth(1).unwrap_or("{}")).unwrap();
        said["file"] = file.into();
        said["visible_to_agent"] = true.into();
        let spec = ToolSpec {
            name: said["name"].as_str().unwrap().to_owned(),
            description: "d".into(),
            input_schema: json!({"type": "object"}).into(),
            version: "0.0.0".into(),
            categories: Vec::new(),
            requires_permission: true,
            risk_level: Risk::Mutating,
            recovery_policy: Recovery::Confirm,
            parallel: false,
            source: String::new(),
            traits: Traits::default(),
        };
        offer.tools.push(PythonTool { key: file.to_owned(), spec, live: false });
        facts.insert(file.to_owned(), said);
    }
    offer.rest = json!({"lmao": {"tools": facts, "unloaded": []}});
    offer
}

impl Yard {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("work")).unwrap();
        let conditions = Conditions {
            workspace: directory.path().join("work").canonicalize().unwrap(),
            home: Some(directory.path().join("home")),
            approves_all: false,
            is_headless: false,
            is_verbose: false,
            state: directory.path().join("state"),
        };
        let host = Arc::new(Offering { mode: Mutex::new(Mode::Normal), offer });
        Self { directory, host, conditions }
    }

    /// Writes a plugin; its second line holds what its manifest says.
    fn plugin(&self, name: &str, manifest: &Value) -> &Self {
        let directory = self.directory.path().join("plugins").join(name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("tool.py"), format!("PLUGIN = \\\n{manifest}\n")).unwrap();
        self
    }

    fn set_mode(&self, mode: Mode) {
        *self.host.mode.lock().unwrap() = mode;
    }

    fn members(&self) -> Vec<Plugin> {
        let found = find(&self.directory.path().join("plugins"), &Directories::default());
        found.iter().map(|candidate| member(candidate, Place::Global)).collect()
    }

    async fn open(&self, members: Vec<Plugin>) -> Lmao {
        let path = self.directory.path().join("plugins").canonicalize().unwrap();
        let directory = Directory { path, place: Place::Global, members };
        let settings = Settings {
            data: self.directory.path().join("data"),
            is_confined: false,
            surroundings: surroundings(self.directory.path()),
            directories: Arc::default(),
            sites: Vec::new(),
        };
        let python = Python::new(Arc::clone(&self.host) as _, settings);
        Lmao::open(python, vec![directory], self.conditions.clone()).await
    }
}

#[tokio::test]
async fn modes_gate_tools_by_the_truth_table() {
    let yard = Yard::new();
    let manifest = |name: &str, is_destructive, in_read_only, in_normal, confirm| {
        json!({"name": name, "is_destructive": is_destructive, "allow_in_read_only": in_read_only,
               "allow_in_normal": in_normal, "always_confirm": confirm})
    };
    yard.plugin("look", &manifest("look", false, true, true, false))
        .plugin("change", &manifest("change", true, false, true, false))
        .plugin("odd", &manifest("odd", true, true, false, true));
    let lmao = yard.open(yard.members()).await;
    assert_eq!(lmao.problems().count(), 0, "{:?}", lmao.problems().collect::<Vec<_>>());
    let tools = lmao.tools();
    let call = contract::message::ToolCall {
        id: contract::id::CallId("c".into()),
        name: String::new(),
        args: json!({}),
        opaque: None,
    };
    for (mode, allowed, asked) in [
        (Mode::ReadOnly, ["look", "odd"].as_slice(), ["odd"].as_slice()),
        (Mode::Normal, &["change", "look"], &["odd"]),
        (Mode::Yolo, &["change", "look", "odd"], &[]),
    ] {
        yard.set_mode(mode);
        let names = |fits: &dyn Fn(&Arc<dyn Tool>) -> bool| -> Vec<String> {
            tools.iter().filter(|tool| fits(tool)).map(|tool| tool.spec().name.clone()).collect()
        };
        assert_eq!(names(&|tool| !tool.spec().traits.unoffered), allowed, "{mode:?}");
        assert_eq!(names(&|tool| tool.actions(&json!({})).is_ok()), allowed, "{mode:?}");
        assert_eq!(
            names(&|tool| tool.caution(&call).now_or_never().flatten().is_some()),
            asked,
            "{mode:?}"
        );
    }
    yard.set_mode(Mode::ReadOnly);
    let change = tools.iter().find(|tool| tool.spec().name == "change").unwrap();
    let Err(ToolError::Input(why)) = change.actions(&json!({"target": "x"})) else { panic!() };
    assert_eq!(why, "plugin 'change' is not allowed in read-only mode");
    yard.set_mode(Mode::Normal);
    let Err(ToolError::Input(why)) = change.actions(&json!({"target": "../x"})) else { panic!() };
    assert_eq!(why, "target path '../x' escapes working directory");
    let actions = change.actions(&json!({"target": ".git/config"})).unwrap().actions;
    assert!(matches!(&actions[1], Action::Write { path, .. } if path.ends_with(".git/config")));
    yard.set_mode(Mode::Yolo);
    assert_eq!(change.actions(&json!({"target": "../x"})).unwrap().actions.len(), 1);
}

#[tokio::test]
async fn grants_to_one_plugin_do_not_reach_its_neighbors() {
    let yard = Yard::new();
    for name in ["a", "b", "c", "d"] {
        yard.plugin(name, &json!({"name": name}));
    }
    let mut members = yard.members();
    members[1].settings.grants.write = vec![".".into()];
    members[3].settings.timeout = Some(Duration::from_secs(9));
    let lmao = yard.open(members).await;
    let groups: Vec<(&str, usize)> =
        lmao.groups.iter().map(|group| (group.plugin.name(), group.members.len())).collect();
    assert_eq!(groups, [("lmao", 2), ("b", 1), ("d", 1)]);
    let sources: Vec<String> = lmao.tools().iter().map(|tool| tool.spec().source.clone()).collect();
    assert_eq!(sources, ["a", "c", "b", "d"]);
}

#[test]
fn files_are_found_at_any_depth_except_in_other_plugins() {
    let yard = Yard::new();
    for name in ["one", "deep/er/two", "theirs", ".hidden", "venv/lib", "deep/plain"] {
        yard.plugin(name, &json!({}));
    }
    let top = yard.directory.path().join("plugins");
    fs::write(top.join("theirs/plugin.yaml"), "name: theirs").unwrap();
    fs::write(top.join("deep/plain/tool.py"), "import sys").unwrap();
    std::os::unix::fs::symlink(top.join("one"), top.join("same")).unwrap();
    let names: Vec<String> =
        find(&top, &Directories::default()).into_iter().map(|found| found.name).collect();
    assert_eq!(names, ["two", "one"]);
    assert_eq!(find(&top.join("one"), &Directories::default())[0].name, "one");
    assert!(find(&top.join("none"), &Directories::default()).is_empty());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the adapter is a module of Python")]
fn reference_lists_the_supported_hooks() {
    const SCRIPT: &str = r#"
import sys
sys.path.insert(0, sys.argv[1])
from moments import LOGGING, MOMENTS, UNASKED, UNUSED
print("| hook | support | reason |\n|---|---|---|")
for name in dict.fromkeys(sum(MOMENTS.values(), ()) + LOGGING):
    print("| `%s` | yes | |" % name)
for name, reason in UNASKED.items():
    print("| `%s` | no | %s |" % (name, reason))
print("| any other | no | %s |" % UNUSED)
"#;
    let adapter = concat!(env!("CARGO_MANIFEST_DIR"), "/../python-host/python/adapters/lmao");
    let python = std::process::Command::new("python3").args(["-B", "-c", SCRIPT, adapter]).output();
    let python = python.unwrap();
    assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stderr));
    let table = String::from_utf8(python.stdout).unwrap();
    crate::tests::fixture::check_reference("plugin-systems.md", "lmao", &table);
}
