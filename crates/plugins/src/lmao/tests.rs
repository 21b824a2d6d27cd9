//! Plugins of one directory, through a worker without walls.

use std::fs;
use std::time::Duration;

use contract::policy::{Action, Mode};
use contract::tool::ToolError;
use futures::FutureExt as _;
use serde_json::json;

use super::*;
use crate::python::fixture;

struct Yard {
    directory: tempfile::TempDir,
    hosts: Hosts,
    conditions: Conditions,
}

impl Yard {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (hosts, _) = fixture::hosts(directory.path());
        let conditions = Conditions {
            workspace: directory.path().join("work").canonicalize().unwrap(),
            home: Some(directory.path().join("home")),
            approves_all: false,
            is_headless: false,
            is_verbose: false,
        };
        Self { directory, hosts, conditions }
    }

    fn plugin(&self, name: &str, manifest: &str) -> &Self {
        let directory = self.directory.path().join("plugins").join(name);
        fs::create_dir_all(&directory).unwrap();
        let run = "def run(target, args, base, extra_roots, skill_roots, debug_logger=None, meta=None):\n    \
                   return '{\"success\": true}'\n";
        fs::write(directory.join("tool.py"), format!("PLUGIN = {manifest}\n{run}")).unwrap();
        self
    }

    fn members(&self) -> Vec<Plugin> {
        let found = find(&self.directory.path().join("plugins"), &Directories::default());
        found.iter().map(|candidate| member(candidate, Place::Global)).collect()
    }

    async fn open(&self, members: Vec<Plugin>) -> Lmao {
        let path = self.directory.path().join("plugins").canonicalize().unwrap();
        let directory = Directory { path, place: Place::Global, members };
        let (hosts, conditions) = (self.hosts.clone(), self.conditions.clone());
        Lmao::open(hosts, vec![directory], conditions, &Directories::default()).await
    }
}

#[tokio::test]
async fn modes_gate_tools_by_the_truth_table() {
    let yard = Yard::new();
    yard.plugin("look", r#"{"name": "look", "description": "d"}"#)
        .plugin("change", r#"{"name": "change", "description": "d", "is_destructive": True}"#)
        .plugin(
            "odd",
            r#"{"name": "odd", "description": "d", "is_destructive": True,
                "allow_in_read_only": True, "allow_in_normal": False, "allow_in_yolo": False,
                "always_confirm": True}"#,
        );
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
        yard.hosts.set_mode(mode);
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
    yard.hosts.set_mode(Mode::ReadOnly);
    let change = tools.iter().find(|tool| tool.spec().name == "change").unwrap();
    let Err(ToolError::Input(why)) = change.actions(&json!({"target": "x"})) else { panic!() };
    assert_eq!(why, "plugin 'change' is not allowed in read-only mode");
    yard.hosts.set_mode(Mode::Normal);
    let Err(ToolError::Input(why)) = change.actions(&json!({"target": "../x"})) else { panic!() };
    assert_eq!(why, "target path '../x' escapes working directory");
    let actions = change.actions(&json!({"target": ".git/config"})).unwrap().actions;
    assert!(matches!(&actions[1], Action::Write { path, .. } if path.ends_with(".git/config")));
    yard.hosts.set_mode(Mode::Yolo);
    assert_eq!(change.actions(&json!({"target": "../x"})).unwrap().actions.len(), 1);
    yard.hosts.shutdown().await;
}

#[tokio::test]
async fn what_was_granted_to_one_plugin_is_not_granted_to_its_neighbors() {
    let yard = Yard::new();
    for name in ["a", "b", "c", "d"] {
        yard.plugin(name, &format!(r#"{{"name": "{name}", "description": "d"}}"#));
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
    yard.hosts.shutdown().await;
}

#[test]
fn files_are_found_at_any_depth_and_plugins_of_others_are_left_alone() {
    let yard = Yard::new();
    yard.plugin("one", "{}").plugin("deep/er/two", "{}").plugin("theirs", "{}");
    yard.plugin(".hidden", "{}").plugin("venv/lib", "{}").plugin("deep/plain", "{}");
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
