//! Flags, environment, configuration and project of one run, and the directories that follow from
//! them. Nothing here is created lazily.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use args::{Global, OutputFormat};
use config::load::{LayerFile, Loaded, OnMistake, Sources};
use config::origin::Layer;
use config::settings::{self, Config};
use contract::policy::Mode;
use contract::secret::Secret;
use files::private;
use plugins::claude::AgentFile;
use serde::Serialize;
use sessions::conversation_log;
use sessions::store::Store;
use setup::key_store::KeyStore;
use trust::project::ProjectTrust;
use tui::theme::Depth;

use crate::chosen_role::ChosenRole;
use crate::configuration::{self, sources};
use crate::environment::Environment;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::output::style::Palette;
use crate::project_root::{self, NoProject};
use crate::trust_store;

/// The arguments, the configuration and the surroundings of a run.
#[derive(Clone)]
pub struct RunContext {
    pub global: Global,
    pub environment: Environment,
    pub loaded: Loaded,
    pub trust: ProjectTrust,
    /// Keys that `brynhild login` stored, by the environment variable that each stands for.
    pub(crate) stored_keys: BTreeMap<String, Secret<String>>,
    pub key_store_problem: Option<String>,
    pub role: Option<ChosenRole>,
    /// The agent that answers, if a file describes it.
    pub(crate) agent: Option<Arc<AgentFile>>,
    /// Provider and model as typed, before a role replaced them in `global`.
    pub(crate) typed: Option<(Option<String>, Option<String>)>,
    /// The mode of a session that is going on; it outlives changes of the configuration.
    pub session_mode: Option<Mode>,
    root: Result<PathBuf, NoProject>,
    purpose: Purpose,
    cached_writable_dir: OnceLock<Option<PathBuf>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Purpose {
    /// A command, which fails if it cannot use its files.
    #[default]
    Command,
    /// A conversation, which continues if the home directory is broken.
    Conversation,
}

impl RunContext {
    /// Reads environment and configuration. Prints the configuration's warnings.
    pub fn read(global: Global) -> Result<Self, Problem> {
        let run = Self::of(global, surroundings()?)?;
        run.begin();
        Ok(run)
    }

    /// Reads them for a conversation. If the user's own file is broken, it continues as with
    /// `--safe`, because its restrictions are unknown.
    pub fn for_conversation(global: Global) -> Result<Self, Problem> {
        let environment = surroundings()?;
        let read = Self::of(global.clone(), environment.clone());
        let mut run = read.or_else(|problem| {
            let global = Global { safe: true, ..global };
            let (mut sources, found) = sources(&global, &environment);
            sources.on_mistake = OnMistake::SkipUserFile;
            let retreated = Self::from(global, environment, &mut sources, found);
            retreated.ok().filter(|run| run.loaded.skipped_layer).ok_or(problem)
        })?;
        run.purpose = Purpose::Conversation;
        run.begin();
        Ok(run)
    }

    /// Reads them for a command that needs nothing of the project: broken project files are
    /// reported and ignored.
    pub fn without_broken_project_files(global: Global) -> Result<Self, Problem> {
        let environment = surroundings()?;
        let (mut sources, found) = sources(&global, &environment);
        if !global.safe {
            sources.on_mistake = OnMistake::SkipProjectFiles;
        }
        let run = Self::from(global, environment, &mut sources, found)?;
        run.begin();
        Ok(run)
    }

    /// Reads the configuration again.
    pub fn anew(self) -> Result<Self, Problem> {
        match self.purpose {
            Purpose::Command => Self::read(self.global),
            Purpose::Conversation => Self::for_conversation(self.global),
        }
    }

    fn begin(&self) {
        if !self.can_redraw() {
            ::tui::line::set_simple();
        }
        for warning in &self.loaded.warnings {
            output::warning(&warning.to_string());
        }
        if let Some(problem) = &self.key_store_problem {
            output::warning(problem);
        }
        self.tell_passed_over();
    }

