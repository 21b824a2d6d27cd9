//! Where a path lies, what it may hold, and whether it is protected. Judges text only: that
//! symbolic links are resolved is the business of whoever opens the file.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use foldhash::{HashMap, HashMapExt};

pub(crate) use files::path::normalize;
use files::protected::protected;

use crate::glob::{Reading, meet};

/// The places a session knows.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The project.
    pub(crate) workspace: PathBuf,
    /// The user's home.
    pub(crate) home: Option<PathBuf>,
    /// Read freely, as the workspace.
    pub(crate) readable: Vec<PathBuf>,
    /// Read freely and written like the workspace.
    pub(crate) allowed: Vec<PathBuf>,
    /// Never written.
    pub(crate) protected: Vec<PathBuf>,
}

/// Where a path lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the project, or in a place allowed like it.
    Inside,
    /// In a place that may be read.
    Readable,
    /// Anywhere else.
    Outside,
}

const SECRET_DIRECTORIES: &str = ".ssh .aws .gnupg .kube .azure .gcloud .password-store";

const SECRET_NAMES: &str = ".env .env.* *.env *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.tfvars *.tfstate \
    id_rsa* id_dsa* id_ecdsa* id_ed25519* .netrc _netrc .npmrc .pypirc .git-credentials \
    .htpasswd .pgpass .my.cnf .dockercfg kubeconfig credentials secrets *service-account*.json \
    *service_account*.json .env~ .envrc .secret .secrets password password.txt passwd.txt \
    api_key api_key.txt api-key.txt apikey.txt .api_key .vault-token vault.yml vault.yaml \
    .vault_pass* .s3cfg .boto .terraformrc *.ppk .*_history wp-config.php";

/// Files in a directory that hold secrets, though neither name says so alone.
const SECRET_PLACES: &[(&str, &str)] = &[
    (".docker", "config.json"),
    ("gh", "hosts.yml"),
    ("gh", "hosts.yaml"),
    (".cargo", "credentials.toml"),
];

const SECRET_STEMS: &str = "credentials credential secrets secret passwords";
const DATA_ENDINGS: &str = "json yaml yml toml ini txt xml csv env properties";
const HARMLESS: &str = ".env.example .env.sample .env.template .env.dist *.pub";

/// Parts of the names of secrets, in lower case. Every such name has one; most other names have none.
const HINTS: &str = ".env .pem .key .p12 .pfx .jks .kdbx .tf id_ netrc .npmrc .pypirc credential passw pgpass \
    .my.cnf .dockercfg kubeconfig secret service-account .ssh .aws .gnupg .kube .azure .gcloud \
    htpasswd service_account api_key api-key apikey vault .s3cfg .boto .terraformrc .ppk \
    _history wp-config.php .docker gh/hosts.y";

impl Places {
    /// Where `path` lies. Whole components are compared, so `/w/app-x` is not in `/w/app`.
    pub(crate) fn place(&self, path: &Path) -> Place {
        let path = normalize(path);
        let home = self.home.as_deref().filter(|home| path.starts_with(home));
        // A home in a directory for temporary files is not a part of it.
        let holds_home =
            |root: &PathBuf| home.is_some_and(|home| home != root && home.starts_with(root));
        let within = |roots: &[PathBuf]| {
            roots.iter().any(|root| path.starts_with(root) && !holds_home(root))
        };
        if path.starts_with(&self.workspace) || within(&self.allowed) {
            Place::Inside
        } else if within(&self.readable) || path == Path::new("/dev/null") {
            Place::Readable
        } else {
            Place::Outside
        }
    }

    /// Returns true if `path` is in the home, and in no directory that was opened.
    pub(crate) fn is_hidden(&self, path: &Path) -> bool {
        let path = normalize(path);
        let is_home = self.home.as_ref().is_some_and(|home| path.starts_with(home));
        is_home && self.place(&path) == Place::Outside
    }

