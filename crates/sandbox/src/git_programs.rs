//! What in a repository makes git run a program when it only looks: `status`, `diff`, `log` and their
//! like, or take files for its own that lie elsewhere. What is not known to be harmless counts. Only
//! reads.

use std::path::{Path, PathBuf};

use crate::contents::{self, Found};
use crate::discovery::{self, Repository};
use crate::git_settings::{Setting, settings};
use crate::gitlinks;

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

/// Settings of `format` that matter to no command that looks.
const FORMAT: &[&str] = &[
    "attach",
    "cc",
    "coverfromdescription",
    "coverletter",
    "encodeemailheaders",
    "filenamemaxlength",
    "forceinbodyfrom",
    "from",
    "headers",
    "mboxrd",
    "noprefix",
    "notes",
    "numbered",
    "outputdirectory",
    "signature",
    "signaturefile",
    "signoff",
    "subjectprefix",
    "suffix",
    "thread",
    "to",
    "useautobase",
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

/// What makes git run a program when it looks at the repository around `folder`, or show what lies
/// elsewhere, in words.
pub fn git_runs(folder: &Path) -> Option<String> {
    repositories(folder).and_then(|found| found.iter().try_for_each(Repository::runs_nothing)).err()
}

/// Why git may take its files from elsewhere than the folder that holds the repository around
/// `folder`, in words.
pub fn git_elsewhere(folder: &Path) -> Option<String> {
    repositories(folder).and_then(|found| found.iter().try_for_each(Repository::stays)).err()
}

/// The repository around `folder`, and those in it. Fails where there is something else.
fn repositories(folder: &Path) -> Result<Vec<Repository>, String> {
    let mut found = Vec::new();
    for repository in discovery::around(folder)? {
        let modules = gitlinks::find_all(&repository.tree)?;
        found.push(repository);
        for tree in modules {
            found.extend(Repository::at(&tree)?);
        }
    }
    Ok(found)
}

impl Repository {
    /// The settings of each of its files. Fails where one cannot be understood.
    fn settings(&self) -> Result<Vec<(PathBuf, Vec<Setting>)>, String> {
        let common = discovery::common(&self.directory)?;
        let mut found = Vec::new();
        for file in [common.join("config"), self.directory.join("config.worktree")] {
            let text = match contents::file(&file, MOST_BYTES) {
                Found::Read(text) => text,
                Found::Absent => continue,
                Found::Unknown => return Err(format!("{} cannot be read", file.display())),
            };
            let Some(settings) = settings(&text) else {
                return Err(format!("{} cannot be understood", file.display()));
            };
            found.push((file, settings));
        }
        Ok(found)
    }

    /// Fails where it makes git run something, in words.
    fn runs_nothing(&self) -> Result<(), String> {
        // Which of them git takes depends on more than the last value, so all count.
        let mut hooks = vec![discovery::common(&self.directory)?.join("hooks")];
        for (file, settings) in self.settings()? {
            for setting in &settings {
                let named = || named(setting, &file);
                if !is_harmless(setting) || self.is_led_away(setting) {
                    return Err(named());
                }
                if setting.is("core", "hookspath") {
                    hooks.push(self.tree.join(setting.plain_path().ok_or_else(named)?));
                }
            }
        }
        let is_there = |hook: &PathBuf| !matches!(contents::kind(hook), Found::Absent);
        match hooks.iter().map(|folder| folder.join(HOOK)).find(is_there) {
            Some(hook) => Err(format!("the hook {}", hook.display())),
            None => Ok(()),
        }
    }

    /// Fails where its files may be elsewhere, in words.
    fn stays(&self) -> Result<(), String> {
        for (file, settings) in self.settings()? {
            if let Some(setting) = settings.iter().find(|setting| self.is_led_away(setting)) {
                return Err(named(setting, &file));
            }
        }
        Ok(())
    }

    /// Whether a setting gives the repository the files of another folder, or could.
    fn is_led_away(&self, setting: &Setting) -> bool {
        match setting.section.as_str() {
            "core" if setting.key == "worktree" => {
                let value = setting.plain_path();
                let meant = value.and_then(|value| discovery::named_tree(&self.directory, value));
                meant.is_none() || meant != self.tree.canonicalize().ok()
            }
            section => section.starts_with("include"),
        }
    }
}

fn named(setting: &Setting, file: &Path) -> String {
    format!("`{}.{}` in {}", setting.section, setting.key, file.display())
}

/// Whether no command that only looks runs a program for a setting.
pub(crate) fn is_harmless(setting: &Setting) -> bool {
    let key = setting.key.as_str();
    match setting.section.as_str() {
        "core" => CORE.contains(&key) || (key == "fsmonitor" && setting.bytes() == b"false"),
        "diff" => !["external", "textconv", "command"].contains(&key),
        // To show a merge anew is to run what merges.
        "log" => !["showsignature", "diffmerges"].contains(&key),
        "merge" => key != "driver",
        // What shows a signature starts a program that looks at it.
        "format" if key == "pretty" => !["%", "G"].iter().all(|it| setting.text().contains(it)),
        "format" => FORMAT.contains(&key),
        "gpg" => key == "format",
        "remote" => {
            // Such an address names a program, or a helper.
            let is_address = ["url", "pushurl"].contains(&key);
            let is_program = ["uploadpack", "receivepack", "vcs"].contains(&key);
            let is_helper = is_address && setting.text().contains("::");
            !is_program && !is_helper
        }
        section => SECTIONS.contains(&section),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

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
            ("[log]\ndiffMerges = remerge", true),
            ("[merge \"x\"]\ndriver = ./x", true),
            ("[merge]\nconflictStyle = zdiff3\n[log]\ndate = iso", false),
            ("[format]\npretty = %G?", true),
            ("[format]\npretty = %h %<(9)%+GS", true),
            ("[format]\npretty = oneline\nsignOff = true", false),
            ("[format]\nunheardOf = x", true),
            ("[include]\npath = x", true),
            ("[remote \"o\"]\nurl = ext::sh -c x", true),
            ("[core", true),
            ("[color][core] fsmonitor = \"echo x; false\"", true),
            ("[user] [core]\nfsmonitor = x", true),
            ("[color \"x\"] [core] fsmonitor = x", true),
            ("[core]\neditor = \"x\\\n[user]\"\nfsmonitor = x", true),
            ("[core]\nnotesref = x \\\n[color]\nfsmonitor = x", true),
            ("[core]\nnotesref = x \\\n[core]\n[color]\nfsmonitor = x", false),
            ("[core]\nfsmonitor = \"fal\"se # not now", false),
            ("[core]\nfsmonitor", true),
            ("[remote \"o\"]\nurl = e\"xt:\":sh", true),
            ("[core]\nhooksPath = ~/x", true),
            ("[core]\nhooksPath", true),
            ("[core]\nhooksPath = \"a\\tb\"", true),
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
            ("[color][core] worktree = /etc", true),
            ("[core]\neditor = x\\\n[user]\nworktree = /etc", true),
            ("[core]\nworktree = .\".\" # here", false),
            ("[core]\nworktree", true),
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
        assert_eq!(git_runs(&tree), None);
        fs::create_dir(tree.join(".husky")).unwrap();
        fs::write(tree.join(".husky").join(HOOK), "x").unwrap();
        assert!(git_runs(&tree).unwrap().contains(HOOK));
    }

    #[test]
    fn a_hook_counts_wherever_one_of_the_settings_leads() {
        for (config, worktree) in [
            ("", "[core]\nhooksPath = none\n"),
            ("[core]\nhooksPath = .git/hooks\n", "[core]\nhooksPath = none\n"),
            ("[core]\nhooksPath = .git/hooks\nhooksPath = none\n", ""),
        ] {
            let (_base, tree) = repository(config);
            fs::write(tree.join(".git/config.worktree"), worktree).unwrap();
            assert_eq!(git_runs(&tree), None, "{config} {worktree}");
            fs::write(tree.join(".git/hooks").join(HOOK), "x").unwrap();
            assert!(git_runs(&tree).unwrap().contains(HOOK), "{config} {worktree}");
        }
    }

    #[test]
    fn hooks_are_where_git_takes_the_last_value_to_lead() {
        for value in [".husky # shared", ".hus\"ky\"", "\".husky\" ; x", ".hus\\\nky"] {
            let more = "[core \"x\"]\nhooksPath = .none\n";
            let (_base, tree) = repository(&format!("[core]\nhooksPath = {value}\n{more}"));
            assert_eq!(git_runs(&tree), None, "{value}");
            fs::create_dir(tree.join(".husky")).unwrap();
            fs::write(tree.join(".husky").join(HOOK), "x").unwrap();
            assert!(git_runs(&tree).unwrap().contains(HOOK), "{value}");
        }
    }

    #[test]
    fn the_settings_that_are_shared_count_wherever_they_are() {
        let (_base, tree) = repository("");
        let shared = tree.join(".git").join(OsStr::from_bytes(b"ev\xff"));
        fs::create_dir(&shared).unwrap();
        fs::write(shared.join("config"), "[core]\nfsmonitor = x\n").unwrap();
        assert_eq!(git_runs(&tree), None);
        fs::write(tree.join(".git/commondir"), b"ev\xff\n").unwrap();
        assert!(git_runs(&tree).unwrap().contains("core.fsmonitor"));
        fs::write(tree.join(".git/commondir"), b"nowhere\n").unwrap();
        assert!(git_runs(&tree).is_some() && git_elsewhere(&tree).is_some());
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_nearest_repository_counts_and_what_git_goes_past_hides_nothing() {
        let (_base, tree) = repository("");
        let sub = tree.join("sub");
        for name in ["objects/x", "refs/x"] {
            write(&sub.join(name), "");
        }
        write(&sub.join("HEAD"), "ref: refs/heads/main\n");
        write(&sub.join("config"), "[core]\nbare = false\nworktree = ..\n");
        for folder in ["sub", "sub/refs"] {
            assert!(git_runs(&tree.join(folder)).is_some(), "{folder}");
            assert!(git_elsewhere(&tree.join(folder)).is_some(), "{folder}");
        }
        assert_eq!((git_runs(&tree), git_elsewhere(&tree)), (None, None));

        let (_base, tree) = repository("[core]\nworktree = /etc\n");
        fs::create_dir(tree.join("a/.git")).unwrap();
        assert!(git_runs(&tree.join("a/b")).is_some());
        assert!(git_elsewhere(&tree.join("a/b")).is_some());
    }

    #[test]
    fn a_submodule_whose_git_is_a_link_is_asked_about() {
        let (_base, tree) = repository("");
        let mut index = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
        index.extend([0; 24]);
        index.extend(0o160_000_u32.to_be_bytes());
        index.extend([0; 32]);
        index.extend(b"\0\x01a\0");
        fs::write(tree.join(".git/index"), index).unwrap();
        assert_eq!(git_runs(&tree), None);
        std::os::unix::fs::symlink("../.git", tree.join("a/.git")).unwrap();
        assert!(git_runs(&tree).is_some());
    }

    #[test]
    fn where_there_is_no_repository_nothing_runs() {
        let base = tempfile::tempdir().unwrap();
        assert_eq!(git_runs(base.path()), None);
    }
}
