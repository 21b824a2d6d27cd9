//! Settings of package managers that lie among their programs, which commands read: they are hidden
//! where they hold a token, a password, or an address with one of these in it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::contents::{ReadResult, file};

/// Settings within toolchains, relative to the home; `*` stands for every directory there.
const SETTINGS: [&str; 21] = [
    ".nvm/versions/node/*/etc/npmrc",
    ".fnm/node-versions/*/installation/etc/npmrc",
    ".local/share/fnm/node-versions/*/installation/etc/npmrc",
    ".local/share/pnpm/nodejs/*/etc/npmrc",
    ".volta/tools/image/node/*/etc/npmrc",
    ".nodenv/versions/*/etc/npmrc",
    ".asdf/installs/nodejs/*/etc/npmrc",
    ".local/share/mise/installs/node/*/etc/npmrc",
    ".pyenv/versions/*/pip.conf",
    ".local/share/virtualenvs/*/pip.conf",
    ".local/share/pipx/venvs/*/pip.conf",
    ".local/share/uv/python/*/pip.conf",
    ".local/share/uv/tools/*/pip.conf",
    "miniconda3/.condarc",
    "miniconda3/envs/*/.condarc",
    "miniforge3/.condarc",
    "miniforge3/envs/*/.condarc",
    "mambaforge/.condarc",
    "mambaforge/envs/*/.condarc",
    "anaconda3/.condarc",
    "anaconda3/envs/*/.condarc",
];

/// Settings that are toolchains by themselves.
const ALONE: [&str; 2] = [".cargo/config", ".cargo/config.toml"];

/// Settings that are longer are taken to hold one.
const MOST_BYTES: u64 = 1 << 20;

/// The last parts of names of secrets.
const NAMES: [&str; 5] = ["token", "_auth", "password", "passphrase", "secret"];

/// The settings within the toolchains of `home` that hold a secret.
pub(crate) fn tokens(home: &Path) -> Vec<PathBuf> {
    let all = SETTINGS.iter().flat_map(|pattern| matching(home, pattern));
    // The target of a symlink is shown or hidden at its own path.
    let plain = all.filter(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file()));
    plain.filter(|path| holds_secret(&file(path, MOST_BYTES))).collect()
}

/// Returns true if a toolchain of `home` is a settings file with a secret. Follows symlinks.
pub(crate) fn is_secret(home: &Path, toolchain: &str) -> bool {
    ALONE.contains(&toolchain) && holds_secret(&file(&home.join(toolchain), MOST_BYTES))
}

/// A directory, or what is in it where some of that is left out.
pub(crate) fn without(path: PathBuf, secrets: &[PathBuf]) -> Vec<PathBuf> {
    if secrets.contains(&path) {
        return Vec::new();
    }
    if !secrets.iter().any(|secret| secret.starts_with(&path)) {
        return vec![path];
    }
    let entries = fs::read_dir(&path).into_iter().flatten().flatten();
    entries.flat_map(|entry| without(entry.path(), secrets)).collect()
}

/// A toolchain without these settings. A link in it opens nothing by itself.
pub(crate) fn toolchain_without(path: &Path, tokens: &[PathBuf]) -> Vec<PathBuf> {
    let mut shown = without(path.to_owned(), tokens);
    shown.retain(|piece| piece == path || !piece.is_symlink());
    shown
}

fn matching(home: &Path, pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once("/*/") else {
        return vec![home.join(pattern)];
    };
    let directories = fs::read_dir(home.join(before)).into_iter().flatten().flatten();
    let directories = directories.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.map(|entry| entry.path().join(after)).collect()
}

fn holds_secret(found: &ReadResult<Vec<u8>>) -> bool {
    match found {
        ReadResult::Absent => false,
        ReadResult::Unknown => true,
        ReadResult::Read(bytes) => {
            let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
            let is_comment = |line: &&str| line.trim_start().starts_with(['#', ';']);
            text.lines().filter(|line| !is_comment(line)).any(says_secret)
        }
    }
}