    /// The reason why `path` is never written, if it is not: the program's own files, and the files
    /// of a repository that git runs or obeys.
    pub(crate) fn denial(&self, path: &Path) -> Option<String> {
        let path = normalize(path);
        if let Some(root) = self.protected.iter().find(|root| path.starts_with(root)) {
            return Some(format!("`{}` holds this program's own files", root.display()));
        }
        match self.protected_name(&path)? {
            name @ (".git" | ".brynhild") => Some(format!("`{name}` is never written by tools")),
            _ => None,
        }
    }

    /// The protected name in the part of `path` below the workspace, if it has one.
    pub(crate) fn protected_name(&self, path: &Path) -> Option<&'static str> {
        let path = normalize(path);
        let roots = std::iter::once(&self.workspace).chain(&self.allowed);
        let inside = roots
            .filter_map(|root| path.strip_prefix(root).ok())
            .min_by_key(|rest| rest.as_os_str().len())?;
        protected(inside)
    }
}

/// Returns true if a path has a part of the names of secrets.
fn has_hint(path: &str) -> bool {
    /// The hints by their first letter: it is asked of every file in a directory.
    static BY_FIRST: LazyLock<HashMap<u8, Vec<&[u8]>>> = LazyLock::new(|| {
        let mut hints: HashMap<u8, Vec<&[u8]>> = HashMap::new();
        for hint in HINTS.split(' ') {
            hints.entry(hint.as_bytes()[0]).or_default().push(hint.as_bytes());
        }
        hints
    });
    let path = if path.is_ascii() { Cow::Borrowed(path) } else { path.to_lowercase().into() };
    let path = path.as_bytes();
    let begins = |at: usize, hint: &&[u8]| {
        path.get(at..at + hint.len()).is_some_and(|part| part.eq_ignore_ascii_case(hint))
    };
    (0..path.len()).any(|at| {
        let hints = BY_FIRST.get(&path[at].to_ascii_lowercase());
        hints.is_some_and(|hints| hints.iter().any(|hint| begins(at, hint)))
    })
}

