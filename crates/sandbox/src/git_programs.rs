//! What in a repository makes git run a program when it only looks: `status`, `diff`, `log` and their
//! like, or take files for its own that lie elsewhere. What is not known to be harmless counts. Only
//! reads.

use std::fs;
use std::path::{Path, PathBuf};

use crate::gitlinks;
use crate::harmless::{Setting, settings};

const MOST_BYTES: u64 = 1 << 20;

/// The hook that git runs whenever it has refreshed its index.
const HOOK: &str = "post-index-change";

/// Sections none of whose settings matters to commands that look.
const SECTIONS: &[&str] = &[
    "advice",
    "alias",
    "am",
    "apply",
    "author",
    "blame",
    "branch",
    "browser",
    "checkout",
    "clean",
    "color",
    "column",
    "commit",
    "committer",
    "difftool",
    "extensions",
    "feature",
    "fetch",
    "format",
    "gc",
    "gitg",
    "github",
    "gitk",
    "grep",
    "gui",
    "help",
    "http",
    "hub",
    "i18n",
    "index",
    "init",
    "instaweb",
    "lfs",
    "maintenance",
    "merge",
    "mergetool",
    "notes",
    "pack",
    "pager",
    "pull",
    "push",
    "rebase",
    "receive",
    "repack",
    "rerere",
    "sendemail",
    "sequence",
    "stash",
    "status",
    "submodule",
    "svn",
    "svn-remote",
    "tag",
    "transfer",
    "user",
    "web",
    "worktree",
];

/// Settings of `core` that name no program that such commands run.
const CORE: &[&str] = &[
    "abbrev",
    "attributesfile",
    "autocrlf",
    "bare",
    "bigfilethreshold",
    "checkstat",
    "commentchar",
    "commitgraph",
    "compression",
    "editor",
    "eol",
    "excludesfile",
    "filemode",
    "fsync",
    "hookspath",
    "ignorecase",
    "logallrefupdates",
    "longpaths",
    "loosecompression",
    "multipackindex",
    "notesref",
    "packedgitlimit",
    "packedgitwindowsize",
    "pager",
    "precomposeunicode",
    "preloadindex",
    "protecthfs",
    "protectntfs",
    "quotepath",
    "repositoryformatversion",
    "safecrlf",
    "sharedrepository",
    "sparsecheckout",
    "sparsecheckoutcone",
    "splitindex",
    "symlinks",
    "trustctime",
    "untrackedcache",
    "whitespace",
    "worktree",
];

/// A repository that git looks into.
struct Repository {
    directory: PathBuf,
    tree: PathBuf,
}

/// What makes git run a program when it looks at the repository around `folder`, or show what lies
/// elsewhere, in words.
pub fn git_runs(folder: &Path) -> Option<String> {
    match repositories(folder) {
        Ok(repositories) => repositories.iter().find_map(Repository::runs),
        Err(why) => Some(why),
    }
}

/// Why git may take its files from elsewhere than the folder that holds the repository around
/// `folder`, in words.
pub fn git_elsewhere(folder: &Path) -> Option<String> {
    match repositories(folder) {
        Ok(repositories) => repositories.iter().find_map(Repository::leads_away),
        Err(why) => Some(why),
    }
}

/// The repository around `folder`, and those in it. Fails where there is something else.
fn repositories(folder: &Path) -> Result<Vec<Repository>, String> {
    let top = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    let Some(top) = top else {
        let is_bare = |folder: &&Path| crate::protected::is_bare_repository(folder);
        let bare = folder.ancestors().find(is_bare).map(Path::to_owned);
        let whole = |bare: PathBuf| Repository { directory: bare.clone(), tree: bare };
        return Ok(bare.map(whole).into_iter().collect());
    };
    let mut found = Vec::new();
    for tree in std::iter::once(top.to_owned()).chain(gitlinks::find(top)) {
        match gitlinks::git_directory(&tree) {
            Some(directory) => found.push(Repository { directory, tree }),
            None if tree == top => {
                return Err(format!("{} is no repository", top.join(".git").display()));
            }
            None => {}
        }
    }
    Ok(found)
}

impl Repository {
    /// The folder that it shares with others of which it is a further tree.
    fn common(&self) -> PathBuf {
        match fs::read_to_string(self.directory.join("commondir")) {
            Ok(text) => self.directory.join(text.trim()),
            Err(_) => self.directory.clone(),
        }
    }

    fn files(&self) -> [PathBuf; 2] {
        [self.common().join("config"), self.directory.join("config.worktree")]
    }

    fn runs(&self) -> Option<String> {
        let mut hooks = self.common().join("hooks");
        for file in self.files() {
            let Some(text) = read(&file).transpose() else { continue };
            let Ok(text) = text else { return Some(format!("{} cannot be read", file.display())) };
            let Some(settings) = settings(&text) else {
                return Some(format!("{} cannot be understood", file.display()));
            };
            let is_harmful = |it: &&Setting<'_>| !is_harmless(it) || self.is_led_away(it);
            if let Some(setting) = settings.iter().find(is_harmful) {
                return Some(named(setting, &file));
            }
            let path =
                settings.iter().rev().find(|it| it.section == "core" && it.key == "hookspath");
            hooks = path.map_or(hooks, |path| self.tree.join(path.value.trim_matches('"')));
        }
        let hook = hooks.join(HOOK);
        hook.symlink_metadata().is_ok().then(|| format!("the hook {}", hook.display()))
    }

