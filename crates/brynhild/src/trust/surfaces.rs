//! What a workspace can bring that could run or redirect: one list. A part of the program that
//! starts to use a file of the workspace adds it here.

/// Files of a workspace that could do something.
pub(crate) struct Surface {
    /// Where they are, from the project's root: a file, a folder with `/**` for all beneath it, or
    /// with `/**` and an ending for the files beneath it that end so.
    pattern: &'static str,
    /// What they could do, in words that complete "could".
    pub(crate) could: &'static str,
    /// What they need trust for.
    pub(crate) effect: Effect,
}

/// What a file needs trust for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// To run, or to make something run or connect.
    Runs,
    /// For those of its settings that do more than tighten.
    Sets,
    /// For nothing by itself; something else may read or start it.
    Lies,
}

/// What a command line leads to, wherever it lies.
pub(crate) static NAMED: Surface = surface("", "be run by the commands below", Effect::Runs);

/// All of them; the first that fits a file counts.
const SURFACES: &[Surface] = &[
    surface(".brynhild/config.yaml", "change settings", Effect::Sets),
    surface(".env", "change settings", Effect::Sets),
    surface(".brynhild/plugins/**", "run as a part of a plugin", Effect::Runs),
    surface(".brynhild/hooks.yaml", "run commands when something happens", Effect::Runs),
    surface(".brynhild/hooks/**", "run when something happens", Effect::Runs),
    surface(".brynhild/agents/**.md", "be handed work by the model", Effect::Runs),
    surface(".brynhild/rules.md", "tell the model something", Effect::Lies),
    surface(
        ".brynhild/commands/**.md",
        "run commands or tell the model something when named",
        Effect::Lies,
    ),
    surface(".brynhild/skills/**.md", "tell the model something", Effect::Lies),
    surface(".brynhild/skills/**", "be started by the model, if you allow it", Effect::Lies),
    surface(".brynhild/model-aliases.yaml", "have another model asked", Effect::Lies),
    surface(".brynhild/**", "be read by something else in there", Effect::Lies),
    surface(".mcp.json", "start programs and connect to servers", Effect::Runs),
    surface(".claude/settings.json", "run commands when something happens", Effect::Runs),
    surface(".claude/settings.local.json", "run commands when something happens", Effect::Runs),
    surface(".claude/hooks/**", "run when something happens", Effect::Runs),
    surface(".claude/commands/**.md", "run commands when you type its name", Effect::Runs),
    surface(".claude/agents/**.md", "be handed work by the model", Effect::Runs),
    surface(".claude/skills/**.md", "tell the model something", Effect::Lies),
    surface(".claude/skills/**", "be started by the model, if you allow it", Effect::Lies),
    surface(".agents/skills/**.md", "tell the model something", Effect::Lies),
    surface(".agents/skills/**", "be started by the model, if you allow it", Effect::Lies),
];

const fn surface(pattern: &'static str, could: &'static str, effect: Effect) -> Surface {
    Surface { pattern, could, effect }
}

/// The files and folders to look at, from the project's root.
pub(crate) fn places() -> Vec<&'static str> {
    let place = |surface: &Surface| match surface.pattern.split_once("/**") {
        Some((folder, _)) => folder,
        None => surface.pattern,
    };
    let all: Vec<&str> = SURFACES.iter().map(place).collect();
    let mut places: Vec<&str> = Vec::new();
    for place in &all {
        // What lies in a folder that is looked at anyway is found there.
        let is_within = all.iter().any(|other| place.starts_with(&format!("{other}/")));
        if !is_within && !places.contains(place) {
            places.push(place);
        }
    }
    places
}

/// Whether a place is a folder whose files count.
pub(crate) fn is_folder(place: &str) -> bool {
    SURFACES.iter().any(|surface| surface.pattern.starts_with(&format!("{place}/**")))
}

/// Whether something by this name is the history of a repository: it comes with no clone or pull,
/// so that nobody else can change it.
pub(crate) fn is_history(name: &str) -> bool {
    name == ".git"
}

/// Whether a file of a role's or plugin's folder is neither run nor obeyed: prose about it, pictures,
/// tables and logs. What a plugin makes of such a file is for its code to say, which counts.
pub(crate) fn is_inert(path: &str) -> bool {
    const PROSE: [&str; 6] =
        ["README", "LICENSE", "CHANGELOG", "CONTRIBUTING", "NOTICE", "AUTHORS"];
    const DATA: [&str; 19] = [
        "log", "csv", "tsv", "parquet", "db", "sqlite", "sqlite3", "png", "jpg", "jpeg", "gif",
        "svg", "ico", "webp", "pdf", "mp3", "mp4", "wav", "rst",
    ];
    // Whatever lies there is loaded by its place.
    const PARTS: [&str; 12] = [
        "agents",
        "bin",
        "commands",
        "hooks",
        "lib",
        "plugins",
        "profiles",
        "providers",
        "rules",
        "scripts",
        "skills",
        "tools",
    ];
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if folder.split('/').any(|part| PARTS.contains(&part)) {
        return false;
    }
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    PROSE.contains(&stem) && ["", "md", "txt", "rst"].contains(&ending) || DATA.contains(&ending)
}

/// What a file could do; the path is from the project's root.
pub(crate) fn of(path: &str) -> &'static Surface {
    static LINK: Surface = surface("", "lead elsewhere", Effect::Lies);
    static PLUGIN: Surface = surface("", "run as a part of a plugin", Effect::Runs);
    let fits = |surface: &&Surface| match surface.pattern.split_once("/**") {
        Some((folder, ending)) => path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/') && rest.ends_with(ending)),
        None => path == surface.pattern,
    };
    // Every place of a project begins with a dot; other paths are those of a plugin's folder.
    let other = if path.starts_with('.') { &LINK } else { &PLUGIN };
    SURFACES.iter().find(fits).unwrap_or(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_looked_at_once() {
        let wanted = [
            ".env",
            ".brynhild",
            ".mcp.json",
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".claude/hooks",
            ".claude/commands",
            ".claude/agents",
            ".claude/skills",
            ".agents/skills",
        ];
        assert_eq!(places(), wanted);
    }

    #[test]
    fn what_could_run_or_steer_is_never_inert() {
        for path in ["a/role.yaml", "a/x.py", "a/SKILL.md", "a/commands/x.md", "a/run", "a/x.json"]
        {
            assert!(!is_inert(path), "{path}");
        }
        for path in ["a/README.md", "a/LICENSE", "a/sub/ev.log", "a/x.db", "a/p.png"] {
            assert!(is_inert(path), "{path}");
        }
        assert!(!is_inert("a/README.py") && !is_inert("a/readme.sh"));
        assert!(!is_inert("a/hooks/README") && !is_inert("a/commands/git/README.md"));
    }

    #[test]
    fn the_most_particular_description_counts() {
        assert_eq!(of(".brynhild/config.yaml").effect, Effect::Sets);
        assert_eq!(of(".brynhild/plugins/a/run.sh").effect, Effect::Runs);
        assert_eq!(of(".brynhild/skills/a/SKILL.md").could, "tell the model something");
        assert_eq!(of(".brynhild/skills/a/x.sh").effect, Effect::Lies);
        assert_eq!(of(".brynhild/other").effect, Effect::Lies);
        assert_eq!(of(".brynhild").could, "lead elsewhere");
    }
}
