//! Where a path lies, what it may hold, and whether it is protected. Judges text only: that
//! symbolic links are resolved is the business of whoever opens the file.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use foldhash::{HashMap, HashMapExt};

use contract::protected::protected;
pub(crate) use contract::text::normalize;

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

/// Whether a path from the workspace must, by its text alone, lie strictly within it, with no
/// name that anything is known about. A quick look that answers for most words.
fn is_ordinary(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-/,:+@%= ".contains(&b);
    !text.is_empty() && !text.starts_with('/') && text.bytes().all(plain)
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

const SECRET_FOLDERS: &[&str] =
    &[".ssh", ".aws", ".gnupg", ".kube", ".azure", ".gcloud", ".password-store"];

const SECRET_NAMES: &[&str] = &[
    ".env",
    ".env.*",
    "*.env",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.tfvars",
    "*.tfstate",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    ".pgpass",
    ".my.cnf",
    ".dockercfg",
    "kubeconfig",
    "credentials",
    "secrets",
    "*service-account*.json",
    "*service_account*.json",
    ".env~",
    ".envrc",
    ".secret",
    ".secrets",
    "password",
    "password.txt",
    "passwd.txt",
    "api_key",
    "api_key.txt",
    "api-key.txt",
    "apikey.txt",
    ".api_key",
    ".vault-token",
    "vault.yml",
    "vault.yaml",
    ".vault_pass*",
    ".s3cfg",
    ".boto",
    ".terraformrc",
    "*.ppk",
    ".*_history",
    "wp-config.php",
];

/// Files in a folder that hold secrets, though neither name says so alone.
const SECRET_PLACES: &[(&str, &str)] = &[
    (".docker", "config.json"),
    ("gh", "hosts.yml"),
    ("gh", "hosts.yaml"),
    (".cargo", "credentials.toml"),
];

const SECRET_STEMS: &[&str] = &["credentials", "credential", "secrets", "secret", "passwords"];
const DATA_ENDINGS: &[&str] =
    &["json", "yaml", "yml", "toml", "ini", "txt", "xml", "csv", "env", "properties"];
const HARMLESS: &[&str] = &[".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub"];

/// What every name of a secret has some of, in lower case: a quick look that answers for most.
const HINTS: &[&str] = &[
    ".env",
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".kdbx",
    ".tf",
    "id_",
    "netrc",
    ".npmrc",
    ".pypirc",
    "credential",
    "passw",
    "pgpass",
    ".my.cnf",
    ".dockercfg",
    "kubeconfig",
    "secret",
    "service-account",
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".azure",
    ".gcloud",
    "htpasswd",
    "service_account",
    "api_key",
    "api-key",
    "apikey",
    "vault",
    ".s3cfg",
    ".boto",
    ".terraformrc",
    ".ppk",
    "_history",
    "wp-config.php",
    ".docker",
    "gh/hosts.y",
];

impl Places {
    /// Whether a word names something in the workspace that is neither protected nor holds any
    /// other place. Says yes only where that is plain from the text.
    pub(crate) fn is_ordinary(&self, text: &str, folder: &Path) -> bool {
        // By bytes first: components take long to compare.
        let workspace = self.workspace.as_os_str();
        let elsewhere = |place: &PathBuf| {
            let place_bytes = place.as_os_str().as_encoded_bytes();
            !place_bytes.starts_with(workspace.as_encoded_bytes())
                || !place.starts_with(&self.workspace)
        };
        is_ordinary(text)
            && folder.as_os_str() == workspace
            && self.home.iter().chain(&self.protected).all(elsewhere)
    }

    /// Where `path` lies. Whole components are compared, so `/w/app-x` is not in `/w/app`.
    pub(crate) fn place(&self, path: &Path) -> Place {
        let path = normalize(path);
        let home = self.home.as_deref().filter(|home| path.starts_with(home));
        // A home in a folder for temporary files is no part of it.
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

    /// Whether `path` lies in the home, and in no place that was opened.
    pub(crate) fn is_hidden(&self, path: &Path) -> bool {
        let path = normalize(path);
        let is_home = self.home.as_ref().is_some_and(|home| path.starts_with(home));
        is_home && self.place(&path) == Place::Outside
    }

    /// Why `path` is never written, where it is not.
    pub(crate) fn protection(&self, path: &Path) -> Option<String> {
        let path = normalize(path);
        if let Some(root) = self.protected.iter().find(|root| path.starts_with(root)) {
            return Some(format!("`{}` is protected", root.display()));
        }
        let roots = std::iter::once(&self.workspace).chain(&self.allowed);
        let inside = roots
            .filter_map(|root| path.strip_prefix(root).ok())
            .min_by_key(|rest| rest.as_os_str().len())?;
        // Every protected name has a dot, and so has every spelling of one but the short form.
        let bytes = inside.as_os_str().as_encoded_bytes();
        if bytes.is_ascii() && !bytes.iter().any(|byte| matches!(byte, b'.' | b'~')) {
            return None;
        }
        let name = protected(inside)?;
        Some(format!("`{name}` is protected: other programs run or obey what it holds"))
    }
}

/// Whether a path has some of what every name of a secret has.
fn has_hint(path: &str) -> bool {
    /// The hints by their first letter: it is asked of every file in a folder.
    static BY_FIRST: LazyLock<HashMap<u8, Vec<&[u8]>>> = LazyLock::new(|| {
        let mut hints: HashMap<u8, Vec<&[u8]>> = HashMap::new();
        for hint in HINTS {
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

/// Whether a path's name says that it holds a secret. `path` may have wildcards where `reading`
/// says so; then whether it could mean such a file.
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
    let folder = names.clone().next().unwrap_or_default().to_lowercase();
    let is_placed = |(holder, name): &(&str, &str)| {
        meet((&folder, reading), (holder, Reading::Literal)) && meet((name, Reading::Literal), last)
    };
    if SECRET_PLACES.iter().any(is_placed) {
        return true;
    }
    if names.any(|name| {
        let name = name.to_lowercase();
        SECRET_FOLDERS.iter().any(|folder| meet((&name, reading), (folder, Reading::Literal)))
    }) {
        return true;
    }
    if reading == Reading::Literal && HARMLESS.iter().any(|name| meet((name, Reading::Rule), last))
    {
        return false;
    }
    // The shell's wildcards do not stand for a leading dot; and that a name could go on in any
    // way says nothing where both sides are patterns.
    let is_wild = matches!(reading, Reading::Shell | Reading::Names);
    let covers_dots = !(is_wild && last.0.starts_with(['*', '?', '[']));
    let likely = |name: &str| match reading {
        Reading::Shell | Reading::Names => meet((name.trim_end_matches('*'), Reading::Rule), last),
        Reading::Literal | Reading::Rule => meet((name, Reading::Rule), last),
    };
    SECRET_NAMES
        .iter()
        .chain(SECRET_FOLDERS)
        .any(|name| (covers_dots || !name.starts_with('.')) && likely(name))
        || SECRET_STEMS.iter().any(|stem| {
            DATA_ENDINGS.iter().any(|ending| {
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
    fn a_path_that_only_begins_like_the_workspace_is_outside() {
        assert_eq!(places().place(Path::new("/w/app/src")), Place::Inside);
        assert_eq!(places().place(Path::new("/w/app-secrets/x")), Place::Outside);
        assert_eq!(places().place(Path::new("/w/appx")), Place::Outside);
        assert_eq!(places().place(Path::new("/w/app/../x")), Place::Outside);
        assert_eq!(places().place(Path::new("/usr/share/x")), Place::Readable);
    }

    #[test]
    fn every_spelling_of_a_protected_name_is_protected() {
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
            assert!(places().protection(&path).is_some(), "{}", path.display());
        }
        assert!(places().protection(Path::new("/home/u/.config/brynhild/config.yaml")).is_some());
        for path in ["/w/app/.gitignore", "/w/app/git/config", "/home/u/.bashrc"] {
            assert!(places().protection(Path::new(path)).is_none(), "{path}");
        }
    }

    #[test]
    fn names_of_secrets_are_known() {
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
        let names = SECRET_NAMES.iter().chain(SECRET_FOLDERS).chain(SECRET_STEMS);
        let places = SECRET_PLACES.iter().map(|(folder, name)| format!("{folder}/{name}"));
        for name in names.map(|name| name.replace('*', "x")).chain(places) {
            assert!(HINTS.iter().any(|hint| name.contains(hint)), "{name}");
        }
    }

    #[test]
    fn a_wildcard_that_could_mean_a_secret_counts_as_one() {
        assert!(is_secret(".e*", Reading::Shell));
        assert!(is_secret("c*", Reading::Shell));
        assert!(!is_secret("src/*.rs", Reading::Shell));
        assert!(!is_secret("*.md", Reading::Shell));
    }
}
