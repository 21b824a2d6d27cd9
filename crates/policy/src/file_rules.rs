//! Files that rules deny to every process. Reading the text of a command explains a denial; only the
//! sandbox enforces it.

use std::path::{Path, PathBuf};

use contract::policy::Decision;

use crate::glob::{Reading, meet};
use crate::paths::{Places, normalize};
use crate::rules::{PathPattern, Rule, Target, Touch};

/// The rules that deny files to every process.
#[derive(Clone, Debug)]
pub struct FileRules {
    places: Places,
    rules: Vec<Denied>,
}

/// A rule that denies files.
#[derive(Clone, Debug)]
struct Denied {
    touch: Touch,
    pattern: PathPattern,
    /// One of these fits some name on the way to each file that it means: a quick look before the full
    /// one, since every file of a project is asked about.
    names: Vec<String>,
}

impl FileRules {
    /// Those of `rules`; nothing where none denies a file.
    pub fn of(rules: &[Rule], workspace: &Path, home: Option<&Path>) -> Option<Self> {
        let denied = |rule: &Rule| match &rule.matcher.target {
            Target::Path(touch, pattern) if is_for_processes(rule) => {
                let (touch, pattern) = (*touch, pattern.clone());
                Some(Denied { touch, names: pattern.last_names(), pattern })
            }
            Target::Path(..)
            | Target::Anything
            | Target::AnyCommand
            | Target::Command(_)
            | Target::Outside(_)
            | Target::Host(_)
            | Target::What(_) => None,
        };
        let rules: Vec<Denied> = rules.iter().filter_map(denied).collect();
        let places = Places {
            workspace: normalize(workspace),
            home: home.map(normalize),
            readable: Vec::new(),
            allowed: Vec::new(),
            protected: Vec::new(),
        };
        (!rules.is_empty()).then_some(Self { places, rules })
    }

    /// Returns true if a file, or a directory with all in it, may not be read.
    pub fn hides(&self, path: &Path) -> bool {
        self.meaning(path, Touch::Read).next().is_some()
    }

    /// Returns true if a file, or a directory with all in it, may not be written.
    pub fn denies_write(&self, path: &Path) -> bool {
        self.meaning(path, Touch::Write).next().is_some()
    }

    /// Returns true if a rule matches `path` by its directory, and not a file of its name anywhere.
    pub fn binds(&self, path: &Path) -> bool {
        let mut rules = self.meaning(path, Touch::Read).chain(self.meaning(path, Touch::Write));
        rules.any(|pattern| !pattern.is_anywhere())
    }

    /// Returns true if they may match a path below `directory`.
    pub fn may_mean_below(&self, directory: &Path) -> bool {
        self.rules.iter().any(|rule| rule.pattern.may_lie_below(directory, &self.places))
    }

    /// The paths that they spell out, each up to its first wildcard.
    pub fn starts(&self) -> Vec<PathBuf> {
        let each = self.rules.iter().flat_map(|rule| rule.pattern.starts(&self.places));
        let mut starts: Vec<PathBuf> = each.collect();
        starts.sort();
        starts.dedup();
        starts
    }

    fn meaning(&self, path: &Path, touch: Touch) -> impl Iterator<Item = &PathPattern> {
        let text = path.to_string_lossy().to_lowercase();
        let means = move |rule: &&Denied| {
            let could = |name: &str| rule.names.iter().any(|last| could_be(last, name));
            rule.touch.includes(touch)
                && text.split('/').any(could)
                && rule.pattern.matches((path, Reading::Literal), &self.places, Decision::Deny)
        };
        self.rules.iter().filter(means).map(|rule| &rule.pattern)
    }
}

/// Returns true if a pattern could match this name.
fn could_be(pattern: &str, name: &str) -> bool {
    const WILD: [char; 4] = ['*', '?', '[', '\\'];
    match (pattern.find(WILD), pattern.rfind(WILD)) {
        (Some(first), Some(last)) => {
            let ends = if pattern.contains('[') { "" } else { &pattern[last + 1..] };
            name.starts_with(&pattern[..first]) && name.ends_with(ends)
        }
        _ => pattern == name,
    }
}

