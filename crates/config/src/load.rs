//! Reads all layers, from weak to strong, into one configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use contract::policy::Mode;
use contract::secret::Secret;
use contract::text::visible;
use serde_json::{Map, Value};

use crate::check::check;
use crate::dotenv;
use crate::expansion::{self, Expansion};
use crate::file;
use crate::merge;
use crate::origin::{Layer, Node, Origin, parse, shown, wrapped};
use crate::project_rights::{self, Rights};
use crate::redact;
use crate::report::{ConfigError, Report, UntrustedSetting, Warning};
use crate::schema::{ROOT, Section, TOOLS, ValueKind};
use crate::settings::Config;
use crate::variables::{self, Author, Variable};

pub(crate) const DEFAULTS: &str = include_str!("defaults.yaml");

/// Everything that a configuration is made from, files aside.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The process environment.
    pub env: BTreeMap<String, String>,
    /// The home directory.
    pub home: Option<PathBuf>,
    /// The project's root.
    pub project_root: PathBuf,
    /// The settings of the command line: dotted paths with their values.
    pub flags: Vec<(String, Value)>,
    /// True if the project's own files are read.
    pub read_project: bool,
    /// Those of them that the user trusts, with the bytes that are trusted.
    pub trusted: BTreeMap<PathBuf, Vec<u8>>,
    /// The effect of a mistake in a layer.
    pub on_mistake: OnMistake,
}

/// The effect of a mistake in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMistake {
    /// It stops the program.
    Stop,
    /// The layer is skipped with a warning.
    SkipLayer,
    /// The user's own file is skipped; every other mistake stops the program.
    SkipUserFile,
    /// A file of the project is skipped; every other mistake stops the program.
    SkipProjectFiles,
}

impl OnMistake {
    /// The reason for skipping a layer, for the user. None if a mistake in it stops the program.
    fn reason_to_skip(self, layer: Layer, author: Author) -> Option<&'static str> {
        match self {
            Self::SkipLayer => Some("ignored because of `--safe`"),
            Self::SkipUserFile if layer == Layer::User => Some(
                "this conversation is read-only, as with `--safe`, because a file that may \
                 contain deny rules cannot be used; repair or move the file",
            ),
            Self::SkipProjectFiles if author == Author::Project => {
                Some("ignored: this command does not need it")
            }
            Self::SkipUserFile | Self::SkipProjectFiles | Self::Stop => None,
        }
    }
}

/// A configuration that was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// Likely mistakes, and settings that were refused.
    pub warnings: Vec<Warning>,
    /// Settings of the project that take effect only once it is trusted.
    pub untrusted: Vec<UntrustedSetting>,
    /// The layers that can be files, weakest first.
    pub files: Vec<LayerFile>,
    /// True if a layer was skipped because of a mistake in it.
    pub skipped_layer: bool,
    /// The directory of everything that is the user's own.
    pub config_dir: Option<PathBuf>,
    /// The loosest mode that the site or the deployment admits.
    pub max_mode: Option<Mode>,
    /// Variables of the user's own env file that are no settings: it may hold keys of providers.
    pub env_file_variables: BTreeMap<String, Secret<String>>,
    pub(crate) tree: Node,
}

/// A layer that can be a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerFile {
    /// The layer.
    pub layer: Layer,
    /// Where the file is or would be.
    pub path: Option<PathBuf>,
    /// True if it exists.
    pub is_found: bool,
}

impl Loaded {
    /// The origin of the value at a path of names and positions in lists.
    pub fn origin(&self, path: &[&str]) -> Option<&Origin> {
        self.tree.find(path).map(|node| &node.place)
    }

    /// The whole configuration, every secret made unreadable.
    pub fn without_secrets(&self) -> Value {
        redact::redact(&self.tree).to_value()
    }

    /// Every secret in the configuration.
    pub fn secrets(&self) -> Vec<String> {
        redact::secrets(&self.tree)
    }
}

