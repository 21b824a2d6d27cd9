//! Fixtures of the tests: plugins, surroundings, and processes without confinement.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use contract::policy::Mode;
use contract::python::{PythonFacts, PythonPlugin, SharedPlugin};
use contract::sandbox::{Access, Limits, Network, Profile};
use files::surroundings::Surroundings;
use serde_json::{Map, Value, json};
use testkit::Plain;

use crate::hash::short_hash;
use crate::host::Host;
use crate::settings::Settings;

/// A plugin in our own dialect.
#[derive(Clone)]
pub(crate) struct Plugin {
    pub(crate) facts: PythonFacts,
    pub(crate) tools: bool,
    pub(crate) providers: bool,
    pub(crate) env: BTreeMap<String, String>,
}

impl Plugin {
    /// A plugin with a directory and nothing in it.
    pub(crate) fn new(base: &Path, name: &str) -> Self {
        let root = base.join(name);
        fs::create_dir_all(&root).unwrap();
        let facts = PythonFacts {
            name: name.into(),
            root,
            data: base.join("data").join(name),
            adapter: "brynhild",
            ..PythonFacts::default()
        };
        Self { facts, tools: false, providers: false, env: BTreeMap::new() }
    }

    /// As the host takes it.
    pub(crate) fn list(&self) -> [SharedPlugin; 1] {
        [Arc::new(self.clone())]
    }
}

impl PythonPlugin for Plugin {
    fn facts(&self) -> &PythonFacts {
        &self.facts
    }

    fn initialize(&self) -> Map<String, Value> {
        let facts = &self.facts;
        let plugin = json!({"name": facts.name, "version": "1.0.0", "root": facts.root,
            "data": facts.data, "tools": self.tools, "files": [], "providers": self.providers,
            "entry_points": [], "package": null});
        Map::from_iter([("plugin".to_owned(), plugin), ("settings".to_owned(), json!({}))])
    }

    fn profile(&self, _: Mode) -> (Profile, Vec<String>) {
        let env = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("BRYNHILD_PLUGIN_NAME", "demo")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut profile = profile(&self.facts.root);
        profile.env = env.into_iter().chain(self.env.clone()).collect();
        (profile, Vec::new())
    }

    fn files(&self) -> Option<[String; 2]> {
        let mut content = String::new();
        read_all(&self.facts.root, &mut content);
        let hash = short_hash(content.as_bytes());
        Some([hash.clone(), hash])
    }

    fn advice(&self, _: &str, _: Mode) -> Option<String> {
        None
    }
}

fn read_all(directory: &Path, content: &mut String) {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        content.push_str(path.to_str().unwrap());
        if path.is_dir() {
            read_all(&path, content);
        } else {
            content.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap()));
        }
    }
}

/// A profile without any grant.
pub(crate) fn profile(workspace: &Path) -> Profile {
    Profile {
        workspace: workspace.to_owned(),
        access: Access::ReadOnly,
        read: Vec::new(),
        write: Vec::new(),
        own: Vec::new(),
        fixed: Vec::new(),
        network: Network::None,
        env: BTreeMap::new(),
        limits: Limits::default(),
    }
}

/// Lines of output.
pub(crate) type Heard = Arc<Mutex<Vec<String>>>;

/// The settings of an unconfined host, and the output of its plugins.
pub(crate) fn settings(base: &Path) -> (Settings, Heard) {
    for name in ["home", "work/.git"] {
        fs::create_dir_all(base.join(name)).unwrap();
    }
    let pairs = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let path = ("PATH", "/usr/local/bin:/usr/bin:/bin");
    let surroundings = Surroundings {
        workspace: base.join("work"),
        cwd: base.join("work"),
        env: pairs(&[path, ("PYTHONPATH", "/evil")]),
        variables: pairs(&[path, ("PIP_NO_INDEX", "1")]),
        home: Some(base.join("home")),
    };
    let heard = Heard::default();
    let ear = Arc::clone(&heard);
    let settings = Settings {
        state: base.join("state"),
        sandbox: Arc::new(Plain::default()),
        surroundings,
        environment: String::new(),
        mode: Mode::Normal,
        python: None,
        config: json!({}),
        on_output: Arc::new(move |_, line| ear.lock().unwrap().push(line.to_owned())),
        on_progress: Arc::new(|_, _| {}),
        tracebacks: crate::Tracebacks::Author,
    };
    (settings, heard)
}

/// An unconfined host, and the output of its plugins.
pub(crate) fn host(base: &Path) -> (Host, Heard) {
    let (settings, heard) = settings(base);
    (Host::new(settings), heard)
}
