//! Loads the configuration with the environment of this machine: the flags that are settings, the
//! project's root, and the paths that the sandbox may open.

use std::path::{Path, PathBuf};

use args::Global;
use config::load::{self, Loaded, OnMistake, Sources};
use config::report::{ConfigError, Warning};
use contract::policy::Mode;
use serde_json::{Value, json};
use trust::project::Trusted;

use crate::environment::Environment;
use crate::project_root::{self, NoProject};

/// The configuration sources and the project's root. No project file is trusted yet.
pub(crate) fn sources(
    global: &Global,
    environment: &Environment,
) -> (Sources, Result<PathBuf, NoProject>) {
    let Environment { cwd, home, variables, .. } = environment;
    let root = project_root::project_root(cwd, home.as_deref(), variables);
    let root = root.or_else(|none| match none {
        NoProject::TooWide { root } if global.allows_wide_root => Ok(root),
        other => Err(other),
    });
    let sources = Sources {
        env: variables.clone(),
        home: home.clone(),
        project_root: root.as_ref().map_or_else(|none| none.root().to_owned(), Clone::clone),
        flags: flags(global),
        read_project: root.is_ok() && !global.safe,
        trusted: [].into(),
        on_mistake: if global.safe { OnMistake::SkipLayer } else { OnMistake::Stop },
    };
    (sources, root)
}

/// Lets trusted project files be read, with the bytes that are trusted.
pub(crate) fn trust(sources: &mut Sources, trusted: &Trusted) {
    let paths = sources.files().into_iter().filter_map(|file| file.path);
    let files = paths.filter_map(|path| Some((path.clone(), trusted.bytes(&path)?.to_vec())));
    sources.trusted = files.collect();
}

pub(crate) fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
    let mut loaded = load::load(sources)?;
    let Loaded { config, warnings, config_dir, .. } = &mut loaded;
    let (root, sandbox) = (&sources.project_root, &mut config.sandbox);
    let mut names = Vec::new();
    for (key, paths) in [
        ("sandbox.allowed_paths", &mut sandbox.allowed_paths),
        ("sandbox.read_paths", &mut sandbox.read_paths),
    ] {
        if let Some(config_dir) = config_dir.as_deref().filter(|_| !paths.is_empty()) {
            names.extend(resolve((key, paths), root, config_dir, warnings));
        }
    }
    names.extend(project_root::entered_by(root, &sources.env));
    // Programs look these paths up under the symlink names.
    sandbox.read_paths.extend(names);
    Ok(loaded)
}

/// Replaces paths by their real ones and drops those that a command may have redirected. Returns
/// the symlinks.
fn resolve(
    (key, paths): (&str, &mut Vec<PathBuf>),
    root: &Path,
    config_dir: &Path,
    warnings: &mut Vec<Warning>,
) -> Vec<PathBuf> {
    let (granted, refused) =
        sandbox::granted_paths(paths, root, &config_dir.join(setup::user_files::SANDBOX));
    let warning = |text| Warning { place: key.to_owned(), text, hint: None };
    warnings.extend(refused.into_iter().map(warning));
    *paths = granted.iter().map(|(_, real)| real.clone()).collect();
    let symlinks = granted.into_iter().filter(|(written, real)| written != real);
    symlinks.map(|(written, _)| written).collect()
}

fn flags(global: &Global) -> Vec<(String, Value)> {
    let mode = if global.safe { Some(Mode::ReadOnly) } else { global.mode.map(Mode::from) };
    let mode = mode.or_else(|| global.dangerously_skip_permissions.then_some(Mode::Yolo));
    let mode = mode.map(|mode| ("behavior.mode", json!(mode.as_str())));
    let switches = [
        (global.verbose, "behavior.verbose"),
        (global.show_thinking, "behavior.show_thinking"),
        (global.show_cost, "behavior.show_cost"),
        (global.raw_log, "logging.raw_payloads"),
        (global.dangerously_skip_sandbox, "dangerously_skip_sandbox"),
    ];
    let switches = switches.into_iter().filter(|(is_on, _)| *is_on);
    let servers =
        (!global.mcp_servers.is_empty()).then(|| ("mcp.servers", json!(global.mcp_servers)));
    let flags = mode.into_iter().chain(servers);
    let flags = flags.chain(switches.map(|(_, key)| (key, json!(true))));
    flags.map(|(key, value)| (key.to_owned(), value)).collect()
}