impl Sources {
    /// The layers that can be files, weakest first. Reads none of them, so a broken one is listed
    /// too.
    pub fn files(&self) -> Vec<LayerFile> {
        let expansion = self.expansion();
        let user = expansion.config_dir().map(|dir| dir.join("config.yaml"));
        let project = self.project_root.join(".brynhild/config.yaml");
        let own_env_file = self.env.get("BRYNHILD_ENV_FILE");
        let env_file = match own_env_file {
            Some(path) if path.is_empty() => None,
            Some(path) => Some(PathBuf::from(expansion.expand(path))),
            None => self.read_project.then(|| self.project_root.join(".env")),
        };
        let is_ours = |path: &Path| !path.is_dir() && (path.exists() || !path.is_symlink());
        let layers = [
            (Layer::Site, expansion.named_file("BRYNHILD_SITE_CONFIG")),
            (Layer::Deployment, expansion.named_file("BRYNHILD_DEPLOYMENT_CONFIG")),
            (Layer::User, user),
            (Layer::Project, self.read_project.then_some(project)),
            // A project's `.env` may belong to another program: a directory, or a dangling symlink.
            (Layer::EnvFile, env_file.filter(|path| own_env_file.is_some() || is_ours(path))),
        ];
        let builtin = LayerFile { layer: Layer::Builtin, path: None, is_found: true };
        let files = layers.into_iter().map(|(layer, path)| {
            let is_found = path.as_deref().is_some_and(Path::exists);
            LayerFile { layer, path, is_found }
        });
        std::iter::once(builtin).chain(files).collect()
    }

    /// The directory of everything that is the user's own.
    pub fn config_dir(&self) -> Option<PathBuf> {
        self.expansion().config_dir()
    }

    fn expansion(&self) -> Expansion<'_> {
        Expansion { env: &self.env, home: self.home.as_deref() }
    }
}

/// Reads all layers. Fails with every problem there is, not only the first.
pub fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
    let config_dir = sources.config_dir();
    let mut loader = Loader {
        sources,
        user_file: config_dir.as_ref().map(|dir| dir.join("config.yaml")),
        tree: defaults(),
        report: Report::default(),
        env_file_variables: BTreeMap::new(),
        max_mode: None,
    };
    let files = sources.files();
    for file in &files {
        loader.layer(file.layer, |loader| loader.read_file(file));
    }
    loader.layer(Layer::Environment, Loader::read_environment);
    loader.layer(Layer::Flag, Loader::read_flags);
    let reason = sources.on_mistake.reason_to_skip(Layer::Builtin, Author::User);
    let config = match (loader.finish(), reason) {
        (None, Some(reason)) => {
            // Each layer is right by itself, and together they are not.
            loader.tree = defaults();
            let problems = std::mem::take(&mut loader.report.problems);
            loader.skip(reason, &problems);
            loader.read_flags();
            loader.finish()
        }
        (config, _) => config,
    };
    let Loader { tree, report, env_file_variables, max_mode, .. } = loader;
    let Some(config) = config else { return Err(ConfigError { problems: report.problems }) };
    Ok(Loaded {
        config,
        warnings: report.warnings,
        untrusted: report.untrusted,
        files,
        skipped_layer: report.skipped_layer,
        config_dir,
        max_mode: max_mode.as_ref().and_then(merge::mode),
        env_file_variables,
        tree,
    })
}

pub(crate) fn defaults() -> Node {
    parse(DEFAULTS, &Origin::layer(Layer::Builtin)).expect("the built-in file is valid YAML")
}

fn typed(tree: &Node) -> Result<Config, String> {
    let mut settings = tree.to_value();
    if let Value::Object(settings) = &mut settings {
        complete(settings, &defaults().to_value(), &ROOT);
    }
    let mut config: Config = serde_json::from_value(settings)
        .map_err(|error| format!("Error in the configuration: {error}"))?;
    for (id, model) in &mut config.models.registry {
        model.canonical_id.clone_from(id);
    }
    Ok(config)
}

/// Adds the built-in values of keys that a layer removed. A mapping with names of the user's choice
/// stays empty.
fn complete(settings: &mut Map<String, Value>, builtin: &Value, section: &Section) {
    for key in section.keys {
        let default = &builtin[key.name];
        let value = settings.entry(key.name).or_insert_with(|| match key.kind {
            ValueKind::Section(_) | ValueKind::Each(_) => Value::Object(Map::new()),
            _ => default.clone(),
        });
        if let (ValueKind::Section(section), Value::Object(settings)) = (&key.kind, value) {
            complete(settings, default, section);
        }
    }
}