    /// Reports a parent directory that is not used as the project because another user may have
    /// made it one.
    fn tell_passed_over(&self) {
        let (Ok(root), None) = (self.root(), self.environment.variable("BRYNHILD_PROJECT_ROOT"))
        else {
            return;
        };
        if let Some(directory) = project_root::passed_over(root, self.environment.home.as_deref()) {
            let (directory, root) = (directory.display(), root.display());
            output::warning(&format!(
                "{directory} looks like the project, but other users can write it or a directory \
                 below it; the project is {root}"
            ));
            output::hint(&format!("set BRYNHILD_PROJECT_ROOT={directory} if you trust them"));
        }
    }

    /// Reads them again during a conversation, without warnings.
    pub fn again(global: Global, environment: Environment) -> Result<Self, Problem> {
        Ok(Self { purpose: Purpose::Conversation, ..Self::of(global, environment)? })
    }

    /// Reads them without warnings in the project `root`, nothing of which is trusted.
    pub fn untrusted_at(global: Global, root: &Path) -> Result<Self, Problem> {
        let environment = Environment::read()?;
        let (mut sources, _) = sources(&global, &environment);
        root.clone_into(&mut sources.project_root);
        sources.read_project = true;
        let loaded = configuration::load(&sources)?;
        let (trust, root) = (ProjectTrust::default(), Ok(root.to_owned()));
        Ok(Self::new((global, environment), (loaded, trust), root))
    }

    /// Reads them without the project's files, so that none of them can fail.
    pub fn without_project(global: Global) -> Result<Self, Problem> {
        let environment = Environment::read()?;
        let (mut sources, found) = sources(&global, &environment);
        sources.read_project = false;
        Self::from(global, environment, &mut sources, found)
    }

    /// Reads them without warnings, as if started in the project `directory`.
    pub fn read_at(global: Global, directory: &Path) -> Result<Self, Problem> {
        let mut environment = Environment::read()?;
        directory.clone_into(&mut environment.cwd);
        let root = directory.display().to_string();
        environment.variables.insert("BRYNHILD_PROJECT_ROOT".to_owned(), root);
        Self::of(global, environment)
    }

    /// The configuration files, also those that are missing.
    pub fn files(global: &Global) -> Result<Vec<LayerFile>, Problem> {
        Ok(sources(global, &Environment::read()?).0.files())
    }

    pub(crate) fn layer_files(&self) -> impl Iterator<Item = PathBuf> {
        let (sources, _) = sources(&self.global, &self.environment);
        sources.files().into_iter().filter_map(|file| file.path)
    }

    fn new(
        (global, environment): (Global, Environment),
        (loaded, trust): (Loaded, ProjectTrust),
        root: Result<PathBuf, NoProject>,
    ) -> Self {
        let stored = loaded.config_dir.as_deref().map(|dir| KeyStore::new(dir).read());
        let (stored_keys, key_store_problem) = match stored.unwrap_or_else(|| Ok(BTreeMap::new())) {
            Ok(keys) => (keys, None),
            Err(error) => (BTreeMap::new(), Some(error.to_string())),
        };
        Self {
            global,
            environment,
            loaded,
            trust,
            stored_keys,
            key_store_problem,
            role: None,
            agent: None,
            typed: None,
            session_mode: None,
            root,
            purpose: Purpose::default(),
            cached_writable_dir: OnceLock::new(),
        }
    }

    fn of(global: Global, environment: Environment) -> Result<Self, Problem> {
        let (mut sources, found) = sources(&global, &environment);
        Self::from(global, environment, &mut sources, found)
    }

    fn from(
        mut global: Global,
        environment: Environment,
        sources: &mut Sources,
        found: Result<PathBuf, NoProject>,
    ) -> Result<Self, Problem> {
        if global.safe {
            global.plugin_dir.clear();
        }
        // No project file is parsed before its trust is known.
        let mut trust = if sources.read_project {
            let store = sources.config_dir().map(|directory| trust_store::open(&directory));
            trust::project::standing(&sources.project_root, store.as_ref())
        } else {
            ProjectTrust::default()
        };
        if let Some(trusted) = trust.trusted() {
            configuration::trust(sources, trusted);
        }
        let loaded = configuration::load(sources).map_err(|error| Problem {
            exit: Exit::Misuse,
            error: error.into(),
            hint: Some("`brynhild config path` lists the files that are read".to_owned()),
        })?;
        trust.restrict(loaded.untrusted.iter().map(|held| held.file.clone()));
        let root = found.or_else(|none| match none {
            NoProject::TooWide { root } if loaded.config.allow_home_directory => Ok(root),
            other => Err(other),
        });
        Ok(Self::new((global, environment), (loaded, trust), root))
    }

