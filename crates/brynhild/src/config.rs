//! The configuration: reads the layers, checks them, holds a project to tightening, and merges them
//! into one typed [`Config`] whose every value has an [`Origin`]. Everything from outside but the
//! files comes in by [`Sources`]: no environment, home or working directory is read here.

mod check;
mod dotenv;
mod emit;
mod environment;
mod file;
mod layers;
mod node;
mod paths;
mod redact;
pub(crate) mod report;
mod root;
pub(crate) mod schema;
pub(crate) mod settings;
mod show;
mod suggest;
#[cfg(test)]
mod tests;
mod tighten;
mod yaml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use contract::policy::Mode;
use contract::secret::Secret;
use contract::text::visible;
use serde_json::Value;

use environment::{Author, Variable};
use node::{Content, Node, shown};
use paths::Surroundings;
use report::{ConfigError, HeldBack, Report, Warning};
use show::UnknownSection;
use tighten::Rights;

use crate::trust::Trusted;

pub(crate) use node::{Layer, Origin};
pub(crate) use redact::{is_secret, without_keys, without_login};
pub(crate) use root::{NoProject, passed_over, project_root};
pub(crate) use settings::{
    Approval, Binding, Config, Editing, Favorite, Instance, OutputFormat, RegisteredModel, Tool,
};
pub(crate) use show::{Form, Provenance, paths};

const DEFAULTS: &str = include_str!("config/defaults.yaml");

/// Everything that a configuration is made from, files aside.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// The process environment.
    pub(crate) env: BTreeMap<String, String>,
    /// The home directory.
    pub(crate) home: Option<PathBuf>,
    /// The project's root.
    pub(crate) project_root: PathBuf,
    /// What the command line sets: dotted paths with their values.
    pub(crate) flags: Vec<(String, Value)>,
    /// Whether the project's own files are read.
    pub(crate) read_project: bool,
    /// Those of them that the user trusts.
    pub(crate) trusted: Option<Trusted>,
    /// What becomes of a layer with a mistake in it.
    pub(crate) mistakes: Mistakes,
}

/// What becomes of a layer with a mistake in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistakes {
    /// It stops the program.
    Stop,
    /// The layer is left out with a warning.
    LeaveOut,
    /// The user's own file is, and every other mistake stops the program.
    LeaveOutOwn,
    /// A file of the project is, and every other mistake stops the program.
    LeaveOutProjects,
}

impl Mistakes {
    /// Why a layer is left out, for people; none where it stops the program.
    fn reason(self, layer: Layer, whose: Author) -> Option<&'static str> {
        match self {
            Self::LeaveOut => Some("left out because of `--safe`"),
            Self::LeaveOutOwn if layer == Layer::User => Some(
                "this conversation is read-only, as with `--safe`, because rules that deny may \
                 stand in a file that cannot be used; repair the file or move it away",
            ),
            Self::LeaveOutProjects if whose == Author::Project => {
                Some("left out, since this command needs nothing of it")
            }
            Self::LeaveOutOwn | Self::LeaveOutProjects | Self::Stop => None,
        }
    }
}

/// A configuration that was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The settings.
    pub(crate) config: Config,
    /// What looks like a mistake or was refused.
    pub(crate) warnings: Vec<Warning>,
    /// Settings of the project that trust would let through.
    pub(crate) held_back: Vec<HeldBack>,
    /// The layers that can be files, weakest first.
    pub(crate) files: Vec<LayerFile>,
    /// Whether a layer with a mistake in it was left out.
    pub(crate) left_out: bool,
    /// The directory of everything that is the user's own.
    pub(crate) config_dir: Option<PathBuf>,
    /// The loosest mode that the site or the deployment admits.
    pub(crate) mode_bound: Option<Mode>,
    /// Variables of the user's own env file that are no settings, for keys that they hold.
    pub(crate) variables: BTreeMap<String, Secret<String>>,
    tree: Node,
}

/// A layer that can be a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LayerFile {
    /// The layer.
    pub(crate) layer: Layer,
    /// Where the file is or would be.
    pub(crate) path: Option<PathBuf>,
    /// Whether it was found.
    pub(crate) is_found: bool,
}

/// Every secret in a file of settings.
pub(crate) fn secrets_in(value: Value) -> Vec<String> {
    redact::secrets(&Node::from_value(value, &Origin::layer(Layer::User)))
}

impl Loaded {
    /// Where the value behind these names, and positions in lists, was set.
    pub(crate) fn origin(&self, path: &[&str]) -> Option<&Origin> {
        self.tree.find(path).map(|node| &node.origin)
    }

    /// The whole configuration, every secret made unreadable.
    pub(crate) fn without_secrets(&self) -> Value {
        redact::redact(&self.tree).to_value()
    }

