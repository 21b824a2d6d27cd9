//! What in a repository makes git run a program when it only looks: `status`, `diff`, `log` and their
//! like. What is not known to be harmless counts. Only reads.

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

/// What makes git run a program when it looks at the repository around `folder`, in words.
pub fn git_runs(folder: &Path) -> Option<String> {
    let top = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    let Some(top) = top else {
        let is_bare = |folder: &&Path| crate::protected::is_bare_repository(folder);
        return folder.ancestors().find(is_bare).and_then(|bare| in_directory(bare, bare));
    };
    let trees = std::iter::once(top.to_owned()).chain(gitlinks::find(top));
    trees.into_iter().find_map(|tree| {
        let directory = gitlinks::git_directory(&tree);
        match directory {
            Some(directory) => in_directory(&directory, &tree),
            None if tree == top => Some(format!("{} is no repository", top.join(".git").display())),
            None => None,
        }
    })
}

fn in_directory(directory: &Path, tree: &Path) -> Option<String> {
    let common = match fs::read_to_string(directory.join("commondir")) {
        Ok(text) => directory.join(text.trim()),
        Err(_) => directory.to_owned(),
    };
    let mut hooks = common.join("hooks");
    for file in [common.join("config"), directory.join("config.worktree")] {
        match read(&file) {
            Ok(None) => {}
            Ok(Some(text)) => {
                let Some(settings) = settings(&text) else {
                    return Some(format!("{} cannot be understood", file.display()));
                };
                if let Some(setting) = settings.iter().find(|setting| !is_harmless(setting)) {
                    let Setting { section, key, .. } = setting;
                    return Some(format!("`{section}.{key}` in {}", file.display()));
                }
                let path =
                    settings.iter().rev().find(|it| it.section == "core" && it.key == "hookspath");
                hooks = path.map_or(hooks, |path| tree.join(path.value.trim_matches('"')));
            }
            Err(()) => return Some(format!("{} cannot be read", file.display())),
        }
    }
    let hook = hooks.join(HOOK);
    hook.symlink_metadata().is_ok().then(|| format!("the hook {}", hook.display()))
}

fn read(file: &PathBuf) -> Result<Option<String>, ()> {
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
