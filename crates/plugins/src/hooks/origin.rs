//! Where a hook comes from, and what its processes may see and do because of that: a user's own
//! and a trusted project's what commands of the model may, a plugin's what it was granted.

use std::fs;
use std::path::{Component, Path, PathBuf};

use ::files::path::normalize;
use contract::policy::{Access, Mode};
use contract::sandbox::{Network, Profile};

use super::Settings;
use crate::confine::{allow_program, allow_write};
use crate::plugin::Plugin;

/// The variable that names a plugin's directory for data of its own.
const DATA: &str = "BRYNHILD_PLUGIN_DATA";

/// Where a hook comes from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) scope: Scope,
    /// The file that defines it; for an entry point the words that name it.
    pub(crate) file: PathBuf,
    /// The directory that relative scripts lie in, before they are looked for in the project.
    pub(crate) base: PathBuf,
}

/// Who brings a hook.
#[derive(Clone, Debug)]
pub(crate) enum Scope {
    /// The user.
    Global,
    /// The project, which is trusted.
    Project,
    /// A plugin.
    Plugin(Box<Plugin>),
}

impl Origin {
    /// Who brings the hook, in words.
    pub(crate) fn title(&self) -> String {
        match &self.scope {
            Scope::Global => "global".to_owned(),
            Scope::Project => "project".to_owned(),
            Scope::Plugin(plugin) => format!("plugin {}", plugin.name()),
        }
    }

    /// The plugin, if it is one that brings the hook.
    pub(crate) fn plugin(&self) -> Option<&Plugin> {
        match &self.scope {
            Scope::Plugin(plugin) => Some(plugin),
            Scope::Global | Scope::Project => None,
        }
    }

    /// What a process of the hook may see and do. Makes a plugin's directory for its data.
    pub(crate) fn profile(&self, settings: &Settings, mode: Mode) -> Profile {
        let mut profile = settings.profile.clone();
        if mode == Mode::ReadOnly {
            profile.network = Network::None;
        }
        match &self.scope {
            Scope::Global | Scope::Project => {
                profile.access = written(mode);
                if let (Scope::Global, Some(directory)) = (&self.scope, &settings.config_dir) {
                    profile.read.push(directory.join("hooks"));
                }
            }
            Scope::Plugin(plugin) => grant(&mut profile, plugin, settings, mode),
        }
        profile
    }

    /// The file that a script's path names; where it was looked for if there is none.
    pub(crate) fn script(&self, script: &Path, settings: &Settings) -> Result<PathBuf, String> {
        let places = [self.base.as_path(), &settings.profile.workspace];
        find_script(script, places, settings.home.as_deref())
    }
}

/// The file that a script's path names, which lies in one of two directories where it is relative;
/// where it was looked for if there is none.
pub(crate) fn find_script(
    script: &Path,
    places: [&Path; 2],
    home: Option<&Path>,
) -> Result<PathBuf, String> {
    let candidates = if script.is_absolute() || script.starts_with("~") {
        vec![expanded(script, Path::new("/"), home)]
    } else {
        places.map(|place| normalize(&place.join(script))).into()
    };
    let found = candidates.iter().find(|path| path.is_file());
    found.cloned().ok_or_else(|| {
        let mut looked: Vec<String> =
            candidates.iter().map(|path| path.display().to_string()).collect();
        looked.dedup();
        format!("there is no script {}", looked.join(" and no "))
    })
}

fn written(mode: Mode) -> Access {
    match mode {
        Mode::ReadOnly => Access::ReadOnly,
        Mode::Ask | Mode::Normal | Mode::Yolo => Access::Workspace,
    }
}

