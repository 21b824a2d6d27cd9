//! What the tests of this module build on: plugins, surroundings, and processes without walls.

use std::path::Path;
use std::sync::{Arc, Mutex};

use ::files::surroundings::Surroundings;
use contract::policy::Mode;
use serde_json::json;
use testkit::Plain;

use super::{HostSettings, Hosts};
use crate::plugin::{Manifest, Place, Plugin, PluginSettings};

/// A plugin with a directory and nothing in it.
pub(crate) fn plugin(base: &Path, name: &str) -> Plugin {
    let root = base.join(name);
    std::fs::create_dir_all(&root).unwrap();
    let manifest = Manifest { name: name.into(), version: "1.0.0".into(), ..Manifest::default() };
    Plugin {
        manifest,
        root,
        place: Place::Global,
        enabled: true,
        trusted: true,
        settings: PluginSettings::default(),
        package: None,
    }
}

/// A home and a workspace in `base`.
pub(crate) fn surroundings(base: &Path) -> Surroundings {
    for name in ["home", "work/.git"] {
        std::fs::create_dir_all(base.join(name)).unwrap();
    }
    let pairs = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    Surroundings {
        workspace: base.join("work"),
        cwd: base.join("work"),
        env: pairs(&[("PATH", "/usr/local/bin:/usr/bin:/bin"), ("PYTHONPATH", "/evil")]),
        variables: pairs(&[
            ("SECRET", "s"),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("PIP_NO_INDEX", "1"),
        ]),
        home: Some(base.join("home")),
    }
}

/// What was heard.
pub(crate) type Heard = Arc<Mutex<Vec<String>>>;

/// A host without walls, and what its plugins print.
pub(crate) fn hosts(base: &Path) -> (Hosts, Heard) {
    let heard = Heard::default();
    let ear = Arc::clone(&heard);
    let settings = HostSettings {
        state: base.join("state"),
        data: base.join("data"),
        sandbox: Arc::new(Plain::default()),
        is_confined: false,
        surroundings: surroundings(base),
        mode: Mode::Normal,
        python: None,
        config: json!({}),
        model: None,
        on_output: Arc::new(move |_, line| ear.lock().unwrap().push(line.to_owned())),
        on_progress: Arc::new(|_, _| {}),
    };
    (Hosts::new(settings), heard)
}