/// Returns true if a path is that of a secret. If `reading` allows wildcards in `path`, returns true
/// if it could match such a file.
pub(crate) fn is_secret(path: &str, reading: Reading) -> bool {
    if reading == Reading::Literal && !has_hint(path) {
        return false;
    }
    let mut names = path.rsplit('/').filter(|name| !name.is_empty());
    let Some(last) = names.next() else {
        return false;
    };
    let last = last.to_lowercase();
    let last = (last.as_str(), reading);
    let directory = names.clone().next().unwrap_or_default().to_lowercase();
    let is_placed = |(holder, name): &(&str, &str)| {
        meet((&directory, reading), (holder, Reading::Literal))
            && meet((name, Reading::Literal), last)
    };
    if SECRET_PLACES.iter().any(is_placed) {
        return true;
    }
    if names.any(|name| {
        let name = name.to_lowercase();
        SECRET_DIRECTORIES
            .split(' ')
            .any(|directory| meet((&name, reading), (directory, Reading::Literal)))
    }) {
        return true;
    }
    if reading == Reading::Literal
        && HARMLESS.split(' ').any(|name| meet((name, Reading::Rule), last))
    {
        return false;
    }
    // The shell's wildcards do not stand for a leading dot; and that a name could go on in any
    // way says nothing where both sides are patterns.
    let is_wild = matches!(reading, Reading::Shell);
    let covers_dots = !(is_wild && last.0.starts_with(['*', '?', '[']));
    let likely = |name: &str| match reading {
        Reading::Shell => meet((name.trim_end_matches('*'), Reading::Rule), last),
        Reading::Literal | Reading::Rule => meet((name, Reading::Rule), last),
    };
    SECRET_NAMES
        .split(' ')
        .chain(SECRET_DIRECTORIES.split(' '))
        .any(|name| (covers_dots || !name.starts_with('.')) && likely(name))
        || SECRET_STEMS.split(' ').any(|stem| {
            DATA_ENDINGS.split(' ').any(|ending| {
                meet((&format!("{stem}.{ending}"), Reading::Literal), last)
                    || meet((&format!("*-{stem}.{ending}"), Reading::Rule), last)
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places {
            workspace: "/w/app".into(),
            home: Some("/home/u".into()),
            readable: vec!["/usr/share".into()],
            allowed: vec!["/data".into()],
            protected: vec!["/home/u/.config/brynhild".into()],
        }
    }

    #[test]
    fn path_with_the_workspace_as_prefix_is_outside() {
        assert_eq!(places().place(Path::new("/w/app/src")), Place::Inside);
        assert_eq!(places().place(Path::new("/w/app-secrets/x")), Place::Outside);
        assert_eq!(places().place(Path::new("/w/appx")), Place::Outside);
        assert_eq!(places().place(Path::new("/w/app/../x")), Place::Outside);
        assert_eq!(places().place(Path::new("/usr/share/x")), Place::Readable);
    }

    #[test]
    fn spellings_of_protected_names_are_protected() {
        for path in [
            ".git/config",
            ".GIT/config",
            "sub/.git/hooks/x",
            "./.brynhild//x/",
            ".brynhild/./x",
            "a/../.mcp.json",
            ".g\u{200c}it/config",
            ".git./config",
            "git~1/config",
            ".git::$INDEX_ALLOCATION/x",
            ".envrc",
            ".github/hooks/a",
        ] {
            let path = Path::new("/w/app").join(path);
            assert!(places().protected_name(&path).is_some(), "{}", path.display());
        }
        for path in ["/home/u/.config/brynhild/config.yaml", "/w/app/.git/config"] {
            assert!(places().denial(Path::new(path)).is_some(), "{path}");
        }
        assert!(places().denial(Path::new("/w/app/.vscode/settings.json")).is_none());
        for path in ["/w/app/.gitignore", "/w/app/git/config", "/home/u/.bashrc"] {
            assert!(places().protected_name(Path::new(path)).is_none(), "{path}");
        }
    }

    #[test]
    fn names_of_secrets_are_recognized() {
        for path in [
            ".env",
            "a/.env.local",
            "x.pem",
            "/home/u/.ssh/config",
            "id_rsa",
            "config/credentials.json",
            ".aws/credentials",
            "SECRETS.YAML",
            "service_account.json",
            ".env~",
            ".envrc",
            ".secrets",
            "password.txt",
            "api_key.txt",
            ".vault-token",
            ".docker/config.json",
            ".config/gh/hosts.yml",
            ".s3cfg",
            "x.ppk",
            ".bash_history",
            ".python_history",
            "wp-config.php",
            "group_vars/vault.yml",
        ] {
            assert!(is_secret(path, Reading::Literal), "{path}");
        }
        for path in [".env.example", "src/credentials.rs", "main.rs", "id_rsa.pub", "keyboard"]
            .into_iter()
            .chain(["config.json", ".docker/nginx.conf", "history.md", "src/password.rs"])
            .chain(["forgot-password.json", "hosts.yml"])
        {
            assert!(!is_secret(path, Reading::Literal), "{path}");
        }
    }

    #[test]
    fn every_name_of_a_secret_has_a_hint() {
        let names = SECRET_NAMES
            .split(' ')
            .chain(SECRET_DIRECTORIES.split(' '))
            .chain(SECRET_STEMS.split(' '));
        let places = SECRET_PLACES.iter().map(|(directory, name)| format!("{directory}/{name}"));
        for name in names.map(|name| name.replace('*', "x")).chain(places) {
            assert!(HINTS.split(' ').any(|hint| name.contains(hint)), "{name}");
        }
    }

    #[test]
    fn wildcard_that_may_match_a_secret_is_secret() {
        assert!(is_secret(".e*", Reading::Shell));
        assert!(is_secret("c*", Reading::Shell));
        assert!(!is_secret("src/*.rs", Reading::Shell));
        assert!(!is_secret("*.md", Reading::Shell));
    }
}
