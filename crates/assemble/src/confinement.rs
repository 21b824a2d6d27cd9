//! The sandbox of a run, and the access that its processes get.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::policy::Mode;
use contract::sandbox::{Access, Confinement, Limits, Network, Profile, Sandbox};
use trust::process_check::CheckedSandbox;

use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::output;
use crate::run_context::RunContext;
use crate::{audit, permissions, skills};

impl Assembly {
    /// The sandbox, or the unconfined one if the user's own settings ask for it.
    pub fn sandbox(&self) -> Result<Arc<dyn Sandbox>, Problem> {
        if let Some(made) = self.services.sandbox.get() {
            return Ok(Arc::clone(made));
        }
        let settings = sandbox_settings(self)?;
        let made = if self.is_unconfined() {
            output::warning("tools run without a sandbox");
            if let Some(config_dir) = &self.loaded.config_dir {
                let (audit, project) = (audit::open(config_dir), self.root().ok());
                audit.note_or_warn("unconfined", "tools ran without a sandbox", project);
            }
            sandbox::unconfined(settings)
        } else {
            sandbox::strongest(settings)
        };
        let checked = CheckedSandbox { sandbox: made, roots: Arc::clone(self.trusted_roots()) };
        Ok(Arc::clone(self.services.sandbox.get_or_init(|| Arc::new(checked))))
    }
}

/// The settings of a sandbox for this run.
pub fn sandbox_settings(assembly: &Assembly) -> Result<sandbox::Settings, Problem> {
    Ok(sandbox::Settings {
        helper: assembly.environment.executable.clone(),
        state: assembly.state_dir()?,
        home: assembly.environment.home.clone(),
        backend: None,
        notice: Some(Arc::new(|text| output::warning(&text))),
        on_proxy_request: proxy_observer(assembly),
        rules: permissions::file_rules(assembly)?,
        hosts: permissions::host_rules(assembly)?.map(|rules| -> sandbox::HostRules {
            Arc::new(move |host: &str| rules.denying(host).map(str::to_owned))
        }),
        host_env: assembly.host_environment(),
        tracker: Some(assembly.services.tracker(assembly.place())),
        signs_commits: git_settings(assembly, assembly.place()).is_some_and(|it| it.signs_commits),
    })
}

/// Logs the hosts that a process with host grants asked for.
fn proxy_observer(run: &RunContext) -> Option<sandbox::ProxyObserver> {
    let audit = audit::open(run.loaded.config_dir.as_ref()?);
    let project = run.root().ok().map(Path::to_owned);
    Some(Arc::new(move |request: &sandbox::ProxyRequest<'_>| {
        let what = match request.verdict {
            sandbox::Verdict::Allowed => "reached",
            sandbox::Verdict::Denied => "not reached",
        };
        let sandbox::ProxyRequest { host, port, key, is_last, .. } = request;
        let more = if *is_last { "; further ones of this process are not listed" } else { "" };
        audit.note_or_warn(what, &format!("{host}:{port} ({key}){more}"), project.as_deref());
    }))
}

/// The sandbox with the access that commands get in a directory.
pub fn confinement(assembly: &Assembly, root: &Path) -> Result<Confinement, Problem> {
    Ok(Confinement::new(assembly.sandbox()?, command_profile(assembly, root)))
}

/// The access that commands get in a directory.
pub fn command_profile(assembly: &Assembly, root: &Path) -> Profile {
    let config = assembly.config();
    let has_network = config.sandbox.allow_network && assembly.mode() != Mode::ReadOnly;
    let network = if has_network { Network::Host } else { Network::None };
    let mut read = [config.sandbox.read_paths.clone(), skills::directories(assembly)].concat();
    let mut env = assembly.child_environment();
    if let Some(git) = git_settings(assembly, root) {
        read.push(git.directory);
        env.extend(git.env);
    } else if let Some(file) = assembly.environment.variables.get("GIT_CONFIG_GLOBAL") {
        env.insert("GIT_CONFIG_GLOBAL".to_owned(), file.clone());
    }
    // A single file with a protected name that the user grants is mounted by itself.
    let is_file = |path: &PathBuf| {
        let inside = path.strip_prefix(root).ok();
        inside.and_then(files::protected::protected).is_some() && path.is_file()
    };
    let (mut own, write): (Vec<_>, Vec<_>) =
        config.sandbox.allowed_paths.iter().cloned().partition(is_file);
    if assembly.mode() == Mode::ReadOnly {
        own.clear();
    }
    Profile {
        workspace: root.to_owned(),
        access: Access::ReadOnly,
        read,
        write,
        own,
        fixed: Vec::new(),
        network,
        env,
        limits: Limits::default(),
    }
}

fn git_settings(run: &RunContext, root: &Path) -> Option<sandbox::GitGlobal> {
    if run.is_unconfined() {
        return None;
    }
    let writable = [&[root.to_owned()], run.config().sandbox.allowed_paths.as_slice()].concat();
    let (home, variables) = (run.environment.home.as_deref(), &run.environment.variables);
    sandbox::git_global(home, variables, &run.state_dir().ok()?, &writable)
}
