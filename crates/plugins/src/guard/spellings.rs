//! The other spellings of a value that a rule which denies has to know: what it names as a path, and what
//! it says as a command. Finds too many rather than too few; touches the disk only to follow links.

use std::path::{Path, PathBuf};

use crate::words::shell_commands;

use ::files::path::normalize;

const LONGEST_PATH: usize = 4096;
/// No command is read from a longer text.
const LONGEST_COMMAND: usize = 64 << 10;

/// A value as a path from `root`, and in full, by its words and by where links lead.
pub(super) fn of_path(value: &str, root: &Path) -> Vec<String> {
    if value.is_empty() || value.len() > LONGEST_PATH || value.contains(['\0', '\n']) {
        return Vec::new();
    }
    let root = normalize(&Path::new("/").join(root));
    let named = root.join(value);
    let plain = normalize(&named);
    let real = named.canonicalize().ok().filter(|real| *real != plain);
    let roots: Vec<PathBuf> = root.canonicalize().into_iter().chain([root]).collect();
    let mut found = Vec::new();
    for path in std::iter::once(plain).chain(real) {
        let relative = roots.iter().map(|root| relative(&path, root));
        for path in relative.chain([path.clone()]).map(|path| path.display().to_string()) {
            if !path.is_empty() {
                // A directory is named where what is in it is meant.
                found.extend([format!("{path}/"), path]);
            }
        }
    }
    found
}

fn relative(path: &Path, directory: &Path) -> PathBuf {
    let mut up = PathBuf::new();
    for above in directory.ancestors() {
        if let Ok(rest) = path.strip_prefix(above) {
            return up.join(rest);
        }
        up.push("..");
    }
    up
}

/// A value as commands in their plainest form: words without quotes, one blank between them, a program
/// without its directory, and also without options between it and what it is told to do.
pub(super) fn of_command(value: &str) -> Vec<String> {
    if value.len() > LONGEST_COMMAND {
        return Vec::new();
    }
    let mut found = Vec::new();
    for words in shell_commands(value, ";|&()<>\n`") {
        let Some((program, rest)) = words.split_first() else { continue };
        let name = program.rsplit('/').next().unwrap_or(program);
        let paths: Vec<String> = rest.iter().map(|word| plain(word)).collect();
        for program in [program.as_str(), name] {
            for rest in [rest, &paths] {
                let said = |at: usize| {
                    let rest = rest[at..].iter().map(String::as_str);
                    [program].into_iter().chain(rest).collect::<Vec<&str>>().join(" ")
                };
                found.extend(starts(rest).into_iter().map(said));
            }
        }
    }
    found
}

/// Where what a program is told to do may begin: behind options, each of which may take a word.
fn starts(words: &[String]) -> Vec<usize> {
    let is_option = |at: usize| words.get(at).is_some_and(|word| word.starts_with('-'));
    let mut starts = vec![0];
    let mut at = 0;
    while is_option(at) {
        starts.extend([at + 1, (at + 2).min(words.len())]);
        at += if is_option(at + 1) { 1 } else { 2 };
    }
    starts
}

fn plain(word: &str) -> String {
    let is_path = word.contains('/') && !word.contains("://");
    if !is_path {
        return word.to_owned();
    }
    let path = normalize(Path::new(word));
    if path.as_os_str().is_empty() { word.to_owned() } else { path.display().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_matches_relative_and_absolute() {
        let root = Path::new("/nowhere/p");
        for value in ["secret/k", "./secret/k", "x/../secret//k", "/nowhere/p/secret/k"] {
            let found = of_path(value, root);
            assert!(found.contains(&"secret/k".to_owned()), "{value}: {found:?}");
            assert!(found.contains(&"/nowhere/p/secret/k".to_owned()), "{value}: {found:?}");
        }
        assert!(of_path("./secret", root).contains(&"secret/".to_owned()));
        assert!(of_path("x/../../k", root).contains(&"../k".to_owned()));
        assert!(of_path("a\nb", root).is_empty() && of_path("", root).is_empty());
    }

    #[test]
    fn symlink_matches_by_its_target() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("secret")).unwrap();
        std::fs::write(directory.path().join("secret/k"), "").unwrap();
        std::os::unix::fs::symlink("secret", directory.path().join("s")).unwrap();
        assert!(of_path("s/k", directory.path()).contains(&"secret/k".to_owned()));
    }

    #[test]
    fn command_matches_by_its_arguments() {
        for text in [
            "git push",
            " git  push",
            "git 'push'",
            "g\\it pu\"sh\"",
            "/usr/bin/git push",
            "git -C . push",
            "git --no-pager -c a=b push",
            "cd x && git push",
            "true\ngit push",
            "(git push)",
        ] {
            assert!(of_command(text).contains(&"git push".to_owned()), "{text}");
        }
        assert!(of_command("cat ./secret/../secret/k").contains(&"cat secret/k".to_owned()));
        for text in ["git log push", "git commit -m push", "echo 'git push'", "grep x git push"] {
            assert!(!of_command(text).contains(&"git push".to_owned()), "{text}");
        }
    }
}
