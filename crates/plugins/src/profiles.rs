//! Model profiles: the built-in ones, those in files, and which one fits a model.

mod model_profile;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ::files::foreign::{self, Boundary};
use contract::text::closest;
use formats::yaml::tree::Node;
use formats::yaml::{self, YES_NO};
pub use model_profile::ModelProfile;
use serde_json::Value;

use crate::offer::Contributions;
use crate::problem::{Problem, entries_of, shown, text_file};

const ENTRIES_LIMIT: usize = 2000;

const DEFAULT: &str = "default";

static BUILTIN: LazyLock<[ModelProfile; 3]> = LazyLock::new(|| {
    [
        include_str!("../profiles/default.yaml"),
        include_str!("../profiles/gpt-oss-120b.yaml"),
        include_str!("../profiles/gpt-oss-120b-fast.yaml"),
    ]
    .map(|text| {
        let tree = yaml::parse(text, YES_NO).expect("the built-in profiles are YAML");
        tree.to_type().expect("the built-in profiles are well-formed")
    })
});

/// All profiles, each name once: those of the directories' `*.yaml` first, in order, then those of
/// plugins, then the built-in ones. Of two with one name the later directory's or file's is kept; a
/// plugin's takes the place of a built-in one and of no other.
pub fn load(
    directories: &[PathBuf],
    contributions: &Contributions<'_>,
) -> (Vec<ModelProfile>, Vec<Problem>) {
    let mut search = Search::default();
    for directory in directories {
        let entries = foreign::entries(directory, ENTRIES_LIMIT);
        search.scan(directory, entries, Boundary::Anywhere, Search::add);
    }
    search.contributed(contributions);
    for profile in BUILTIN.iter() {
        let taken = search.profiles.iter().find(|(_, p)| p.name == profile.name);
        if let Some((path, _)) = taken {
            let problem = clash(path, &profile.name, "the built-in one");
            search.problems.push(problem);
        } else {
            search.profiles.push((PathBuf::new(), profile.clone()));
        }
    }
    let profiles = search.profiles.into_iter().map(|(_, profile)| profile);
    (profiles.collect(), search.problems)
}

/// The profile for a model: by name, by `provider/name`, by family, or `default`.
pub fn resolve<'a>(profiles: &'a [ModelProfile], model: &str, provider: &str) -> &'a ModelProfile {
    let model = normalize(model);
    let with_provider = format!("{}/{model}", provider.to_lowercase());
    let named = |name: &str| profiles.iter().find(|p| p.name.to_lowercase() == name);
    let of_family = || {
        profiles.iter().find(|profile| {
            let family = profile.family.to_lowercase();
            !family.is_empty() && model.starts_with(&family)
        })
    };
    named(&model)
        .or_else(|| named(&with_provider))
        .or_else(of_family)
        .or_else(|| named(DEFAULT))
        .unwrap_or(&BUILTIN[0])
}

pub fn find<'a>(profiles: &'a [ModelProfile], name: &str) -> Option<&'a ModelProfile> {
    profiles.iter().find(|profile| profile.name == name)
}

/// A model's name as profiles write it: lower case, without vendor, `-` for `:`.
fn normalize(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model);
    name.to_lowercase().replace(':', "-")
}

#[derive(Default)]
struct Search {
    profiles: Vec<(PathBuf, ModelProfile)>,
    problems: Vec<Problem>,
}

impl Search {
    fn contributed(&mut self, contributions: &Contributions<'_>) {
        for plugin in contributions.plugins.iter().filter(|plugin| plugin.package.is_none()) {
            let roots: Vec<_> = plugin.boundary().map(Path::to_path_buf).into_iter().collect();
            let boundary =
                if roots.is_empty() { Boundary::Anywhere } else { Boundary::Within(&roots) };
            let directory = plugin.root.join("profiles");
            let entries = contributions.entries(&directory, ENTRIES_LIMIT);
            self.scan(&directory, entries, boundary, Search::add_guest);
        }
        for offer in &contributions.offers {
            for item in &offer.profiles {
                let place = PathBuf::from(format!("<entry_point:{}>", offer.entry_point(item)));
                match offered(item, &place) {
                    Ok(profile) => self.add_guest(place, profile),
                    Err(problem) => self.problems.push(problem),
                }
            }
        }
    }