/// Returns true if a rule denies something to every tool or to commands, and so to processes.
pub(crate) fn is_for_processes(rule: &Rule) -> bool {
    let is_meant = rule
        .matcher
        .tool
        .as_deref()
        .is_none_or(|tool| meet((tool, Reading::Rule), ("Bash", Reading::Literal)));
    rule.decision == Decision::Deny && is_meant && rule.matcher.source.is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::{self, Scope};

    fn rules(value: &serde_json::Value) -> Option<FileRules> {
        let parsed = rules::parse(value, Scope::User, |_| String::from("test")).unwrap();
        FileRules::of(&parsed.rules, Path::new("/w"), Some(Path::new("/home/me")))
    }

    #[test]
    fn only_deny_rules_for_all_tools_or_commands_apply() {
        assert!(rules(&json!({"allow": ["Read(a)"], "ask": ["Read(b)"]})).is_none());
        assert!(rules(&json!({"deny": [{"tool": "x", "path": "a"}, "Bash(cat *)"]})).is_none());
        let mapped = |tool: &str| rules(&json!({"deny": [{"tool": tool, "path": "a"}]})).unwrap();
        let both = |tool: &str| {
            let held = mapped(tool);
            (held.hides(Path::new("/w/a")), held.denies_write(Path::new("/w/a")))
        };
        assert_eq!([both("Read"), both("Grep")], [(true, false); 2]);
        assert_eq!([both("Write"), both("Edit")], [(false, true); 2]);
        assert_eq!([both("*"), both("Bash")], [(true, true); 2]);
        let held = rules(&json!({"deny": ["Read(.env)", "Write(tests/**)", {"path": "both"}]}));
        let held = held.unwrap();
        let of = |path: &str| {
            let path = Path::new(path);
            (held.hides(path), held.denies_write(path), held.binds(path))
        };
        assert_eq!(of("/w/.env"), (true, false, false));
        assert_eq!(of("/w/deep/.ENV"), (true, false, false));
        assert_eq!(of("/w/tests"), (false, true, true));
        assert_eq!(of("/w/tests/a/b.rs"), (false, true, true));
        assert_eq!(of("/w/sub/tests"), (false, false, false));
        assert_eq!(of("/w/both/x"), (true, true, false));
        let deep = rules(&json!({"deny": ["Read(**/bb/key)", "Read(**/shut/**)", "Read(a/*/k)"]}));
        let deep = deep.unwrap();
        let binds = |path: &str| (deep.hides(Path::new(path)), deep.binds(Path::new(path)));
        assert_eq!(binds("/w/aa/bb/key"), (true, true));
        assert_eq!(binds("/w/x/shut"), (true, false));
        assert_eq!(binds("/w/a/b/k"), (true, true));
        assert_eq!(of("/w/src"), (false, false, false));
    }

    #[test]
    fn rules_know_the_directories_they_may_match_in() {
        let held = rules(&json!({"deny": ["Read(a/b/*.key)", "Read(~/.cargo/x)", "Read(/etc/y)"]}));
        let held = held.unwrap();
        let below = |path: &str| held.may_mean_below(Path::new(path));
        assert!(below("/w") && below("/w/a") && below("/w/a/b") && below("/w/a/b/c"));
        assert!(!below("/w/src") && below("/home/me/.cargo"));
        let starts = held.starts();
        for start in ["/w/a/b", "/home/me/.cargo/x", "/etc/y", "/w/etc/y"] {
            assert!(starts.contains(&PathBuf::from(start)), "{start}: {starts:?}");
        }
        let anywhere = rules(&json!({"deny": ["Read(*.pem)"]})).unwrap();
        assert!(anywhere.may_mean_below(Path::new("/w/src")) && anywhere.starts().is_empty());
    }

    #[test]
    fn home_pattern_covers_the_whole_home() {
        for pattern in ["~", "~/**", "$HOME/**"] {
            let denied = [format!("Read({pattern})"), format!("Write({pattern})")];
            let held = rules(&json!({"deny": denied})).unwrap();
            for path in ["/home/me/app", "/home/me/app/k", "/home/me/.npmrc"].map(Path::new) {
                assert!(held.hides(path) && held.denies_write(path), "{pattern} {path:?}");
            }
            assert!(
                !held.hides(Path::new("/w/k")) && !held.denies_write(Path::new("/w/k")),
                "{pattern}"
            );
        }
    }

    #[test]
    fn quick_check_agrees_with_the_full_match() {
        let patterns =
            ["*.pem", "id_*", "s?cret/**", "a[bc]d", "**", "x/**/*.k?y", "{p,q}.env", "*"];
        let directories = ["~", "~/**", "$HOME", "$HOME/**", "~/*/**", ".", "./**", "/**", "//**"];
        let paths =
            ["k.pem", "ID_RSA", "secret/deep/k", "acd", "x/y/a.key", "q.env", "b/x.KEY", "o"];
        let paths = paths.into_iter().chain(["", "/v/k", "/home/me", "/home/me/app/k"]);
        for pattern in patterns.into_iter().chain(directories) {
            let held = rules(&json!({"deny": [format!("Read({pattern})")]})).unwrap();
            for path in paths.clone().map(|path| Path::new("/w").join(path)) {
                let literal = (path.as_path(), Reading::Literal);
                let means = held.rules[0].pattern.matches(literal, &held.places, Decision::Deny);
                assert_eq!(held.hides(&path), means, "{pattern} {path:?}");
            }
        }
    }
}
