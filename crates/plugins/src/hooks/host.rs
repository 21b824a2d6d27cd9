//! The host of the hooks of all dialects: runs their processes, confined by whose hooks they are.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ::files::surroundings::Surroundings;
use async_trait::async_trait;
use contract::policy::Mode;
use contract::sandbox::Access;
use contract::sandbox::{Channel, Fixed, Network, Profile, Sandbox, Spawn, Stdin};
use contract::trust_check::TrustCheck;

use super::failure::{self, Failed};
use crate::confine::{granted, home_among};
use crate::plugin::Plugin;
use crate::process::Ended;

pub struct HookHost {
    pub sandbox: Arc<dyn Sandbox>,
    /// True if it confines them; the hooks of a plugin that is not confined have the user's home.
    pub is_confined: bool,
    pub surroundings: Surroundings,
    /// The profile of the model's commands, for hooks of the user and of a trusted project.
    pub profile: Profile,
    pub data: PathBuf,
    pub notice: Notice,
    pub reported: Reported,
    /// Says if what the project brings is still what the user trusts.
    pub trust: TrustCheck,
}

/// Hears what the user should know.
pub type Notice = Arc<dyn Fn(String) + Send + Sync>;

/// Texts that the user has read, so that none is shown twice.
#[derive(Clone, Default)]
pub struct Reported(Arc<Mutex<BTreeSet<String>>>);

pub const REPLY_TOKENS: u64 = 500;

/// Puts a question to a model.
#[async_trait]
pub trait Ask: Send + Sync {
    /// The whole reply of a model, at most [`REPLY_TOKENS`] long; of the conversation's if none is named.
    async fn ask(&self, model: Option<&str>, prompt: &str) -> Result<String, String>;
}

#[derive(Clone, Debug)]
pub(crate) enum Owner {
    User,
    Project,
    Plugin(Arc<Plugin>),
}

impl Owner {
    pub(crate) fn plugin(&self) -> Option<&Plugin> {
        match self {
            Self::Plugin(plugin) => Some(plugin),
            Self::User | Self::Project => None,
        }
    }
}

pub(crate) struct Launch<'a> {
    pub(crate) owner: &'a Owner,
    pub(crate) mode: Mode,
    pub(crate) cwd: &'a Path,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) readable: &'a [PathBuf],
    pub(crate) input: &'a [u8],
}

impl HookHost {
    /// The files that must not change while a hook runs. Fails if the project is not trusted any more.
    pub(crate) fn trusted(&self, owner: &Owner) -> Result<Vec<Fixed>, Failed> {
        match owner {
            Owner::Project => self.trust.ask().map_err(Failed::Refused),
            Owner::User | Owner::Plugin(_) => Ok(Vec::new()),
        }
    }

    fn data_of(&self, plugin: &Plugin) -> PathBuf {
        self.data.join(plugin.name())
    }

    /// The profile of a hook's process: that of commands of the model for hooks of the user and of
    /// the project, that of its grants for a plugin. Makes the directory for the plugin's data.
    pub(crate) fn profile(&self, owner: &Owner, mode: Mode) -> Profile {
        let Some(plugin) = owner.plugin() else {
            let mut profile = self.profile.clone();
            if mode == Mode::ReadOnly {
                profile.network = Network::None;
            } else {
                profile.access = Access::Workspace;
            }
            return profile;
        };
        let data = self.data_of(plugin);
        let (mut profile, problems) = granted(plugin, &self.surroundings, &data, mode);
        for problem in problems {
            self.tell_once(format!("{}; {}", problem.what, problem.hint));
        }
        if fs::create_dir_all(&data).is_err() {
            let name = plugin.name();
            self.tell_once(format!("plugins.{name}.sandbox: {} cannot be made", data.display()));
            profile.own.retain(|path| *path != data);
        }
        profile
    }

    pub(crate) async fn run(
        &self,
        launch: &Launch<'_>,
        program: &Path,
        args: Vec<OsString>,
    ) -> Result<Ended, Failed> {
        let mut profile = self.profile(launch.owner, launch.mode);
        profile.fixed = self.trusted(launch.owner)?;
        profile.read.extend(launch.readable.iter().cloned());
        let plugin = launch.owner.plugin().filter(|_| self.is_confined);
        let spawn = Spawn {
            program: program.to_owned(),
            args,
            cwd: launch.cwd.to_owned(),
            stdin: Stdin::Piped,
            channel: Channel::None,
            env: launch.env.clone(),
            home: plugin.map(|plugin| home_among(&self.data_of(plugin))),
        };
        failure::run(self.sandbox.as_ref(), &spawn, &profile, launch.input).await
    }

    fn tell_once(&self, text: String) {
        let mut reported = self.reported.0.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.insert(text.clone()) {
            (self.notice)(text);
        }
    }
}