    fn add_guest(&mut self, path: PathBuf, profile: ModelProfile) {
        let same = |(_, earlier): &&(PathBuf, ModelProfile)| earlier.name == profile.name;
        if let Some((earlier, _)) = self.profiles.iter().find(same) {
            let what = format!(
                "the profile `{}` is left out, as {} has one of that name",
                profile.name,
                shown(earlier)
            );
            let hint = "give one of them another name if you want both";
            return self.problems.push(Problem::new(&path, what, hint));
        }
        self.add(path, profile);
    }

    fn scan(
        &mut self,
        directory: &Path,
        entries: io::Result<(Vec<PathBuf>, bool)>,
        boundary: Boundary<'_>,
        add: fn(&mut Self, PathBuf, ModelProfile),
    ) {
        let entries = entries_of(directory, entries, "profiles", &mut self.problems);
        let is_yaml = |path: &PathBuf| {
            path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
        };
        for path in entries.into_iter().filter(is_yaml) {
            match read(&path, boundary) {
                Ok(profile) => add(self, path, profile),
                Err(problem) => self.problems.push(problem),
            }
        }
    }

    fn add(&mut self, path: PathBuf, profile: ModelProfile) {
        for pattern in &profile.enabled_patterns {
            if !profile.prompt_patterns.contains_key(pattern) {
                self.problems.push(Problem::new(
                    &path,
                    format!(
                        "`enabled_patterns` names `{pattern}`, which is not in `prompt_patterns`"
                    ),
                    "write the passage or remove its name",
                ));
            }
        }
        let same = |(_, earlier): &(PathBuf, ModelProfile)| earlier.name == profile.name;
        if let Some(index) = self.profiles.iter().position(same) {
            let (earlier, _) = self.profiles.remove(index);
            let other = format!("that of {}", shown(&earlier));
            self.problems.push(clash(&path, &profile.name, &other));
        }
        self.profiles.push((path, profile));
    }
}

fn clash(path: &Path, name: &str, other: &str) -> Problem {
    Problem::new(
        path,
        format!("the profile `{name}` takes the place of {other}"),
        "give it another name if you want both",
    )
}

fn offered(item: &Value, place: &Path) -> Result<ModelProfile, Problem> {
    let mut item = item.clone();
    if let Value::Object(fields) = &mut item {
        fields.shift_remove("entry_point");
    }
    let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
    if name.trim().is_empty() {
        return Err(Problem::new(place, "the profile has no `name`", "return one with a `name`"));
    }
    serde_json::from_value(item).map_err(|error| {
        let hint = "`docs/reference/profiles.md` lists the keys and their types";
        Problem::new(place, error.to_string(), hint)
    })
}

fn read(path: &Path, boundary: Boundary<'_>) -> Result<ModelProfile, Problem> {
    let text = text_file(path, boundary)?;
    let wrong = |line: usize, what: &str, likely: Option<&str>| {
        let usual = "correct the line; `docs/reference/profiles.md` lists the keys and their types";
        let hint = likely.map(|key| format!("did you mean `{key}`?"));
        Problem::new(path, format!("line {line}: {what}"), hint.as_deref().unwrap_or(usual))
    };
    let tree = yaml::parse(&text, YES_NO);
    let tree = tree.map_err(|error| wrong(error.line, &error.message, None))?;
    // A profile without a name would pass for `default`, so the keys are looked at first.
    let name = tree.get("name").and_then(Node::text).unwrap_or_default();
    if name.trim().is_empty() {
        return Err(Problem::new(
            path,
            "the profile has no `name`",
            "add a line such as `name: my-model`",
        ));
    }
    tree.to_type().map_err(|finding| {
        let likely = closest(&finding.word, finding.known.iter().copied());
        wrong(finding.line, &finding.message, likely)
    })
}

#[cfg(test)]
mod tests;
