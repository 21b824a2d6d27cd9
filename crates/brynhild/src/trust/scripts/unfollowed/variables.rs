//! Variables by which programs and shells are told what to load.

/// How the names of such variables begin.
#[rustfmt::skip]
const LOADING: [&str; 62] = [
    "AWK", "BASH", "BC_ENV", "BRYNHILD_", "BROWSER", "BUN_", "BUNDLE", "CDPATH", "CLASSPATH", "CLAUDE_", "CURL_",
    "DENO_", "DYLD_", "EDITOR", "ENV", "FPATH", "GCONV_", "GEM_", "GIT_", "GLIBC_", "GREP_", "HOME", "IFS", "INPUTRC",
    "JAVA", "JDK_", "KRB5", "LD_", "LESS", "LOCPATH", "LUA_", "MAKE", "NLSPATH", "NODE_", "NPM_", "OLDPWD", "OPENSSL",
    "PAGER", "PATH", "PERL", "PHP", "PNPM_", "PROMPT", "PS", "PWD", "PYTHON", "RIPGREP_", "RUBY", "R_",
    "SASL_", "SHELL", "SSH_", "SSL_", "TCL", "TERMINFO", "TSX_", "VISUAL", "WGET", "XDG_", "YARN_", "ZDOTDIR", "_JAVA",
];
/// The same in small letters.
const SMALL: [&str; 7] = ["cdpath", "fignore", "fpath", "module_path", "npm_", "path", "prompt"];
/// Parts of names that most often say where something lies that a program reads.
const PARTS: [&str; 9] = ["CONF", "ENV", "HOME", "HOOK", "INIT", "LIB", "OPT", "PATH", "RC"];

/// Whether a variable of this name says what is loaded.
pub(super) fn loads(name: &str) -> bool {
    let is_prompt = |name: &str| name.len() == 3 && name.starts_with("PS");
    let is_other = name.starts_with("PS") && !is_prompt(name);
    let is_small =
        SMALL.iter().any(|it| name == *it || (it.ends_with('_') && name.starts_with(it)));
    is_small || (!is_other && LOADING.iter().any(|start| name.starts_with(start)))
}

/// Whether a variable of this name could say it to a program that is given it.
pub(super) fn could_load(name: &str) -> bool {
    PARTS.iter().any(|part| name.contains(part))
}

/// Whether a variable that could load something loads nothing with this value.
pub(super) fn is_harmless(name: &str, value: &str) -> bool {
    let is_pager = ["PAGER", "GIT_PAGER", "EDITOR", "GIT_EDITOR", "VISUAL"].contains(&name);
    match name {
        "NODE_ENV"
        | "NODE_NO_WARNINGS"
        | "PYTHONUNBUFFERED"
        | "PYTHONDONTWRITEBYTECODE"
        | "PYTHONIOENCODING"
        | "PYTHONUTF8"
        | "GIT_TERMINAL_PROMPT" => true,
        _ => is_pager && ["", ":", "cat", "true"].contains(&value),
    }
}