    pub fn config(&self) -> &Config {
        &self.loaded.config
    }

    /// The root of the project; an error if there is none.
    pub fn root(&self) -> Result<&Path, Problem> {
        self.root.as_deref().map_err(|none| Problem::misuse(none.to_string()))
    }

    /// The directory that is too wide for a project, if the program was started in one.
    pub fn wide_root(&self) -> Option<&Path> {
        match &self.root {
            Err(NoProject::TooWide { root }) => Some(root),
            _ => None,
        }
    }

    /// The project's root, or the working directory: for read-only commands.
    pub fn place(&self) -> &Path {
        self.root.as_deref().unwrap_or(&self.environment.cwd)
    }

    /// A path, with `~` for the home directory.
    pub fn shown_path(&self, path: &Path) -> String {
        let home = self.environment.home.as_deref();
        match home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(below) => Path::new("~").join(below).display().to_string(),
            None => path.display().to_string(),
        }
    }

    /// Returns true if the run uses the files of a project.
    pub fn has_project(&self) -> bool {
        self.root.is_ok() && !self.global.safe
    }

    /// The configuration directory; an error if there is none.
    pub fn config_dir(&self) -> Result<&Path, Problem> {
        self.loaded.config_dir.as_deref().ok_or_else(|| {
            Problem::misuse("there is no home directory to store sessions in")
                .hint("set HOME or BRYNHILD_CONFIG_DIR")
        })
    }

    /// The configuration directory, if it is writable. Only conversations and read-only runs check;
    /// they work without it.
    pub fn writable_config_dir(&self) -> Option<&Path> {
        let found = || {
            let dir = self.loaded.config_dir.clone();
            let must_work = self.purpose == Purpose::Conversation || self.global.safe;
            dir.filter(|dir| !must_work || private::is_writable(dir))
        };
        self.cached_writable_dir.get_or_init(found).as_deref()
    }

    /// The cache directory: in the configuration directory, or if that is not writable a private
    /// temporary directory.
    pub(crate) fn cache_dir(&self) -> Result<PathBuf, Problem> {
        self.writable_config_dir().map_or_else(|| self.temporary_dir(), |dir| Ok(dir.to_owned()))
    }

    pub(crate) fn state_dir(&self) -> Result<PathBuf, Problem> {
        let directory = self.writable_config_dir().map(|dir| dir.join(setup::user_files::SANDBOX));
        let directory = directory.filter(|directory| private::could_be_writable(directory));
        directory.map_or_else(|| self.temporary_dir(), Ok)
    }

    fn temporary_dir(&self) -> Result<PathBuf, Problem> {
        let directory = self.in_temp("brynhild-sandbox");
        let made = std::fs::DirBuilder::new().mode(0o700).create(&directory);
        let own = rustix::process::geteuid().as_raw();
        let is_ours = std::fs::symlink_metadata(&directory).is_ok_and(|found| {
            found.is_dir() && found.uid() == own && found.mode() & 0o777 == 0o700
        });
        if is_ours {
            return Ok(directory);
        }
        let why = made.err().map_or_else(String::new, |error| format!(": {error}"));
        Err(Problem::misuse(format!("cannot use {}{why}", directory.display()))
            .hint("set HOME or BRYNHILD_CONFIG_DIR"))
    }

    /// The saved sessions.
    pub fn store(&self) -> Result<Store, Problem> {
        Ok(Store::new(self.config_dir()?.join(setup::user_files::SESSIONS)))
    }

    /// The directory of conversation logs; in that for temporary files only if no other is writable.
    pub fn log_dir(&self) -> PathBuf {
        let own = || self.writable_config_dir().map(|dir| dir.join(setup::user_files::LOGS));
        let named = self.config().logging.dir.clone();
        named.or_else(own).unwrap_or_else(|| self.in_temp("brynhild-logs"))
    }

    fn in_temp(&self, name: &str) -> PathBuf {
        self.environment.temp.join(format!("{name}-{}", self.environment.user()))
    }

