//! The objects that an installed package offers through its entry points, unchecked.

use std::io;
use std::path::{Path, PathBuf};

use ::files::foreign;
use contract::skill::Skill;
use serde::Deserialize;
use serde_json::Value;

use crate::directories::Directories;
use crate::plugin::Plugin;

/// Contributions of plugins to one kind of extension.
#[derive(Clone, Debug, Default)]
pub struct Contributions<'a> {
    /// The plugins that count, weakest first.
    pub plugins: Vec<&'a Plugin>,
    /// Offers of installed packages; only of plugins that count.
    pub offers: Vec<&'a Offer>,
    pub skills: Vec<&'a Skill>,
    /// The listings of plugins' directories, if there are any.
    pub directories: Option<&'a Directories>,
}

impl Contributions<'_> {
    /// The paths in a directory of a plugin, sorted; at most `limit` of them, and whether there are more.
    pub(crate) fn entries(
        &self,
        directory: &Path,
        limit: usize,
    ) -> io::Result<(Vec<PathBuf>, bool)> {
        match self.directories {
            Some(directories) => directories.entries(directory, limit),
            None => foreign::entries(directory, limit),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Offer {
    #[serde(skip)]
    pub plugin: String,
    #[serde(rename = "plugin")]
    pub manifest: Option<Value>,
    pub skills: Vec<Value>,
    pub commands: Vec<Value>,
    pub rules: Vec<Value>,
    pub profiles: Vec<Value>,
    pub hooks: Vec<Value>,
}

impl Offer {
    /// Reads the answer of a package's worker; what is not there counts as nothing.
    pub fn read(plugin: &str, answer: Value) -> Result<Self, serde_json::Error> {
        let offer: Self = serde_json::from_value(answer)?;
        Ok(Self { plugin: plugin.to_owned(), ..offer })
    }

    /// The name that the package gives itself, if any.
    pub fn name(&self) -> Option<&str> {
        self.manifest.as_ref()?.get("name")?.as_str()
    }

    /// The entry point that an item came from; the plugin's name where it does not say.
    pub fn entry_point<'a>(&'a self, item: &'a Value) -> &'a str {
        item.get("entry_point").and_then(Value::as_str).unwrap_or(&self.plugin)
    }
}
