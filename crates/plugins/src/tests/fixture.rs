//! Fixtures of several dialects: plugins, surroundings, and a host that runs nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ::files::surroundings::Surroundings;
use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::policy::Mode;
use contract::python::{PythonHost, PythonOffer, PythonPlugin, PythonTool, SharedPlugin};
use contract::tool::{Plan, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::Value;

use crate::plugin::{Manifest, Place, Plugin, PluginSettings};

/// A plugin with a directory and nothing in it.
pub(crate) fn plugin(base: &Path, name: &str) -> Plugin {
    let root = base.join(name);
    fs::create_dir_all(&root).unwrap();
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
        fs::create_dir_all(base.join(name)).unwrap();
    }
    let pairs = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let path = ("PATH", "/usr/local/bin:/usr/bin:/bin");
    Surroundings {
        workspace: base.join("work"),
        cwd: base.join("work"),
        env: pairs(&[path, ("PYTHONPATH", "/evil")]),
        variables: pairs(&[("SECRET", "s"), path]),
        home: Some(base.join("home")),
    }
}

/// A host that runs nothing: each plugin offers what `offer` makes of it.
pub(crate) struct Offering {
    pub(crate) mode: Mutex<Mode>,
    pub(crate) offer: fn(&dyn PythonPlugin) -> PythonOffer,
}

#[async_trait]
impl PythonHost for Offering {
    async fn describe(&self, plugins: &[SharedPlugin]) -> Vec<PythonOffer> {
        plugins.iter().map(|plugin| (self.offer)(&**plugin)).collect()
    }

    fn tool(&self, _: SharedPlugin, tool: PythonTool) -> Arc<dyn Tool> {
        Arc::new(Silent(tool.spec.into()))
    }

    async fn ask(&self, _: &SharedPlugin, _: &str, _: Value) -> Result<Value, String> {
        Err("it runs nothing".to_owned())
    }

    fn retain(&self, _: &str, _: &[SharedPlugin]) {}

    async fn stop(&self, _: &SharedPlugin) {}

    fn mode(&self) -> Mode {
        *self.mode.lock().unwrap()
    }

    async fn interpreter(&self) -> Option<(PathBuf, Vec<PathBuf>)> {
        None
    }

    async fn shutdown(&self) {}
}

/// A tool that does nothing.
struct Silent(Arc<ToolSpec>);

#[async_trait]
impl Tool for Silent {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.0)
    }

    fn actions(&self, _: &Value) -> Result<Plan, ToolError> {
        Ok(Plan::from(vec![Action::Opaque { what: self.0.name.clone() }]))
    }

    async fn run(&self, _: &ToolCall, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::success(""))
    }
}

/// Compares a part of a page in `docs/reference`, from `<!-- generated: MARK -->` to
/// `<!-- end -->`, with its current text. `UPDATE=1` writes it.
pub(crate) fn check_reference(page: &str, mark: &str, current: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page);
    let text = fs::read_to_string(&path).unwrap();
    let begin = format!("<!-- generated: {mark} -->\n");
    let (before, rest) = text.split_once(&begin).expect("the mark");
    let (_, after) = rest.split_once("<!-- end -->").expect("the end");
    let wanted = format!("{before}{begin}\n{current}\n<!-- end -->{after}");
    #[expect(clippy::disallowed_methods, reason = "the one switch of these tests")]
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &wanted).unwrap();
    } else {
        let hint = "run `UPDATE=1 cargo test -p plugins reference`";
        assert!(text == wanted, "docs/reference/{page} is stale; {hint}");
    }
}
