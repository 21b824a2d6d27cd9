//! What the settings of the user and of the repository mean for a commit. Of the repository's only
//! a short list counts: how files are read, never what is run or who commits.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use contract::broker::BrokerError;

use super::Settings;
use super::git::Git;
use super::repository::{Repository, Tie};

/// Settings that say how files and names are read, and name no program.
const CARRIED: [&str; 9] = [
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.sharedrepository",
    "core.trustctime",
];

/// Extensions of the repository's format that make no difference here.
const HARMLESS: [&str; 5] =
    ["noop", "partialclone", "preciousobjects", "worktreeconfig", "relativeworktrees"];

const COMMIT_HOOKS: [&str; 4] = ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"];

/// The settings of both sides. Later ones win.
#[derive(Debug)]
pub(crate) struct Preferences {
    pub(crate) repository: Vec<(String, String)>,
    pub(crate) user: Vec<(String, String)>,
}

/// How a commit treats a file with a `filter` attribute.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// Nothing depends on it.
    Skipped,
    /// Without it the file would be stored as it must not be.
    Needed,
}

impl Preferences {
    /// Reads both sides.
    pub(crate) async fn read(
        git: &Git,
        repository: &Repository,
        settings: &Settings,
    ) -> Result<Self, BrokerError> {
        let home = settings.home.as_deref();
        Ok(Self {
            repository: git.settings_of(&repository.common.join("config")).await?,
            user: git.settings_of_user(&repository.own, home, &settings.env).await?,
        })
    }

    /// Refuses a repository that is not this workspace's, not the user's, or of an unknown kind.
    pub(crate) fn check(&self, repository: &Repository) -> Result<(), BrokerError> {
        let refuse = |text: String| Err(BrokerError::Refused(text));
        let root = &repository.root;
        if repository.tie == Tie::Setting {
            let named = last(&self.repository, "core.worktree").unwrap_or_default();
            let named = repository.own.join(named).canonicalize().ok();
            if named.as_ref() != Some(root) {
                let (root, own) = (root.display(), repository.own.display());
                return refuse(format!("{root}/.git points to {own}, which does not point back"));
            }
        }
        if let Some(part) = repository.foreign()
            && !self.is_declared_safe(root)
        {
            return refuse(format!(
                "{} belongs to another user; `git config --global --add safe.directory {}` \
                 allows it",
                part.display(),
                root.display()
            ));
        }
        let extensions = self.repository.iter().filter_map(|(name, value)| {
            Some((name.strip_prefix("extensions.")?, value.to_ascii_lowercase()))
        });
        for (name, value) in extensions {
            let known = HARMLESS.contains(&name)
                || (name == "objectformat" && matches!(value.as_str(), "sha1" | "sha256"))
                || (name == "refstorage" && value == "files");
            if !known {
                return refuse(format!(
                    "the repository uses extensions.{name}={value}, which is not supported here; \
                     use git itself"
                ));
            }
        }
        Ok(())
    }

    fn is_declared_safe(&self, root: &Path) -> bool {
        let mut safe = false;
        for (_, value) in self.user.iter().filter(|(name, _)| name == "safe.directory") {
            safe = match value.strip_suffix("/*") {
                _ if value.is_empty() => false,
                Some(folder) if root.starts_with(folder) => true,
                _ => safe || value == "*" || Path::new(value) == root,
            };
        }
        safe
    }

