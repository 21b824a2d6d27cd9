//! The environment variables of child processes: a short list inside the sandbox, all but secrets
//! outside of it.

use std::collections::BTreeMap;

use config::redact;

use crate::assembly::Assembly;

impl Assembly {
    /// The environment outside of the sandbox: the user's own without secrets.
    pub(crate) fn host_environment(&self) -> BTreeMap<String, String> {
        without_keys(self, |name| !redact::is_secret(name))
    }

    /// The environment of sandboxed commands: an allowlist, and never a key.
    pub(crate) fn child_environment(&self) -> BTreeMap<String, String> {
        #[rustfmt::skip]
        const NAMES: &[&str] = &[
            "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "LANG", "LANGUAGE", "TZ",
            "EDITOR", "VISUAL", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "CARGO_HOME",
            "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "PYENV_ROOT", "NVM_DIR", "GOPATH", "GOROOT", "JAVA_HOME",
            "CI", "NO_COLOR", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME",
            "GIT_COMMITTER_EMAIL", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME",
        ];
        without_keys(self, |name| NAMES.contains(&name) || name.starts_with("LC_"))
    }
}

/// The wanted variables, without those whose value has a key, whatever their name.
fn without_keys(assembly: &Assembly, wants: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    let secrets = assembly.secrets();
    let mut variables = assembly.environment.variables.clone();
    variables.retain(|name, value| wants(name) && !secrets.are_in(value));
    variables
}