    /// Every secret in the configuration.
    pub(crate) fn secrets(&self) -> Vec<String> {
        redact::secrets(&self.tree)
    }

    /// The text of `config show`.
    pub(crate) fn show(
        &self,
        form: Form,
        provenance: Provenance,
        section: Option<&str>,
    ) -> Result<String, UnknownSection> {
        show::show(self, form, provenance, section)
    }
}

impl Sources {
    /// The layers that can be files, weakest first. Reads none of them, so it works where one is
    /// broken.
    pub(crate) fn files(&self) -> Vec<LayerFile> {
        let surroundings = self.surroundings();
        let user = surroundings.config_dir().map(|dir| dir.join("config.yaml"));
        let project = self.project_root.join(".brynhild/config.yaml");
        let own_env_file = surroundings.env.get("BRYNHILD_ENV_FILE");
        let env_file = match own_env_file {
            Some(path) if path.is_empty() => None,
            Some(path) => Some(PathBuf::from(surroundings.expand(path))),
            None => self.read_project.then(|| self.project_root.join(".env")),
        };
        let is_ours = |path: &Path| !path.is_dir() && (path.exists() || !path.is_symlink());
        let layers = [
            (Layer::Site, surroundings.named_file("BRYNHILD_SITE_CONFIG")),
            (Layer::Deployment, surroundings.named_file("BRYNHILD_DEPLOYMENT_CONFIG")),
            (Layer::User, user),
            (Layer::Project, self.read_project.then_some(project)),
            // A project's `.env` may be something else's: a directory, or a link to what others have.
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
    pub(crate) fn config_dir(&self) -> Option<PathBuf> {
        self.surroundings().config_dir()
    }

    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings { env: &self.env, home: self.home.as_deref() }
    }
}

/// The names and values of a file of variables.
pub(crate) fn dotenv_pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    dotenv::parse(text).into_iter().map(|line| (line.name, line.value))
}

/// Reads a YAML file that is not a layer, of this project or else of the user's own; none where
/// there is none.
pub(crate) fn side_file(path: &Path, project: Option<&Path>) -> Result<Option<Value>, String> {
    let blame = |problem: String| format!("Error in {}: {problem}", shown(path));
    if let Some(problem) = project.and_then(|project| file::leads_out(path, project)) {
        return Err(blame(problem));
    }
    let layer = if project.is_some() { Layer::Project } else { Layer::User };
    let Some(text) = file::read(path).map_err(blame)? else { return Ok(None) };
    match yaml::parse(&text, &Origin::file(layer, path)) {
        Ok(node) => Ok(Some(node.to_value())),
        Err(malformed) => Err(file::invalid(path, &text, &malformed)),
    }
}

/// Reads all layers. Fails with every problem there is, not only the first.
pub(crate) fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
    let surroundings = sources.surroundings();
    let config_dir = surroundings.config_dir();
    let mut loader = Loader {
        sources,
        surroundings,
        user_file: config_dir.as_ref().map(|dir| dir.join("config.yaml")),
        tree: defaults(),
        report: Report::default(),
        variables: BTreeMap::new(),
        mode_bound: None,
    };
    let files = sources.files();
    for file in &files {
        loader.layer(file.layer, |loader| loader.read_file(file));
    }
    loader.layer(Layer::Environment, Loader::read_environment);
    loader.layer(Layer::Flag, Loader::read_flags);
    let config = match (loader.finish(), sources.mistakes.reason(Layer::Builtin, Author::Person)) {
        (None, Some(reason)) => {
            // Each layer is right by itself, and together they are not.
            loader.tree = defaults();
            let problems = std::mem::take(&mut loader.report.problems);
            loader.leave_out(reason, &problems);
            loader.read_flags();
            loader.finish()
        }
        (config, _) => config,
    };
    let mode_bound = loader.mode_bound.as_ref().and_then(layers::mode);
    let Loader { tree, report, variables, .. } = loader;
    match config {
        Some(config) => {
            let Report { warnings, held_back, left_out, .. } = report;
            Ok(Loaded {
                config,
                warnings,
                held_back,
                files,
                left_out,
                config_dir,
                mode_bound,
                variables,
                tree,
            })
        }
        None => Err(ConfigError { problems: report.problems }),
    }
}

fn defaults() -> Node {
    yaml::parse(DEFAULTS, &Origin::layer(Layer::Builtin)).expect("the built-in file is valid YAML")
}

/// A YAML text as plain data; a message where it is none.
pub(crate) fn plain_yaml(text: &str) -> Result<Value, String> {
    yaml::parse(text, &Origin::layer(Layer::Project))
        .map(|node| node.to_value())
        .map_err(|malformed| format!("{} at line {}", malformed.message, malformed.line))
}