/// Narrows a profile to the least that a plugin gets, and widens it by what the user granted.
fn grant(profile: &mut Profile, plugin: &Plugin, settings: &Settings, mode: Mode) {
    let grants = &plugin.settings.grants;
    let home = settings.home.as_deref();
    let workspace = settings.profile.workspace.clone();
    let path = |path: &PathBuf| expanded(path, &workspace, home);
    profile.access = Access::ReadOnly;
    profile.network = Network::None;
    // What Python imports is the plugin's affair, and not that of the directory it is used in.
    profile.env.retain(|name, _| !name.starts_with("PYTHON") && name != "VIRTUAL_ENV");
    profile.read = vec![plugin.root.clone()];
    profile.read.extend(grants.read.iter().map(path));
    for name in &grants.exec {
        let search_path = profile.env.get("PATH").map(String::as_str).unwrap_or_default();
        match program(name, search_path, home) {
            Some(program) => allow_program(profile, &program),
            None => tell(plugin, settings, &format!("there is no program `{name}`")),
        }
    }
    profile.write.clear();
    profile.own.clear();
    if let Some(directory) = data(plugin, settings) {
        profile.env.insert(DATA.to_owned(), directory.display().to_string());
        profile.own.push(directory);
    }
    profile.env.extend(plugin.settings.variable());
    for name in &grants.env {
        if let Some(value) = settings.variables.get(name) {
            profile.env.insert(name.clone(), value.clone());
        }
    }
    if mode == Mode::ReadOnly {
        return;
    }
    profile.network = grants.network.granted(plugin.name());
    for path in grants.write.iter().map(path) {
        if let Err(why) = allow_write(profile, &path, home) {
            tell(plugin, settings, &why);
        }
    }
}

/// Says once what of a plugin's grants could not be given.
fn tell(plugin: &Plugin, settings: &Settings, what: &str) {
    let text = format!("plugins.{}.sandbox: {what}", plugin.name());
    if settings.ledger.is_news(&text) {
        (settings.notice)(text);
    }
}

/// A plugin's directory for data of its own; none where it cannot be made.
fn data(plugin: &Plugin, settings: &Settings) -> Option<PathBuf> {
    let directory = settings.config_dir.as_ref()?.join("plugin-data").join(plugin.name());
    if fs::create_dir_all(&directory).is_err() {
        tell(plugin, settings, &format!("{} cannot be made", directory.display()));
        return None;
    }
    Some(directory)
}

/// A path as a user writes it: from the home, or relative to the workspace.
fn expanded(path: &Path, workspace: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => normalize(&home.join(rest)),
        _ => normalize(&workspace.join(path)),
    }
}

/// The file of a program that was granted by its name or its path.
fn program(name: &str, search_path: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.is_absolute() || path.starts_with("~") {
        return Some(expanded(path, Path::new("/"), home));
    }
    let mut files = search_path.split(':').map(|directory| Path::new(directory).join(name));
    files.find(|file| file.is_absolute() && file.is_file())
}

/// A command in which `./x` names the file of the hook's own directory where there is one, so that no
/// file of a workspace can take its place.
pub(crate) fn relocated(command: &str, base: &Path) -> String {
    let is_plain =
        |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "._/-+@".contains(c));
    let moved = |word: &str| {
        let relative = word.strip_prefix("./").filter(|_| is_plain(word))?;
        let leaves = Path::new(relative).components().any(|part| part == Component::ParentDir);
        let file = base.join(relative);
        (!leaves && file.is_file()).then_some(file)
    };
    let mut out = String::with_capacity(command.len());
    for piece in command.split_inclusive([' ', '\t', '\n', ';', '&', '|', '(', ')']) {
        let word = piece.trim_end_matches([' ', '\t', '\n', ';', '&', '|', '(', ')']);
        match moved(word) {
            Some(file) => {
                let quoted = file.display().to_string().replace('\'', "'\\''");
                out.extend(["'", &quoted, "'"]);
                out.push_str(&piece[word.len()..]);
            }
            None => out.push_str(piece),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_program_of_a_plugin_is_found_in_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().join("it's");
        fs::create_dir_all(base.join("scripts")).unwrap();
        fs::write(base.join("scripts/init.sh"), "").unwrap();
        fs::write(directory.path().join("outside.sh"), "").unwrap();
        let moved = |command: &str| relocated(command, &base);
        let init =
            format!("'{}'", base.join("scripts/init.sh").display()).replace("it's", "it'\\''s");
        assert_eq!(moved("./scripts/init.sh"), init);
        assert_eq!(moved("echo a\n./scripts/init.sh -v; x"), format!("echo a\n{init} -v; x"));
        assert_eq!(moved("true&&./scripts/init.sh"), format!("true&&{init}"));
        for same in [
            "./scripts/none.sh",
            "echo './scripts/init.sh'",
            "./../outside.sh",
            "x=./scripts/init.sh",
        ] {
            assert_eq!(moved(same), same);
        }
    }
}
