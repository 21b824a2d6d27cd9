//! The table of files in a workspace that could run or redirect something. A part of the program
//! that starts to use a file of the workspace adds it here.

use std::collections::BTreeSet;

pub(crate) struct Surface {
    /// A path from the project's root: a file, or a directory with `/**` and an optional file
    /// ending.
    pattern: &'static str,
    /// Completes the sentence "It could …".
    pub(crate) could: &'static str,
    pub(crate) needs: Needs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// It runs, or makes something run or connect.
    Execution,
    /// It has settings, of which some do more than restrict.
    Settings,
    Nothing,
}

/// A file that a command line names as its program or script.
pub(crate) static NAMED: Surface = surface("", "be run by the commands below", Needs::Execution);

pub(crate) static LINK: Surface = surface("", "lead elsewhere", Needs::Nothing);

const SURFACES: &[Surface] = &[
    surface(".brynhild/config.yaml", "change settings", Needs::Settings),
    surface(".env", "change settings", Needs::Settings),
    surface(".brynhild/plugins/**", "run as a part of a plugin", Needs::Execution),
    surface(".brynhild/hooks.yaml", "run commands when something happens", Needs::Execution),
    surface(".brynhild/hooks/**", "run when something happens", Needs::Execution),
    surface(".brynhild/agents/**.md", "be used as a sub-agent", Needs::Execution),
    surface(".brynhild/rules.md", "tell the model something", Needs::Nothing),
    surface(
        ".brynhild/commands/**.md",
        "run commands or tell the model something when named",
        Needs::Nothing,
    ),
    surface(".brynhild/skills/**.md", "tell the model something", Needs::Nothing),
    surface(".brynhild/skills/**", "be started by the model, if you allow it", Needs::Nothing),
    surface(".brynhild/model-aliases.yaml", "have another model asked", Needs::Nothing),
    surface(".mcp.json", "start programs and connect to servers", Needs::Execution),
    surface(".claude/settings.json", "run commands when something happens", Needs::Execution),
    surface(".claude/settings.local.json", "run commands when something happens", Needs::Execution),
    surface(".claude/hooks/**", "run when something happens", Needs::Execution),
    surface(".claude/commands/**.md", "run commands when you type its name", Needs::Execution),
    surface(".claude/agents/**.md", "be used as a sub-agent", Needs::Execution),
    surface(".claude/skills/**.md", "tell the model something", Needs::Nothing),
    surface(".claude/skills/**", "be started by the model, if you allow it", Needs::Nothing),
    surface(".agents/skills/**.md", "tell the model something", Needs::Nothing),
    surface(".agents/skills/**", "be started by the model, if you allow it", Needs::Nothing),
];

const fn surface(pattern: &'static str, could: &'static str, needs: Needs) -> Surface {
    Surface { pattern, could, needs }
}

pub(crate) fn places() -> Vec<&'static str> {
    let patterns = SURFACES.iter().map(|surface| surface.pattern);
    let places: BTreeSet<&str> =
        patterns.map(|it| it.split_once("/**").map_or(it, |(directory, _)| directory)).collect();
    places.into_iter().collect()
}

/// Returns true if a place is a directory whose files count.
pub(crate) fn is_directory(place: &str) -> bool {
    SURFACES.iter().any(|surface| surface.pattern.starts_with(&format!("{place}/**")))
}

/// The surface that a path from the project's root belongs to. Prose and data that no part of the
/// program loads belong to none, unless they are executable.
pub(crate) fn of(path: &str) -> Option<&'static Surface> {
    let fits = |surface: &&Surface| match surface.pattern.split_once("/**") {
        Some((directory, ending)) => path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.starts_with('/') && rest.ends_with(ending)),
        None => path == surface.pattern,
    };
    SURFACES.iter().find(fits)
}

/// Returns true for prose, pictures, tables, logs and package manifests, which are neither run nor
/// obeyed.
pub(crate) fn is_data(path: &str) -> bool {
    const PROSE: [&str; 6] =
        ["README", "LICENSE", "CHANGELOG", "CONTRIBUTING", "NOTICE", "AUTHORS"];
    const DATA: [&str; 22] = [
        "log", "txt", "jsonl", "lock", "csv", "tsv", "parquet", "db", "sqlite", "sqlite3", "png",
        "jpg", "jpeg", "gif", "svg", "ico", "webp", "pdf", "mp3", "mp4", "wav", "rst",
    ];
    // Markdown files in these directories are loaded, whatever their name.
    const LOADED: [&str; 4] = ["agents", "commands", "rules", "skills"];
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_loaded = directory.split('/').any(|part| LOADED.contains(&part)) && ending == "md";
    let is_prose = PROSE.contains(&stem) && ["", "md", "txt"].contains(&ending) && !is_loaded;
    is_prose || DATA.contains(&ending) || ["package.json", "package-lock.json"].contains(&name)
}

/// Returns true if a file defines hooks: the project's own, or those of one of its plugins.
pub(crate) fn defines_hooks(path: &str) -> bool {
    let is_json = path.rsplit_once('.').is_some_and(|(_, ending)| ending == "json");
    let is_plugin_file =
        path.starts_with(".brynhild/plugins/") && (path.ends_with("/hooks.yaml") || is_json);
    let is_settings = path.starts_with(".claude/settings") && is_json;
    path == crate::HOOKS || is_settings || is_plugin_file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_files_are_no_trust_surface() {
        for path in ["a/role.yaml", "a/x.py", "a/SKILL.md", "a/commands/README.md", "a/x.json"] {
            assert!(!is_data(path), "{path}");
        }
        for path in ["a/README.md", "a/LICENSE", "a/hooks/ev.log", "a/x.db", "a/package.json"] {
            assert!(is_data(path), "{path}");
        }
        assert!(!is_data("a/README.py") && !is_data("a/readme.sh"));
    }

    #[test]
    fn first_matching_surface_wins() {
        let needs = |path| of(path).map(|surface| surface.needs);
        assert_eq!(needs(".brynhild/config.yaml"), Some(Needs::Settings));
        assert_eq!(needs(".brynhild/plugins/a/run.sh"), Some(Needs::Execution));
        assert_eq!(needs(".brynhild/skills/a/x.sh"), Some(Needs::Nothing));
        assert_eq!(needs(".brynhild/other"), None);
    }
}
