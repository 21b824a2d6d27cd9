//! The rules that an approval leaves behind: for a command its program and subcommand, for an edit
//! all files of the workspace, for a host that host, for a tool that tool.

use std::path::Path;

use contract::policy::Decision;
use contract::tool::{BUILTIN, ToolSpec};

use crate::call::{Access, Call};
use crate::findings::Kind;
use crate::grant::unwrapped;
use crate::paths::normalize;
use crate::read_only::{self, Knowledge};
use crate::rules::{
    CommandPattern, Matcher, PathPattern, READING, Rule, Scope, Tail, Target, Touch,
};
use crate::shell::{Script, Simple, Word};
use crate::word_list::listed;

/// Programs whose second word says what they do.
const SUBCOMMANDS: &str = "cargo npm pnpm yarn bun deno go git docker podman kubectl helm pip pip3 \
    uv poetry dotnet bundle composer terraform gh rustup systemctl brew apt apt-get mix flutter";

/// The rule of a target, for calls of `tool`.
pub(crate) fn rule(tool: &ToolSpec, target: Target) -> Rule {
    let is_edit = matches!(target, Target::Path(Touch::Write, _)) && tool.source == BUILTIN;
    let text = match &target {
        Target::Command(pattern) => format!("Bash({pattern})"),
        Target::Outside(pattern) => format!("Outside({pattern})"),
        Target::Path(Touch::Write, pattern) => format!("Edit({})", pattern.as_str()),
        Target::Path(Touch::Read | Touch::Any, pattern) => {
            let own = READING.iter().find(|name| **name == tool.name);
            format!("{}({})", own.unwrap_or(&"Read"), pattern.as_str())
        }
        Target::Host(pattern) => format!("Host({})", pattern.as_str()),
        Target::What(what) => format!("{}({what})", tool.name),
        Target::Anything | Target::AnyCommand => tool.name.clone(),
    };
    Rule {
        decision: Decision::Allow,
        scope: Scope::Session,
        origin: String::from("session"),
        text,
        reason: None,
        matcher: Matcher {
            tool: (!is_edit).then(|| tool.name.clone()),
            source: Some(tool.source.clone()),
            target,
        },
    }
}

/// The rule for one simple command that is asked about.
pub(crate) fn command(part: &Simple) -> Option<Target> {
    if !part.assignments.is_empty() {
        return None;
    }
    let argv = unwrapped(part.argv());
    let words: Vec<&str> = argv.iter().map(Word::known).collect::<Option<_>>()?;
    let (program, rest) = words.split_first()?;
    if *program == "cd" || words.iter().any(|word| word.contains('\'')) {
        return None;
    }
    let pattern = match (read_only::check(argv), rest.first()) {
        // A prefix would cover the options that only the tables allow.
        (Knowledge::Checked { .. }, _) => CommandPattern::of(&words, Tail::Exact),
        (Knowledge::Unknown, Some(sub))
            if listed(SUBCOMMANDS, program) && !sub.starts_with('-') =>
        {
            CommandPattern::of(&[program, sub], Tail::Open)
        }
        (Knowledge::Unknown, _) => CommandPattern::of(&[program], Tail::Open),
    };
    Some(Target::Command(pattern))
}

/// The rule for writing a file: all files of its workspace, or only this one if it lies outside or
/// is protected.
pub(crate) fn written(call: &Call<'_>, kind: Kind, path: &Path) -> Option<Target> {
    if kind != Kind::Edit {
        return exact_path(Touch::Write, path);
    }
    let root = call.root_of(path)?;
    let text = if *root == call.places.workspace {
        String::from("**")
    } else {
        format!("{}/**", root.display())
    };
    PathPattern::parse(&text).map(|pattern| Target::Path(Touch::Write, pattern))
}

/// The rules for the files that redirections write.
pub(crate) fn redirects(call: &Call<'_>, script: &Script) -> Vec<Target> {
    let written = script.redirects.iter().filter(|it| it.writes);
    let paths = written.flat_map(|it| {
        it.dirs.iter().map(|dir| normalize(&dir.join(&it.target.text))).collect::<Vec<_>>()
    });
    paths
        .filter_map(|path| match call.may_write(&path) {
            Access::Doubtful(kind, _) => self::written(call, kind, &path),
            Access::Granted { .. } | Access::Usual => None,
        })
        .collect()
}

/// The rule for one file.
pub(crate) fn exact_path(touch: Touch, path: &Path) -> Option<Target> {
    let path = normalize(path);
    let text = path.to_str().filter(|text| !text.contains(['*', '?', '(', ')', '[', '{']))?;
    PathPattern::parse(text).map(|pattern| Target::Path(touch, pattern))
}
