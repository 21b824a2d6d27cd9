//! The environment variables of child processes: a short list inside the sandbox, all but secrets
//! outside of it.

use std::collections::BTreeMap;

use config::redact;

use crate::assemble::assembly::Assembly;

/// The environment outside of the sandbox: the user's own without secrets.
pub(crate) fn host_environment(assembly: &Assembly) -> BTreeMap<String, String> {
    let secrets = assembly.secrets();
    let variables = assembly.environment.variables.iter();
    variables
        .filter(|(name, value)| !redact::is_secret(name) && !secrets.are_in(value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The environment of sandboxed commands: an allowlist, and never a key.
pub(crate) fn child_environment(assembly: &Assembly) -> BTreeMap<String, String> {
    const NAMES: &[&str] = &[
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "COLORTERM",
        "LANG",
        "LANGUAGE",
        "TZ",
        "EDITOR",
        "VISUAL",
        "PYTHONPATH",
        "PYTHONDONTWRITEBYTECODE",
        "VIRTUAL_ENV",
        "CARGO_HOME",
        "RUSTUP_HOME",
        "RUSTUP_TOOLCHAIN",
        "PYENV_ROOT",
        "NVM_DIR",
        "GOPATH",
        "GOROOT",
        "JAVA_HOME",
        "CI",
        "NO_COLOR",
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_CACHE_HOME",
    ];
    let is_wanted = |name: &str| NAMES.contains(&name) || name.starts_with("LC_");
    // A value that has a key is dropped, whatever the variable's name.
    let secrets = assembly.secrets();
    let variables = assembly.environment.variables.iter();
    variables
        .filter(|(name, value)| is_wanted(name) && !secrets.are_in(value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
