//! Names, versions and hashes of the Python packages of a plugin.

use std::path::{Path, PathBuf};

use crate::content::{self, Content};
use crate::source::is_name;

/// The name of a package without its version, extras and directory; none if it is not a name.
pub(crate) fn name(package: &str) -> Option<String> {
    let end = package.find(['<', '>', '=', '!', '~', '[', ';', '@']).unwrap_or(package.len());
    let name = package[..end].trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_wheel = Path::new(name).extension().is_some_and(|it| it == "whl");
    let name = if is_wheel { name.split('-').next().unwrap_or(name) } else { name };
    Some(name.to_lowercase().replace('_', "-")).filter(|name| is_name(name))
}

/// The version of a package in lines of `NAME==VERSION`.
pub(crate) fn version(packages: &[String], name: &str) -> Option<String> {
    let mut all = packages.iter().filter_map(|line| line.split_once("=="));
    let is_same = |found: &str| found.to_lowercase().replace('_', "-") == name;
    all.find(|(found, _)| is_same(found)).map(|(_, version)| version.to_owned())
}

pub(crate) fn hash(packages: &[String]) -> String {
    let content: Content =
        packages.iter().map(|line| (PathBuf::from(line), String::new())).collect();
    content::hash(&content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_name_has_no_version_extras_or_directory() {
        for text in
            ["Word_Kit", "word-kit[x]>=1", "a/b/word_kit-1.0-py3-none-any.whl", "x/word-kit/"]
        {
            assert_eq!(name(text).as_deref(), Some("word-kit"), "{text}");
        }
        assert_eq!(name("=="), None);
        let packages = ["other==2".to_owned(), "Word_Kit==1.0".to_owned()];
        assert_eq!(version(&packages, "word-kit").as_deref(), Some("1.0"));
    }
}
