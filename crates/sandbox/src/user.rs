//! The person for whom something runs: the home, and where else the environment says that git's settings
//! are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Whose settings git obeys beside those of a repository.
#[derive(Clone, Debug, Default)]
pub struct User {
    /// The home directory, which confined processes must not see.
    pub home: Option<PathBuf>,
    /// Files with settings of git's besides the usual ones.
    pub git: Vec<PathBuf>,
    /// Settings of git's that are in no file, by their whole names.
    pub settings: Vec<(String, String)>,
}

impl User {
    /// The user with this home whose programs have these variables.
    pub fn new(home: Option<PathBuf>, variables: &BTreeMap<String, String>) -> Self {
        let given =
            |name: &str| variables.get(name).filter(|value| !value.is_empty()).map(Path::new);
        let usual = given("XDG_CONFIG_HOME").map(|folder| folder.join("git/config"));
        let others = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].into_iter().filter_map(given);
        let git = usual.into_iter().chain(others.map(Path::to_owned)).collect();
        Self { home, git, settings: settings(variables) }
    }

    /// The same user, whose home is known by another path.
    pub(crate) fn at(&self, home: Option<&Path>) -> Self {
        Self { home: home.map(Path::to_owned), ..self.clone() }
    }
}

/// The settings that variables hold themselves: by numbers, and as `git -c` hands them on.
fn settings(variables: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let value = |name: &str| variables.get(name).cloned();
    let count: usize = value("GIT_CONFIG_COUNT").and_then(|it| it.trim().parse().ok()).unwrap_or(0);
    // Those that are there are fewer than the count may say.
    let numbered = |(name, key): (&String, &String)| {
        let number = name.strip_prefix("GIT_CONFIG_KEY_")?;
        let is_counted = number.parse().is_ok_and(|number: usize| number < count);
        let value = value(&format!("GIT_CONFIG_VALUE_{number}"))?;
        is_counted.then(|| (key.clone(), value))
    };
    let mut found: Vec<_> = variables.iter().filter_map(numbered).collect();
    let words = unquoted(&value("GIT_CONFIG_PARAMETERS").unwrap_or_default());
    let parts = words.iter().filter_map(|word| word.split_once('='));
    found.extend(parts.map(|(key, value)| (key.to_owned(), value.to_owned())));
    found
}

/// The words of a text in which each is quoted for a shell, wholly or in part.
fn unquoted(text: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => word.extend(letters.next()),
            ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
            letter => word.push(letter),
        }
    }
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_in_variables_are_read_as_git_reads_them() {
        let variables = [
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "core.hooksPath"),
            ("GIT_CONFIG_VALUE_0", ".one"),
            ("GIT_CONFIG_KEY_1", "a.b.c"),
            ("GIT_CONFIG_VALUE_1", ""),
            ("GIT_CONFIG_KEY_2", "x.y"),
            ("GIT_CONFIG_VALUE_2", "z"),
            ("GIT_CONFIG_PARAMETERS", r"'d.e=it'\''s so' 'f.g'='h i' 'j.k'"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let user = User::new(None, &variables.into_iter().collect());
        let wanted =
            [("core.hooksPath", ".one"), ("a.b.c", ""), ("d.e", "it's so"), ("f.g", "h i")];
        assert_eq!(user.settings, wanted.map(|(key, value)| (key.to_owned(), value.to_owned())));
        let many = ["COUNT", "KEY_4999", "VALUE_4999"].map(|name| format!("GIT_CONFIG_{name}"));
        let many = many.into_iter().zip(["5000", "core.hooksPath", ".far"].map(str::to_owned));
        let user = User::new(None, &many.collect());
        assert_eq!(user.settings, [("core.hooksPath".to_owned(), ".far".to_owned())]);
    }
}