    /// The settings of conversation logs.
    pub fn log_settings(&self) -> conversation_log::Settings {
        conversation_log::Settings {
            directory: self.log_dir(),
            private: self.config().logging.private,
            zone: jiff::tz::TimeZone::system(),
            limit: self.config().logging.dir.is_none().then_some(conversation_log::LOG_FILES_LIMIT),
        }
    }

    pub(crate) fn spill_dir(&self) -> PathBuf {
        self.in_temp("brynhild-output")
    }

    /// The permission mode at the start.
    pub fn mode(&self) -> Mode {
        let config = self.config();
        if self.global.safe {
            return Mode::ReadOnly;
        }
        if let Some(mode) = self.session_mode {
            return mode;
        }
        if config.dangerously_skip_permissions && self.is_own("dangerously_skip_permissions") {
            // The site's maximum mode applies here too.
            return self.loaded.max_mode.unwrap_or(Mode::Yolo);
        }
        config.behavior.mode
    }

    /// Returns true if questions are answered with yes (`--yes` or yolo mode).
    pub fn auto_approves(&self) -> bool {
        self.global.yes || self.mode() == Mode::Yolo
    }

    /// Returns true if the user's own file or flag turns the sandbox off. A variable or a project
    /// cannot.
    pub fn is_unconfined(&self) -> bool {
        let config = self.config();
        let skipped = config.dangerously_skip_sandbox && self.is_own("dangerously_skip_sandbox");
        let disabled = !config.sandbox.enabled && self.is_own("sandbox.enabled");
        !self.global.safe && (skipped || disabled)
    }

    /// Returns true if a setting comes from a source that only the user controls.
    fn is_own(&self, key: &str) -> bool {
        let path: Vec<&str> = key.split('.').collect();
        let layer = self.loaded.origin(&path).map(|origin| origin.layer);
        matches!(layer, Some(Layer::Site | Layer::Deployment | Layer::User | Layer::Flag))
    }

    /// Returns true if a setting has another source than the built-in defaults.
    pub fn is_configured(&self, path: &[&str]) -> bool {
        self.loaded.origin(path).is_some_and(|origin| origin.layer != Layer::Builtin)
    }

    /// Returns true if the output is one JSON value.
    pub fn wants_json(&self) -> bool {
        self.format() == OutputFormat::Json
    }

    /// Returns true if a question can be shown and answered on a terminal.
    pub fn can_ask(&self) -> bool {
        self.environment.terminal.stdin && self.environment.terminal.stderr
    }

    /// Returns true if a user at a terminal reads the output as text.
    pub(crate) fn has_reader(&self) -> bool {
        self.can_ask() && self.format() == OutputFormat::Text
    }

    /// Prints `data` as JSON if that is wanted, and `text` otherwise.
    pub fn report(&self, data: &impl Serialize, text: impl Display) -> Outcome {
        if self.wants_json() {
            output::json(data)?;
        } else {
            output::text(text)?;
        }
        Ok(Exit::Done)
    }

    pub fn format(&self) -> OutputFormat {
        self.global.format().unwrap_or(match self.config().behavior.output_format {
            settings::OutputFormat::Text => OutputFormat::Text,
            settings::OutputFormat::Json => OutputFormat::Json,
            settings::OutputFormat::StreamJson => OutputFormat::StreamJson,
        })
    }

    /// The colors of the theme for text that is printed.
    pub fn palette(&self) -> Palette {
        Palette::themed(if self.is_colored() { &self.config().ui.theme.0 } else { "none" })
    }

    /// The number of colors that the terminal shows.
    pub fn depth(&self) -> Depth {
        let variable = |name: &str| self.environment.variable(name).unwrap_or_default();
        if !self.is_colored() {
            return Depth::None;
        }
        Depth::of(variable("TERM"), variable("COLORTERM"))
    }

    /// Returns true if printed text has colors.
    pub fn is_colored(&self) -> bool {
        self.environment.terminal.stdout
            && !self.global.no_color
            && self.environment.variable("NO_COLOR").is_none()
            && self.can_redraw()
    }

    /// Returns true if the terminal supports redrawing.
    pub fn can_redraw(&self) -> bool {
        let term = self.environment.variable("TERM").unwrap_or_default();
        !matches!(term, "" | "dumb")
    }
}

fn surroundings() -> Result<Environment, Problem> {
    Environment::read()
        .map_err(|error| Problem::misuse(format!("cannot read the working directory: {error}")))
}
