//! Where a hook of `hooks.yaml` comes from, and where its scripts lie.

use std::path::{Component, Path, PathBuf};

use ::files::path::normalize;
use formats::shell::quote;

use super::Settings;
use super::host::Owner;
use crate::plugin::Plugin;

#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) owner: Owner,
    /// The file that defines it; for an entry point the words that name it.
    pub(crate) file: PathBuf,
    /// The directory that relative scripts lie in, before they are looked for in the project.
    pub(crate) base: PathBuf,
}

impl Origin {
    pub(crate) fn title(&self) -> String {
        match &self.owner {
            Owner::User => "global".to_owned(),
            Owner::Project => "project".to_owned(),
            Owner::Plugin(plugin) => format!("plugin {}", plugin.name()),
        }
    }

    pub(crate) fn plugin(&self) -> Option<&Plugin> {
        self.owner.plugin()
    }

    pub(crate) fn script(&self, script: &Path, settings: &Settings) -> Result<PathBuf, String> {
        let places = [self.base.as_path(), &settings.host.profile.workspace];
        find_script(script, places, settings.host.surroundings.home.as_deref())
    }
}

/// The file of a script, which may be relative to two directories; the error says where it was sought.
pub(crate) fn find_script(
    script: &Path,
    places: [&Path; 2],
    home: Option<&Path>,
) -> Result<PathBuf, String> {
    let candidates = if script.is_absolute() || script.starts_with("~") {
        let in_home = script.strip_prefix("~").ok().zip(home);
        vec![normalize(
            &in_home.map_or_else(|| Path::new("/").join(script), |(rest, home)| home.join(rest)),
        )]
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
                out.push_str(&quote(&file.display().to_string()));
                out.push_str(&piece[word.len()..]);
            }
            None => out.push_str(piece),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_relative_program_of_a_plugin_is_found_in_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().join("it's");
        fs::create_dir_all(base.join("scripts")).unwrap();
        fs::write(base.join("scripts/init.sh"), "").unwrap();
        fs::write(directory.path().join("outside.sh"), "").unwrap();
        let moved = |command: &str| relocated(command, &base);
        let init = format!("\"{}\"", base.join("scripts/init.sh").display());
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
