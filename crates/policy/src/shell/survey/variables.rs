//! Variables that programs take for the name or the text of something to run, and what is left of a
//! variable's value for the survey. Sees too much rather than too little.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::names::Names;
use super::program_index;
use super::spoken::name_of;
use crate::shell::tolerant::{self, Piece, Segment};

/// Those whose value is a program, perhaps with arguments.
const PROGRAMS: &str = "PROMPT_COMMAND PS0 PS1 PS2 PS4 EDITOR VISUAL PAGER MANPAGER MANOPT \
    BROWSER LESSOPEN LESSCLOSE GIT_SSH GIT_SSH_COMMAND GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER \
    GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND RSYNC_RSH CVS_RSH \
    RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTC RUSTDOC RUSTFMT CARGO_BUILD_RUSTC \
    CARGO_BUILD_RUSTC_WRAPPER NODE PYTHON PERL FC HOSTCC CC CXX LD AR MAKE SHELL TAR_OPTIONS";

/// How the names of others end, of which every tool has its own.
const ENDINGS: &[&str] = &[
    "_RUNNER",
    "_LINKER",
    "_WRAPPER",
    "_LAUNCHER",
    "_COMPILER",
    "_SHELL",
    "_EDITOR",
    "_PAGER",
    "_BROWSER",
    "_ASKPASS",
    "_COMMAND",
    "_CMD",
    "_RSH",
    "_SSH",
    "_PROGRAM",
];

/// Those whose value is options or text of a language in which programs are run.
const TEXTS: &str = "MAKEFLAGS GNUMAKEFLAGS MFLAGS PERL5DB PERL5OPT RUBYOPT NODE_OPTIONS VIMINIT \
    GVIMINIT EXINIT FZF_DEFAULT_OPTS FZF_DEFAULT_COMMAND PYTHONBREAKPOINT";

/// Whether programs take a variable's value for something to run.
pub(crate) fn names_program(variable: &str) -> bool {
    static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| PROGRAMS.split(' ').collect());
    if NAMES.contains(variable) {
        return true;
    }
    // Asked of every variable that is set: all other names are made of parts.
    if !variable.contains('_') {
        return false;
    }
    // The settings of npm are read in either case, and several name a program.
    let upper = variable.to_ascii_uppercase();
    ENDINGS.iter().any(|ending| upper.ends_with(ending)) || upper.starts_with("NPM_CONFIG_")
}

/// Whether any word of a variable's value may be run.
pub(super) fn holds_text(variable: &str) -> bool {
    static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| TEXTS.split(' ').collect());
    variable.starts_with(|c: char| c.is_ascii_uppercase()) && NAMES.contains(variable)
}

/// Builtins that set variables, or run what may.
#[rustfmt::skip]
const SETTING: &[&str] = &[
    "eval", "source", ".", "unset", "declare", "typeset", "local", "readonly", "read", "mapfile", "readarray",
    "getopts", "let", "alias", "builtin", "command", "exec", "coproc", "wait",
];

/// Whether a text may set variables in another way than by assignments and loops that stand there.
pub(crate) fn sets_variables(text: &str) -> bool {
    let scan = tolerant::scan(text);
    let may_set = |segment: &Segment| {
        let program = segment.words.get(program_index(&segment.words));
        let name = name_of(segment);
        let prints_into = |word: &Piece| name == "printf" && word.text.starts_with("-v");
        program.is_some_and(|program| program.dynamic)
            || SETTING.contains(&name)
            || segment.words.iter().any(prints_into)
    };
    scan.torn
        || ["((", "${!"].iter().any(|sign| text.contains(sign))
        || !Names::of(text).functions.is_empty()
        || scan.segments.iter().any(may_set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_name_programs_are_known_by_their_names_and_endings() {
        for name in ["PAGER", "PSQL_PAGER", "CARGO_TARGET_X_RUNNER", "npm_config_script_shell"] {
            assert!(names_program(name), "{name}");
        }
        for name in ["HOME", "RUNNER_OS", "CARGO_TERM_COLOR", "LANG"] {
            assert!(!names_program(name), "{name}");
        }
        assert!(holds_text("MAKEFLAGS") && !holds_text("CFLAGS"));
    }
}