    /// The kind of ids, where it is not the usual one.
    pub(crate) fn format(&self) -> Option<&'static str> {
        let named = last(&self.repository, "extensions.objectformat");
        named.filter(|name| name.eq_ignore_ascii_case("sha256")).map(|_| "sha256")
    }

    /// Whether objects may be missing because the rest is with a server.
    pub(crate) fn is_partial(&self) -> bool {
        last(&self.repository, "extensions.partialclone").is_some()
    }

    /// Whether moves of branches are logged that are not logged yet.
    pub(crate) fn logs_moves(&self) -> bool {
        let chosen = self.either("core.logallrefupdates");
        chosen.is_none_or(|value| is_on(value) || value.eq_ignore_ascii_case("always"))
    }

    /// What git is told: how files are read, and these lists of patterns.
    pub(crate) fn carried(&self, lists: &[(&str, PathBuf)]) -> Vec<OsString> {
        let mut carried: Vec<OsString> = CARRIED
            .iter()
            .filter_map(|name| Some(format!("{name}={}", self.either(name)?).into()))
            .collect();
        for (name, path) in lists {
            let mut setting = OsString::from(format!("{name}="));
            setting.push(path);
            carried.push(setting);
        }
        carried
    }

    /// The user's own lists of patterns, by the settings that name them.
    pub(crate) fn lists(&self, settings: &Settings) -> Vec<(&'static str, PathBuf)> {
        let mut lists = Vec::new();
        let home = settings.home.as_deref();
        let folder = settings.env.get("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
        let folder = folder.map(PathBuf::from).or_else(|| Some(home?.join(".config")));
        for (name, file) in [("core.excludesfile", "ignore"), ("core.attributesfile", "attributes")]
        {
            let named = last(&self.user, name).map(|named| match named.strip_prefix("~/") {
                Some(rest) => home.unwrap_or(Path::new("/nonexistent")).join(rest),
                None => PathBuf::from(named),
            });
            let usual = || Some(folder.as_ref()?.join("git").join(file));
            let path = named.or_else(usual).filter(|path| path.is_absolute() && path.is_file());
            lists.extend(path.map(|path| (name, path)));
        }
        lists
    }

    /// The variables that say who commits.
    pub(crate) fn identity(
        &self,
        env: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, OsString>, BrokerError> {
        let given = |name: &str| env.get(name).map(String::as_str);
        let set = |value: &&str| !value.trim().is_empty();
        let mut variables = BTreeMap::new();
        for part in ["NAME", "EMAIL"] {
            let lower = part.to_ascii_lowercase();
            let find = |role: &str| {
                given(&format!("GIT_{}_{part}", role.to_ascii_uppercase()))
                    .filter(set)
                    .or_else(|| last(&self.user, &format!("{role}.{lower}")).filter(set))
                    .or_else(|| last(&self.user, &format!("user.{lower}")).filter(set))
            };
            let author = find("author").ok_or(BrokerError::NoIdentity)?;
            let committer = find("committer").unwrap_or(author);
            variables.insert(format!("GIT_AUTHOR_{part}"), author.into());
            variables.insert(format!("GIT_COMMITTER_{part}"), committer.into());
        }
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE", "TZ"] {
            variables.extend(given(name).map(|value| (name.to_owned(), value.into())));
        }
        Ok(variables)
    }

    /// Whether a file may be stored without the filter that its attributes name.
    pub(crate) fn filter(&self, name: &str) -> Filter {
        let of_user = ["clean", "process"].iter().any(|kind| {
            last(&self.user, &format!("filter.{name}.{kind}")).is_some_and(|run| !run.is_empty())
        });
        let required = last(&self.repository, &format!("filter.{name}.required"));
        if of_user || required.is_some_and(is_on) { Filter::Needed } else { Filter::Skipped }
    }

    /// What git by itself would have done otherwise.
    pub(crate) fn notes(&self, repository: &Repository) -> Vec<String> {
        let mut notes = Vec::new();
        if self.either("commit.gpgsign").is_some_and(is_on) {
            notes.push("the commit is not signed: no signing program is run here".to_owned());
        }
        notes.extend(self.skipped(repository, &COMMIT_HOOKS));
        let differs = |name: &&str| {
            let own = last(&self.repository, name);
            own.is_some() && own != last(&self.user, name)
        };
        let ignored: Vec<&str> = ["user.name", "user.email"].into_iter().filter(differs).collect();
        if !ignored.is_empty() {
            let names = ignored.join(" and ");
            notes.push(format!("the repository's own {names} is not used, but yours"));
        }
        notes
    }

    /// What is said of hooks that git by itself would have run.
    pub(crate) fn skipped(
        &self,
        repository: &Repository,
        names: &[&'static str],
    ) -> Option<String> {
        let hooks = repository.common.join("hooks");
        let runs = |name: &&&str| {
            let found = std::fs::metadata(hooks.join(name));
            found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        };
        let mut skipped: Vec<&str> = names.iter().filter(runs).copied().collect();
        if self.either("core.hookspath").is_some() {
            skipped.push("those in core.hooksPath");
        }
        (!skipped.is_empty()).then(|| format!("no hooks are run here: {}", skipped.join(", ")))
    }

    /// What is said where tags would have been signed.
    pub(crate) fn unsigned_tags(&self) -> Option<String> {
        let is_signed = self.either("tag.gpgsign").is_some_and(is_on);
        is_signed.then(|| "the tag is not signed: no signing program is run here".to_owned())
    }

    /// Whether only a part of the files is checked out.
    pub(crate) fn is_sparse(&self) -> bool {
        self.either("core.sparsecheckout").is_some_and(is_on)
    }

    /// The repository's setting, or else the user's.
    fn either(&self, name: &str) -> Option<&str> {
        last(&self.repository, name).or_else(|| last(&self.user, name))
    }
}

fn last<'a>(settings: &'a [(String, String)], name: &str) -> Option<&'a str> {
    settings.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
}