struct Loader<'a> {
    sources: &'a Sources,
    user_file: Option<PathBuf>,
    tree: Node,
    report: Report,
    env_file_variables: BTreeMap<String, Secret<String>>,
    /// The loosest mode that the site or the deployment admits.
    max_mode: Option<Node>,
}

impl Loader<'_> {
    /// Reads a layer; takes it out again if mistakes in it are a reason to skip it.
    fn layer(&mut self, layer: Layer, read: impl FnOnce(&mut Self)) {
        let Some(reason) = self.sources.on_mistake.reason_to_skip(layer, self.author(layer)) else {
            return read(self);
        };
        let before = self.tree.clone();
        let known = self.report.problems.len();
        read(self);
        self.require();
        let problems = self.report.problems.split_off(known);
        if !problems.is_empty() {
            self.tree = before;
            self.skip(reason, &problems);
        }
    }

    /// The author of a layer.
    fn author(&self, layer: Layer) -> Author {
        match layer {
            Layer::Project => Author::Project,
            Layer::EnvFile if !self.sources.env.contains_key("BRYNHILD_ENV_FILE") => {
                Author::Project
            }
            _ => match self.sources.expansion().variable("BRYNHILD_SKIP_MIGRATION_CHECK") {
                Some(_) => Author::LenientUser,
                None => Author::User,
            },
        }
    }

    /// Turns the problems of a layer into a warning.
    fn skip(&mut self, reason: &str, problems: &[String]) {
        let text = problems.join("\n");
        self.report.warnings.push(Warning { place: reason.to_owned(), text, hint: None });
        self.report.skipped_layer = true;
    }

    /// The settings of all layers; none if something is wrong.
    fn finish(&mut self) -> Option<Config> {
        self.require();
        if !self.report.problems.is_empty() {
            return None;
        }
        let mut config =
            typed(&self.tree).map_err(|problem| self.report.problems.push(problem)).ok()?;
        config.tools.forbid_by_any_case(TOOLS);
        let tools = config.tools.each.values_mut().map(|tool| &mut tool.allowed_paths);
        let sandbox = &mut config.sandbox;
        for paths in tools.chain([&mut sandbox.allowed_paths, &mut sandbox.read_paths]) {
            expansion::make_absolute(paths, &self.sources.project_root);
        }
        Some(config)
    }

    fn read_file(&mut self, file: &LayerFile) {
        let Some(path) = &file.path else {
            return;
        };
        let is_env_file = file.layer == Layer::EnvFile;
        let author = self.author(file.layer);
        let root = &self.sources.project_root;
        let outward = file::leads_out(path, root).filter(|_| author == Author::Project);
        match outward {
            // Its denials are not known then.
            Some(problem) if !is_env_file => {
                let path = shown(path);
                self.report.problems.push(format!("Error in config file {path}: {problem}"));
                return;
            }
            Some(text) => {
                self.report.warn(&Origin::file(file.layer, path), text, None);
                return;
            }
            None => {}
        }
        let Some(text) = self.text(path, if is_env_file { "env" } else { "config" }) else {
            return;
        };
        let origin = Origin::file(file.layer, path);
        if is_env_file {
            self.read_env_file(&text, &origin, author);
            return;
        }
        match parse(&text, &origin) {
            Ok(node) => self.add(node, author),
            Err(malformed) => self.report.problems.push(file::invalid(path, &text, &malformed)),
        }
    }

    /// The text of a file; none for a file that does not exist, or cannot be read.
    fn text(&mut self, path: &Path, kind: &str) -> Option<String> {
        // The bytes that were trusted are used, whatever is there by this time.
        let read = match self.sources.trusted.get(path) {
            Some(bytes) => file::text(bytes.clone()).map(Some),
            None => file::read(path),
        };
        read.unwrap_or_else(|problem| {
            let path = shown(path);
            self.report.problems.push(format!("Error in {kind} file {path}: {problem}"));
            None
        })
    }

    /// Checks a layer, takes out what its author may not set, and puts it over the others.
    fn add(&mut self, layer: Node, author: Author) {
        let expansion = self.sources.expansion();
        let Some(layer) = check(layer, expansion, &mut self.report) else { return };
        let layer = match author {
            Author::Project => {
                let trusted = &self.sources.trusted;
                let file = layer.place.file.as_deref();
                let is_trusted = file.is_some_and(|file| trusted.contains_key(file));
                let rights = if is_trusted { Rights::Trusted } else { Rights::Tighten };
                let user_file = self.user_file.as_deref();
                let limits = (user_file, rights);
                project_rights::restrict(layer, &self.tree, limits, &mut self.report)
            }
            Author::User | Author::LenientUser if layer.place.variable.is_some() => {
                variables::restrict(layer, &mut self.report)
            }
            Author::User | Author::LenientUser => layer,
        };
        merge::merge_layer(&mut self.tree, layer, &mut self.max_mode, &mut self.report);
    }

    fn read_env_file(&mut self, text: &str, file: &Origin, author: Author) {
        let mut settings = Vec::new();
        for line in dotenv::parse(text) {
            let variable =
                Variable { origin: file.at(line.number), name: line.name, value: line.value };
            if variable.name.starts_with("BRYNHILD_") {
                settings.push(variable);
            } else if author != Author::Project {
                let value = Secret::new(variable.value.clone());
                self.env_file_variables.insert(variable.name.clone(), value);
                settings.push(variable);
            } else if variable.name == "OPENROUTER_API_KEY" {
                let text = "`OPENROUTER_API_KEY` is ignored: a key from a project would send your \
                            work to somebody else's account";
                let hint = "name an env file of your own in BRYNHILD_ENV_FILE";
                self.report.warn(&variable.origin, text.into(), Some(hint.into()));
            }
        }
        self.add_variables(settings, author);
    }

    fn read_environment(&mut self) {
        let origin = Origin::layer(Layer::Environment);
        let variables = self.sources.env.iter().map(|(name, value)| Variable {
            name: name.clone(),
            value: value.clone(),
            origin: origin.clone(),
        });
        self.add_variables(variables.collect(), self.author(Layer::Environment));
    }

    fn add_variables(&mut self, variables: Vec<Variable>, author: Author) {
        if let Some(layer) = variables::layer(variables, &self.tree, author, &mut self.report) {
            self.add(layer, author);
        }
    }

    fn read_flags(&mut self) {
        let origin = Origin::layer(Layer::Flag);
        for (path, value) in &self.sources.flags {
            let leaf = Node::from_value(value.clone(), &origin);
            let tree = path.rsplit('.').fold(leaf, wrapped);
            self.add(tree, Author::User);
        }
    }

    /// Reports entries without the keys that each must have, once all layers are read.
    fn require(&mut self) {
        const KINDS: &[&str] = &["openrouter", "openai", "anthropic", "ollama", "script"];
        let instances = self.tree.find(&["providers", "instances"]);
        for (name, node) in instances.map(Node::entries).unwrap_or_default() {
            if node.get("type").is_none() {
                let likely = KINDS.iter().find(|kind| *kind == name).unwrap_or(&"openai");
                self.report.problems.push(format!(
                    "{}providers.instances.{} has no `type`: every provider says what kind of \
                     server it is; add `type: {likely}` to it (the kinds are {}, and those of \
                     plugins)",
                    node.place.blame(),
                    visible(name),
                    KINDS.join(", "),
                ));
            }
        }
        let registry = self.tree.find(&["models", "registry"]);
        for (name, node) in registry.map(Node::entries).unwrap_or_default() {
            let descriptor = node.get("descriptor").filter(|it| !it.is_null());
            if let Some(descriptor) = descriptor.filter(|it| it.get("family").is_none()) {
                self.report.problems.push(format!(
                    "{}models.registry.{}.descriptor has no `family`",
                    descriptor.place.blame(),
                    visible(name),
                ));
            }
        }
    }
}