/// Returns true if a line sets a secret to a value that is not a variable, or has a URL with a secret.
fn says_secret(line: &str) -> bool {
    let is_given = |rest: &str| {
        let rest = rest.trim_start_matches(['"', '\'', ' ', '\t']);
        let value = rest.strip_prefix(['=', ':']);
        let value = value.map(|value| value.trim_start_matches(['"', '\'', ' ', '\t']));
        value.is_some_and(|value| !value.is_empty() && !value.starts_with("${"))
    };
    let is_named = |name: &str| {
        line.match_indices(name).any(|(start, _)| is_given(&line[start + name.len()..]))
    };
    let is_in_address = |(start, separator): (usize, &str)| {
        let rest = &line[start + separator.len()..];
        let address = rest.split([' ', '\t', '"', '\'', ',', '<']).next().unwrap_or_default();
        let (host, path) = address.split_once('/').unwrap_or((address, ""));
        let is_web = line[..start].ends_with("http") || line[..start].ends_with("https");
        // Conda has the token in the path.
        is_web && (host.contains('@') || path.starts_with("t/"))
    };
    NAMES.iter().any(|name| is_named(name)) || line.match_indices("://").any(is_in_address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_distinguished_from_other_settings() {
        for line in [
            "token = \"cio123\"",
            "x = { index = \"i\", token = \"t\" }",
            "\"token\" = \"t\"",
            "//registry.npmjs.org/:_authToken=npm_0123",
            "_auth = eHh4",
            "//r/:_password=\"eA==\"",
            "GITHUB_TOKEN = \"x\"",
            "channels: [https://conda.anaconda.org/t/tk-1/mine]",
            "index-url = https://me:word@pypi.example/simple",
        ] {
            let found = ReadResult::Read(format!("# settings\n{line}\n").into_bytes());
            assert!(holds_secret(&found), "{line}");
        }
        for line in [
            "# token = \"cio123\"",
            "; _authToken=x",
            "//registry.npmjs.org/:_authToken=${NPM_TOKEN}",
            "_auth=",
            "global-credential-providers = [\"cargo:token\"]",
            "registry = \"ssh://git@example.com/index\"",
            "registry=https://registry.npmjs.org/",
            "channels: [https://conda.anaconda.org/tools, conda-forge]",
            "linker = \"clang\"",
        ] {
            assert!(!holds_secret(&ReadResult::Read(line.as_bytes().to_vec())), "{line}");
        }
        assert!(holds_secret(&ReadResult::Unknown) && !holds_secret(&ReadResult::Absent));
    }

    #[test]
    fn settings_with_secrets_are_found_in_every_version() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        let versions = [("v20", "_authToken=x"), ("v22", "registry=x"), ("v24", "_auth=x")];
        for (version, text) in versions {
            fs::create_dir_all(path(&format!(".nvm/versions/node/{version}/etc"))).unwrap();
            fs::write(path(&format!(".nvm/versions/node/{version}/etc/npmrc")), text).unwrap();
        }
        std::os::unix::fs::symlink("v20", path(".nvm/versions/node/latest")).unwrap();
        let mut found = tokens(home.path());
        found.sort();
        let npmrc = |version| path(&format!(".nvm/versions/node/{version}/etc/npmrc"));
        assert_eq!(found, ["v20", "v24"].map(npmrc));
        let mut shown = toolchain_without(&path(".nvm"), &found);
        shown.sort();
        assert_eq!(shown, [path(".nvm/versions/node/v22")]);
        assert_eq!(toolchain_without(&path(".nvm"), &[]), [path(".nvm")]);
    }

    #[test]
    fn secrets_are_left_out_and_neighbors_shown() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir_all(path("ssl/private")).unwrap();
        fs::create_dir_all(path("ssl/certs")).unwrap();
        fs::write(path("shadow"), "x").unwrap();
        fs::write(path("passwd"), "x").unwrap();
        let secrets = [path("ssl/private"), path("shadow")];
        let mut shown = without(directory.path().to_owned(), &secrets);
        shown.sort();
        assert_eq!(shown, [path("passwd"), path("ssl/certs")]);
    }
}