fn is_on(value: &str) -> bool {
    ["true", "yes", "on"].iter().any(|on| value.eq_ignore_ascii_case(on))
        || value.parse::<i64>().is_ok_and(|number| number != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn of_the_repository_only_what_runs_nothing_counts() {
        let preferences = Preferences {
            repository: settings(&[
                ("core.autocrlf", "input"),
                ("core.fsmonitor", "touch x"),
                ("core.excludesfile", "/etc/passwd"),
                ("user.name", "Mallory"),
            ]),
            user: settings(&[("core.autocrlf", "false"), ("core.eol", "lf")]),
        };
        let carried = preferences.carried(&[("core.excludesfile", "/own".into())]);
        assert_eq!(carried, ["core.autocrlf=input", "core.eol=lf", "core.excludesfile=/own"]);
        let identity = preferences.identity(&BTreeMap::new());
        assert!(matches!(identity, Err(BrokerError::NoIdentity)), "{identity:?}");
    }

    #[test]
    fn variables_beat_settings_and_the_committer_is_the_author_unless_named() {
        let user = settings(&[("user.name", "U"), ("user.email", "u@x"), ("committer.name", "C")]);
        let preferences = Preferences { repository: Vec::new(), user };
        let env = BTreeMap::from([("GIT_AUTHOR_NAME".to_owned(), "A".to_owned())]);
        let identity = preferences.identity(&env).unwrap();
        assert_eq!(identity["GIT_AUTHOR_NAME"], "A");
        assert_eq!(identity["GIT_COMMITTER_NAME"], "C");
        assert_eq!(identity["GIT_COMMITTER_EMAIL"], "u@x");
    }

    #[test]
    fn a_filter_that_something_depends_on_is_needed() {
        let preferences = Preferences {
            repository: settings(&[("filter.secret.required", "true"), ("filter.x.clean", "evil")]),
            user: settings(&[("filter.lfs.process", "git-lfs filter-process")]),
        };
        assert_eq!(preferences.filter("secret"), Filter::Needed);
        assert_eq!(preferences.filter("lfs"), Filter::Needed);
        assert_eq!(preferences.filter("x"), Filter::Skipped);
    }

    #[test]
    fn safe_directories_are_understood_as_git_does() {
        let safe = |values: &[&str]| {
            let user = values.iter().map(|value| ("safe.directory", *value)).collect::<Vec<_>>();
            let user = settings(&user);
            Preferences { repository: Vec::new(), user }.is_declared_safe(Path::new("/a/b"))
        };
        assert!(safe(&["*"]) && safe(&["/a/b"]) && safe(&["/a/*"]));
        assert!(!safe(&[]) && !safe(&["/a"]) && !safe(&["*", ""]) && !safe(&["/b/*"]));
    }
}