fn typed(tree: &Node) -> Result<Config, String> {
    let mut config: Config = serde_json::from_value(tree.to_value())
        .map_err(|error| format!("Error in the configuration: {error}"))?;
    for (id, model) in &mut config.models.registry {
        model.canonical_id.clone_from(id);
    }
    Ok(config)
}

struct Loader<'a> {
    sources: &'a Sources,
    surroundings: Surroundings<'a>,
    user_file: Option<PathBuf>,
    tree: Node,
    report: Report,
    variables: BTreeMap<String, Secret<String>>,
    /// The loosest mode that the site or the deployment admits.
    mode_bound: Option<Node>,
}

impl Loader<'_> {
    /// Reads a layer; takes it away again where mistakes leave it out.
    fn layer(&mut self, layer: Layer, read: impl FnOnce(&mut Self)) {
        let whose = if self.is_projects(layer) { Author::Project } else { Author::Person };
        let Some(reason) = self.sources.mistakes.reason(layer, whose) else {
            return read(self);
        };
        let before = self.tree.clone();
        let known = self.report.problems.len();
        read(self);
        self.require();
        let problems = self.report.problems.split_off(known);
        if !problems.is_empty() {
            self.tree = before;
            self.leave_out(reason, &problems);
        }
    }

    /// Whether a layer is a file that the project brings.
    fn is_projects(&self, layer: Layer) -> bool {
        match layer {
            Layer::Project => true,
            Layer::EnvFile => !self.surroundings.env.contains_key("BRYNHILD_ENV_FILE"),
            _ => false,
        }
    }

    /// Turns what is wrong into a warning.
    fn leave_out(&mut self, reason: &str, problems: &[String]) {
        let text = problems.join("\n");
        self.report.warnings.push(Warning { place: reason.to_owned(), text, hint: None });
        self.report.left_out = true;
    }

    /// The settings that the layers come to; none where something is wrong.
    fn finish(&mut self) -> Option<Config> {
        self.require();
        if !self.report.problems.is_empty() {
            return None;
        }
        let mut config =
            typed(&self.tree).map_err(|problem| self.report.problems.push(problem)).ok()?;
        config.tools.forbid_what_was_meant(schema::TOOLS);
        let tools = config.tools.each.values_mut().map(|tool| &mut tool.allowed_paths);
        let sandbox = &mut config.sandbox;
        for paths in tools.chain([&mut sandbox.allowed_paths, &mut sandbox.read_paths]) {
            paths::place(paths, &self.sources.project_root);
        }
        let mut names = self.hold("sandbox.allowed_paths", &mut sandbox.allowed_paths);
        names.extend(self.hold("sandbox.read_paths", &mut sandbox.read_paths));
        names.extend(root::entered_by(&self.sources.project_root, &self.sources.env));
        // Programs look for them by the names that the user knows them by.
        sandbox.read_paths.extend(names);
        Some(config)
    }

    /// Puts where they really lie in the place of paths, and leaves out those on which a command may have
    /// put a link to something else. Returns the others that lead elsewhere, as they were.
    fn hold(&mut self, key: &str, paths: &mut Vec<PathBuf>) -> Vec<PathBuf> {
        let own = self.sources.config_dir().filter(|_| !paths.is_empty());
        let Some(own) = own else { return Vec::new() };
        let state = own.join("sandbox");
        let (granted, refused) = sandbox::granted_paths(paths, &self.sources.project_root, &state);
        for text in refused {
            self.report.warnings.push(Warning { place: key.to_owned(), text, hint: None });
        }
        *paths = granted.iter().map(|(_, real)| real.clone()).collect();
        let links = granted.into_iter().filter(|(written, real)| written != real);
        links.map(|(written, _)| written).collect()
    }

    fn read_file(&mut self, file: &LayerFile) {
        let Some(path) = &file.path else {
            return;
        };
        let is_env_file = file.layer == Layer::EnvFile;
        let root = &self.sources.project_root;
        let outward = file::leads_out(path, root).filter(|_| self.is_projects(file.layer));
        match outward {
            // What it forbids is not known then.
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
            self.read_env_file(&text, &origin);
            return;
        }
        match yaml::parse(&text, &origin) {
            Ok(node) => self.add(node),
            Err(malformed) => self.report.problems.push(file::invalid(path, &text, &malformed)),
        }
    }

    /// The text of a file; none for a file that does not exist, or cannot be read.
    fn text(&mut self, path: &Path, what: &str) -> Option<String> {
        // What was trusted is what is used, whatever lies there by this time.
        let read = match self.trusted(path) {
            Some(bytes) => file::text(bytes.to_vec()).map(Some),
            None => file::read(path),
        };
        match read {
            Ok(text) => text,
            Err(problem) => {
                let path = shown(path);
                self.report.problems.push(format!("Error in {what} file {path}: {problem}"));
                None
            }
        }
    }

    fn trusted(&self, path: &Path) -> Option<&[u8]> {
        self.sources.trusted.as_ref().and_then(|trusted| trusted.bytes(path))
    }

    /// Checks a layer, holds it to its rights, and lays it over the others.
    fn add(&mut self, layer: Node) {
        let is_projects = layer.origin.layer == Layer::Project;
        if let Some(mut layer) = check::check(layer, self.surroundings, &mut self.report) {
            if is_projects {
                layer = self.tightened(layer);
            }
            self.lay(layer);
        }
    }

    /// Lays a layer over the others: lists that tighten grow, and the site's mode is a bound.
    fn lay(&mut self, layer: Node) {
        layers::lay(&mut self.tree, layer, &mut self.mode_bound, &mut self.report);
    }

    fn tightened(&mut self, layer: Node) -> Node {
        let is_trusted = layer.origin.file.as_deref().is_some_and(|it| self.trusted(it).is_some());
        let rights = if is_trusted { Rights::Trusted } else { Rights::Tighten };
        tighten::tighten(layer, &self.tree, (self.user_file.as_deref(), rights), &mut self.report)
    }

    fn read_env_file(&mut self, text: &str, file: &Origin) {
        let variables = dotenv::parse(text).into_iter().map(|line| Variable {
            origin: file.at(line.number),
            name: line.name,
            value: line.value,
        });
        if self.surroundings.env.contains_key("BRYNHILD_ENV_FILE") {
            self.add_own_env_file(variables.collect());
        } else {
            self.add_project_env_file(variables.collect());
        }
    }

    fn add_own_env_file(&mut self, variables: Vec<Variable>) {
        for variable in variables.iter().filter(|it| !it.name.starts_with("BRYNHILD_")) {
            let value = Secret::new(variable.value.clone());
            self.variables.insert(variable.name.clone(), value);
        }
        let author = self.person();
        self.add_variables(variables, author);
    }

    /// An env file in a project is the project's word, and has the project's rights.
    fn add_project_env_file(&mut self, variables: Vec<Variable>) {
        let mut settings = Vec::new();
        for variable in variables {
            if variable.name == "OPENROUTER_API_KEY" {
                let text = "`OPENROUTER_API_KEY` is ignored: a key from a project would send your \
                            work to somebody else's account";
                let hint = "name an env file of your own in BRYNHILD_ENV_FILE";
                self.report.warn(&variable.origin, text.into(), Some(hint.into()));
            } else if variable.name.starts_with("BRYNHILD_") {
                settings.push(variable);
            }
        }
        let layer = environment::layer(settings, &self.tree, Author::Project, &mut self.report);
        let layer = layer.and_then(|it| check::check(it, self.surroundings, &mut self.report));
        if let Some(layer) = layer {
            let layer = self.tightened(layer);
            self.lay(layer);
        }
    }

    fn read_environment(&mut self) {
        let place = Origin::layer(Layer::Environment);
        let variables = self.sources.env.iter().map(|(name, value)| Variable {
            name: name.clone(),
            value: value.clone(),
            origin: place.clone(),
        });
        let author = self.person();
        self.add_variables(variables.collect(), author);
    }

    fn add_variables(&mut self, variables: Vec<Variable>, author: Author) {
        let layer = environment::layer(variables, &self.tree, author, &mut self.report);
        let layer = layer.and_then(|it| check::check(it, self.surroundings, &mut self.report));
        if let Some(layer) = layer {
            let layer = environment::restrained(layer, &mut self.report);
            self.lay(layer);
        }
    }

    fn person(&self) -> Author {
        match self.surroundings.variable("BRYNHILD_SKIP_MIGRATION_CHECK") {
            Some(_) => Author::LenientPerson,
            None => Author::Person,
        }
    }

    fn read_flags(&mut self) {
        let origin = Origin::layer(Layer::Flag);
        for (path, value) in &self.sources.flags {
            let leaf = Node::from_value(value.clone(), &origin);
            let tree = path.rsplit('.').fold(leaf, |node, name| {
                Node::new(Content::Map(vec![(name.to_owned(), node)]), origin.clone())
            });
            self.add(tree);
        }
    }

    /// Notes what every entry of its kind must have, once all layers have spoken.
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
                    node.origin.blame(),
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
                    descriptor.origin.blame(),
                    visible(name),
                ));
            }
        }
    }
}
