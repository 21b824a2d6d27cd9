//! Fixtures of these tests: a project, a sandbox that confines nothing and records its profiles,
//! and a model with a scripted reply.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ::files::surroundings::Surroundings;
use async_trait::async_trait;
use contract::hook::{Hook, HookContext};
use contract::id::SessionId;
use contract::policy::Mode;
use contract::sandbox::{Access, Limits, Network, Profile, Sandbox};
use contract::trust_check::TrustCheck;
use testkit::Plain;

use crate::hooks::{
    Ask, HookHost, Ledger, Loaded, Notice, Offered, ProjectFile, Settings, Sources, load,
};
use crate::plugin::{Manifest, Place, Plugin, PluginSettings};

/// A directory with `config`, `project` and `plugins`, and the hooks that were loaded from it.
pub(super) struct Rig {
    directory: tempfile::TempDir,
    pub(super) loaded: Loaded,
    pub(super) ledger: Arc<Ledger>,
    sandbox: Arc<Plain>,
    model: Arc<Model>,
    notices: Arc<Mutex<Vec<String>>>,
}

/// Hooks besides the user's own.
#[derive(Default)]
pub(super) struct Others {
    pub(super) project: Option<String>,
    /// Plugins by name, with their `hooks.yaml`.
    pub(super) plugins: Vec<(String, String)>,
    pub(super) offers: Vec<Offered>,
    /// Changes the plugins before they are loaded.
    pub(super) change: Option<fn(&mut Plugin)>,
}

impl Rig {
    /// The user's own hooks.
    pub(super) fn new(yaml: &str) -> Self {
        Self::beside(yaml, Others::default())
    }

    /// One hook of the user's own, called `test`.
    pub(super) fn with(event: &str, entry: &str) -> Self {
        let entry = entry.replace('\n', "\n      ");
        Self::new(&format!("hooks:\n  {event}:\n    - name: test\n      {entry}\n"))
    }

    /// The user's own hooks with others.
    pub(super) fn beside(yaml: &str, others: Others) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        for name in ["config", "project/.brynhild", "plugins"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("config/hooks.yaml"), yaml).unwrap();
        let (sandbox, model) = (Arc::new(Plain::default()), Arc::new(Model::default()));
        let (ledger, notices) = (Arc::new(Ledger::default()), Arc::<Mutex<Vec<String>>>::default());
        let heard = Arc::clone(&notices);
        let notice: Notice = Arc::new(move |text| heard.lock().unwrap().push(text));
        let settings = settings(&root, &sandbox, &ledger, notice, Some(Arc::clone(&model) as _));
        let loaded = loaded(&root, others, settings);
        Self { directory, loaded, ledger, sandbox, model, notices }
    }

    /// Loads again after these others have changed.
    pub(super) fn again(&self, others: Others) -> Loaded {
        let heard = Arc::clone(&self.notices);
        let root = self.path("");
        let notice: Notice = Arc::new(move |text| heard.lock().unwrap().push(text));
        let settings = settings(&root, &self.sandbox, &self.ledger, notice, None);
        loaded(&root, others, settings)
    }

    /// The only hook.
    pub(super) fn hook(&self) -> Arc<dyn Hook> {
        assert!(self.loaded.problems.is_empty(), "{:?}", self.loaded.problems);
        Arc::clone(self.loaded.hooks.last().unwrap())
    }

    /// All hooks.
    pub(super) fn hooks(&self) -> &[Arc<dyn Hook>] {
        assert!(self.loaded.problems.is_empty(), "{:?}", self.loaded.problems);
        &self.loaded.hooks
    }

    /// The faults of the files.
    pub(super) fn problems(&self) -> Vec<String> {
        self.loaded.problems.iter().map(|problem| problem.what.clone()).collect()
    }

    /// The workspace.
    pub(super) fn context(&self) -> HookContext {
        HookContext {
            session: SessionId::parse("one").unwrap(),
            cwd: self.path("project"),
            within: None,
        }
    }

    /// A path in the directory.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.directory.path()).unwrap().join(name)
    }

    /// Writes a file.
    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a file that can be executed.
    pub(super) fn program(&self, name: &str, text: &str) {
        self.write(name, text);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The contents of a file.
    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The notices to the user.
    pub(super) fn notices(&self) -> Vec<String> {
        self.notices.lock().unwrap().clone()
    }

    /// The profiles of all started processes.
    pub(super) fn profiles(&self) -> Vec<Profile> {
        self.sandbox.profiles()
    }

    /// The reply of the model.
    pub(super) fn reply(&self, text: &str) {
        text.clone_into(&mut self.model.reply.lock().unwrap());
    }

    /// The prompts to the model.
    pub(super) fn questions(&self) -> Vec<String> {
        self.model.questions.lock().unwrap().clone()
    }
}

