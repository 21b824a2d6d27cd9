//! Texts that packages give themselves when they describe themselves: names of plugins, and
//! descriptions of tool types. They hold from the next run on, so that a listing runs nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ::files::cache;

use crate::manifest;
use crate::plugin::Package;

const MOST_TEXTS: usize = 1000;

/// Texts that are kept in a file. A lost file costs the texts and nothing else.
#[derive(Debug, Default)]
pub struct LearnedTexts {
    file: Option<PathBuf>,
    texts: BTreeMap<String, String>,
}

impl LearnedTexts {
    pub(crate) fn load(config_dir: Option<&Path>, name: &str) -> Self {
        let file = config_dir.map(|dir| dir.join("cache").join(name));
        let texts = file.as_deref().and_then(cache::read).unwrap_or_default();
        Self { file, texts }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.texts.get(key).map(String::as_str)
    }

    pub(crate) fn learn(mut self, texts: impl IntoIterator<Item = (String, String)>) {
        let before = self.texts.clone();
        self.texts.extend(texts);
        let Some(file) = self.file.filter(|_| self.texts != before) else { return };
        if self.texts.len() > MOST_TEXTS {
            self.texts.retain(|key, _| !before.contains_key(key));
        }
        let _ = cache::write(&file, &self.texts);
    }
}

/// The names of the plugins of packages that have another one than their entry point.
pub(crate) fn package_names(config_dir: Option<&Path>) -> LearnedTexts {
    LearnedTexts::load(config_dir, "package-names.json")
}

/// Keeps the names that packages give themselves.
pub fn learn_names<'a>(
    config_dir: Option<&Path>,
    names: impl Iterator<Item = (&'a Package, &'a str)>,
) {
    let names = names.filter(|(_, name)| manifest::fault_of_name(name).is_none());
    let names = names.filter_map(|(package, name)| Some((name_key(package)?, name.to_owned())));
    package_names(config_dir).learn(names);
}

/// The package as it is, and the entry point that gives the name.
pub(crate) fn name_key(package: &Package) -> Option<String> {
    let point = package.entry_points.iter().find(|it| it.group == "brynhild.plugins")?;
    Some(format!("{} {} {} {}", package.name, package.version, point.name, point.object))
}