    fn leads_away(&self) -> Option<String> {
        self.files().iter().find_map(|file| {
            let Ok(text) = read(file) else {
                return Some(format!("{} cannot be read", file.display()));
            };
            let text = text?;
            let Some(settings) = settings(&text) else {
                return Some(format!("{} cannot be understood", file.display()));
            };
            let setting = settings.iter().find(|setting| self.is_led_away(setting));
            setting.map(|setting| named(setting, file))
        })
    }

    /// Whether a setting gives the repository the files of another folder, or could.
    fn is_led_away(&self, setting: &Setting<'_>) -> bool {
        match setting.section.as_str() {
            "include" | "includeif" => true,
            "core" if setting.key == "worktree" => {
                let meant = self.directory.join(setting.value.trim_matches('"'));
                let is_own = match (meant.canonicalize(), self.tree.canonicalize()) {
                    (Ok(meant), Ok(tree)) => meant == tree,
                    (Ok(_) | Err(_), _) => false,
                };
                !is_own
            }
            _ => false,
        }
    }
}

fn named(setting: &Setting<'_>, file: &Path) -> String {
    format!("`{}.{}` in {}", setting.section, setting.key, file.display())
}

fn read(file: &Path) -> Result<Option<String>, ()> {
    match fs::metadata(file) {
        Ok(found) if found.is_file() && found.len() <= MOST_BYTES => {
            fs::read_to_string(file).map(Some).map_err(|_| ())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Ok(_) | Err(_) => Err(()),
    }
}

fn is_harmless(setting: &Setting<'_>) -> bool {
    let key = setting.key.as_str();
    match setting.section.as_str() {
        "core" => CORE.contains(&key) || (key == "fsmonitor" && setting.value == "false"),
        "diff" => !["external", "textconv", "command"].contains(&key),
        "log" => key != "showsignature",
        "gpg" => key == "format",
        "remote" => {
            // Such an address names a program, or a helper.
            let is_address = ["url", "pushurl"].contains(&key);
            let is_program = ["uploadpack", "receivepack", "vcs"].contains(&key);
            let is_helper = is_address && setting.value.contains("::");
            !is_program && !is_helper
        }
        section => SECTIONS.contains(&section),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(config: &str) -> (tempfile::TempDir, PathBuf) {
        let base = tempfile::tempdir().unwrap();
        let tree = base.path().join("tree");
        fs::create_dir_all(tree.join(".git/hooks")).unwrap();
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::write(tree.join(".git/config"), config).unwrap();
        (base, tree)
    }

    #[test]
    fn programs_are_found_and_everyday_settings_are_not() {
        for (config, is_found) in [
            ("[core]\n\tbare = false\n\thooksPath = .husky\n[user]\nname = a\n", false),
            ("[alias]\nx = !rm\n[diff \"a\"]\nxfuncname = x\n[core]\nfsmonitor = false", false),
            ("[remote \"o\"]\nurl = git@h:x/y\n", false),
            ("[core]\nfsmonitor = ./x", true),
            ("[diff]\nexternal = ./x", true),
            ("[diff \"a\"]\ntextconv = ./x", true),
            ("[filter \"a\"]\nclean = ./x", true),
            ("[gpg]\nprogram = ./x", true),
            ("[log]\nshowSignature = true", true),
            ("[include]\npath = x", true),
            ("[remote \"o\"]\nurl = ext::sh -c x", true),
            ("[core", true),
        ] {
            let (_base, tree) = repository(config);
            assert_eq!(git_runs(&tree.join("a/b")).is_some(), is_found, "{config}");
        }
    }

    #[test]
    fn a_repository_whose_files_are_elsewhere_is_asked_about() {
        for (config, is_found) in [
            ("[core]\nbare = false", false),
            ("[core]\nworktree = ..", false),
            ("[core]\nworktree = \"../../tree\"", false),
            ("[core]\nworktree = /etc", true),
            ("[core]\nworktree = ../a", true),
            ("[CORE] WorkTree=/etc", true),
            ("[core]\nworktree = \\\n/etc", true),
            ("[core]\nworktree = ..\nworktree = /etc", true),
            ("[include]\npath = x", true),
            ("[includeIf \"gitdir:/\"]\npath = x", true),
            ("[core", true),
        ] {
            let (_base, tree) = repository(config);
            assert_eq!(git_elsewhere(&tree.join("a/b")).is_some(), is_found, "{config}");
            assert_eq!(git_runs(&tree.join("a/b")).is_some(), is_found, "{config}");
            let (_base, tree) = repository("");
            fs::write(tree.join(".git/config.worktree"), config).unwrap();
            assert_eq!(git_elsewhere(&tree).is_some(), is_found, "{config}");
        }
    }

    #[test]
    fn a_hook_that_looking_sets_off_is_found_where_hooks_are() {
        let (_base, tree) = repository("[core]\nhooksPath = .husky\n");
        fs::write(tree.join(".git/hooks").join(HOOK), "x").unwrap();
        assert_eq!(git_runs(&tree), None);
        fs::create_dir(tree.join(".husky")).unwrap();
        fs::write(tree.join(".husky").join(HOOK), "x").unwrap();
        assert!(git_runs(&tree).unwrap().contains(HOOK));
    }

    #[test]
    fn where_there_is_no_repository_nothing_runs() {
        let base = tempfile::tempdir().unwrap();
        assert_eq!(git_runs(base.path()), None);
    }
}
