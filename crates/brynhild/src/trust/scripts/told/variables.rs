//! Variables by which programs and shells are told what to load.

/// How the names of such variables begin.
#[rustfmt::skip]
const LOADING: [&str; 69] = [
    "ALSA_", "AWK", "BASH", "BC_ENV", "BLACK_", "BRYNHILD_", "BROWSER", "BUN_", "BUNDLE", "CDPATH", "CLASSPATH", "CLAUDE_", "CURL_",
    "DENO_", "DYLD_", "EDITOR", "ENV", "FPATH", "GCONV_", "GEM_", "GIT_", "GLIBC_", "GREP_", "HOME", "IFS", "INPUTRC",
    "JAVA", "JDK_", "KRB5", "LANG", "LC_", "LD_", "LESS", "LOCPATH", "LUA_", "MAKE", "NLSPATH", "NODE_", "NPM_", "OLDPWD", "OPENSSL",
    "PAGER", "PATH", "PERL", "PHP", "PNPM_", "PROMPT", "PS", "PULSE_", "PWD", "PYTHON", "READLINE_", "RIPGREP_", "RUBY", "RUFF_", "R_",
    "SASL_", "SHELL", "SSH_", "SSL_", "TCL", "TERMINFO", "TSX_", "VISUAL", "WGET", "XDG_", "YARN_", "ZDOTDIR", "_JAVA",
];
/// Further variables that Bash gives a meaning: some are numbers, which are worked out and so may run something,
/// others hold what Bash puts there and not what they are set to.
#[rustfmt::skip]
const OF_BASH: [&str; 60] = [
    "CHILD_MAX", "COLUMNS", "COMPREPLY", "COMP_CWORD", "COMP_KEY", "COMP_LINE", "COMP_POINT", "COMP_TYPE",
    "COMP_WORDBREAKS", "COMP_WORDS", "COPROC", "DIRSTACK", "EMACS", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "EXECIGNORE",
    "FCEDIT", "FIGNORE", "FUNCNAME", "FUNCNEST", "GLOBIGNORE", "GLOBSORT", "GROUPS", "HISTCMD", "HISTCONTROL", "HISTFILE",
    "HISTFILESIZE", "HISTIGNORE", "HISTSIZE", "HISTTIMEFORMAT", "HOSTFILE", "HOSTNAME", "HOSTTYPE", "IGNOREEOF",
    "INSIDE_EMACS", "LINENO", "LINES", "MACHTYPE", "MAIL", "MAILCHECK", "MAILPATH", "MAPFILE", "OPTARG", "OPTERR", "OPTIND",
    "OSTYPE", "PIPESTATUS", "POSIXLY_CORRECT", "PPID", "RANDOM", "REPLY", "SECONDS", "SHLVL", "SRANDOM", "TIMEFORMAT",
    "TMOUT", "TMPDIR", "UID", "_",
];
/// Variables that every program may be given, as long as their value is one of these: others could make a shell read
/// what follows by other letters.
const PLAIN: [&str; 3] = ["LANG", "LC_ALL", "NO_COLOR"];
const PLAIN_VALUES: [&str; 6] = ["", "1", "C", "C.UTF-8", "POSIX", "en_US.UTF-8"];
/// Names in small letters that load.
#[rustfmt::skip]
const SMALL: [&str; 9] =
    ["auto_resume", "cdpath", "fignore", "fpath", "histchars", "module_path", "npm_", "path", "prompt"];
/// Parts of names that most often say where something lies that a program reads.
const PARTS: [&str; 8] = ["CONF", "ENV", "HOME", "HOOK", "INIT", "LIB", "OPT", "PATH"];
/// Variables that load nothing in spite of their names.
const HARMLESS: [&str; 6] = [
    "NODE_ENV",
    "NODE_NO_WARNINGS",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONIOENCODING",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
];

/// Whether a variable of this name says what is loaded.
pub(super) fn loads(name: &str) -> bool {
    let is_prompt = |name: &str| name.len() == 3 && name.starts_with("PS");
    let is_other = name.starts_with("PS") && !is_prompt(name);
    let is_small =
        SMALL.iter().any(|it| name == *it || (it.ends_with('_') && name.starts_with(it)));
    let is_large = || !is_other && LOADING.iter().any(|start| name.starts_with(start));
    !HARMLESS.contains(&name) && (is_small || is_large() || OF_BASH.contains(&name))
}

/// Whether a variable of this name could say it to a program that is given it.
pub(super) fn could_load(name: &str) -> bool {
    let has_part = || PARTS.iter().any(|part| name.contains(part)) || name.ends_with("RC");
    !HARMLESS.contains(&name) && has_part()
}

/// Whether a variable with this value changes nothing.
pub(super) fn is_plain(name: &str, value: Option<&str>) -> bool {
    PLAIN.contains(&name) && value.is_some_and(|value| PLAIN_VALUES.contains(&value))
}