fn settings(
    root: &Path,
    sandbox: &Arc<Plain>,
    ledger: &Arc<Ledger>,
    notice: Notice,
    ask: Option<Arc<dyn Ask>>,
) -> Settings {
    let profile = profile(&root.join("project"));
    let host = HookHost {
        sandbox: Arc::clone(sandbox) as Arc<dyn Sandbox>,
        is_confined: true,
        surroundings: Surroundings {
            workspace: profile.workspace.clone(),
            cwd: profile.workspace.clone(),
            env: profile.env.clone(),
            variables: BTreeMap::from([("TOKEN".to_owned(), "t".to_owned())]),
            home: Some(root.join("home")),
        },
        profile,
        data: root.join("config/plugin-data"),
        notice,
        reported: ledger.reported.clone(),
        trust: TrustCheck::default(),
    };
    let config_dir = Some(root.join("config"));
    let ledger = Arc::clone(ledger);
    Settings { host, mode: Mode::Normal, config_dir, python: None, ask, ledger }
}

/// Loads the hooks of a directory beside others.
fn loaded(root: &Path, others: Others, settings: Settings) -> Loaded {
    let mut plugins: Vec<Plugin> =
        others.plugins.iter().map(|(name, yaml)| plugin(root, name, yaml)).collect();
    if let Some(change) = others.change {
        plugins.iter_mut().for_each(change);
    }
    let project = others.project.map(|text| ProjectFile {
        path: root.join("project/.brynhild/hooks.yaml"),
        bytes: text.into_bytes(),
    });
    let sources = Sources {
        global: Some(root.join("config/hooks.yaml")),
        project,
        plugins: &plugins,
        offers: others.offers,
    };
    load(sources, settings)
}

fn plugin(root: &Path, name: &str, yaml: &str) -> Plugin {
    let directory = root.join("plugins").join(name);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("hooks.yaml"), yaml).unwrap();
    Plugin {
        manifest: Manifest { name: name.to_owned(), hooks: true, ..Manifest::default() },
        root: directory,
        place: Place::Global,
        enabled: true,
        trusted: true,
        settings: PluginSettings::default(),
        package: None,
    }
}

#[expect(clippy::disallowed_methods, reason = "a test runs programs that the search path finds")]
fn profile(workspace: &Path) -> Profile {
    let path = std::env::var("PATH").unwrap();
    Profile {
        workspace: workspace.to_owned(),
        access: Access::ReadOnly,
        read: Vec::new(),
        write: Vec::new(),
        own: Vec::new(),
        fixed: Vec::new(),
        network: Network::Host,
        env: BTreeMap::from([("PATH".to_owned(), path)]),
        limits: Limits::default(),
    }
}

/// A model with a scripted reply.
#[derive(Default)]
struct Model {
    reply: Mutex<String>,
    questions: Mutex<Vec<String>>,
}

#[async_trait]
impl Ask for Model {
    async fn ask(&self, model: Option<&str>, prompt: &str) -> Result<String, String> {
        let question = format!("{}: {prompt}", model.unwrap_or("usual"));
        self.questions.lock().unwrap().push(question);
        Ok(self.reply.lock().unwrap().clone())
    }
}
