//! The names that installed packages give themselves. They are learned when a package is asked what
//! it offers, and hold from the next run on: nothing of a package runs to find its name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use files::private;
use plugins::manifest;
use plugins::plugin::Package;

use crate::assemble::run_context::RunContext;

/// Names above which the file is begun anew.
const MOST: usize = 1000;

/// The names that were learned.
pub(crate) struct Names {
    file: Option<PathBuf>,
    names: BTreeMap<String, String>,
}

impl Names {
    /// Those of earlier runs; none where they cannot be read.
    pub(crate) fn load(run: &RunContext) -> Self {
        let config_dir = run.loaded.config_dir.as_ref();
        let file = config_dir.map(|dir| dir.join("cache/package-names.json"));
        let bytes = file.as_deref().and_then(|file| private::read(file).ok().flatten());
        let names = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Self { file, names: names.unwrap_or_default() }
    }

    /// The name of a package's plugin, where it has another one than its entry point.
    pub(crate) fn get(&self, package: &Package) -> Option<&str> {
        self.names.get(&key(package)?).map(String::as_str)
    }

    /// Takes what packages call themselves. That it cannot be written only costs the names.
    pub(crate) fn learn<'a>(&mut self, said: impl Iterator<Item = (&'a Package, &'a str)>) {
        let before = self.names.clone();
        for (package, name) in said {
            let Some(key) = key(package).filter(|_| manifest::fault_of_name(name).is_none()) else {
                continue;
            };
            self.names.insert(key, name.to_owned());
        }
        let Some(file) = self.file.as_deref().filter(|_| self.names != before) else { return };
        if self.names.len() > MOST {
            self.names.retain(|key, _| !before.contains_key(key));
        }
        if let (Ok(_lock), Ok(bytes)) = (private::lock(file), serde_json::to_vec(&self.names)) {
            let _ = private::replace(file, &bytes, private::Durability::Synced);
        }
    }
}

/// What a name is kept under: the package as it is, and the entry point that gives it.
fn key(package: &Package) -> Option<String> {
    let point = package.entry_points.iter().find(|it| it.group == "brynhild.plugins")?;
    Some(format!("{} {} {} {}", package.name, package.version, point.name, point.object))
}
