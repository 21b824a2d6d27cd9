//! Marketplaces: repositories that list plugins in `.claude-plugin/marketplace.json`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use files::bounded;
use files::private::{self, Durability};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::source::{Source, is_git_url, is_name};

/// Where a marketplace lists its plugins.
const FILES: [&str; 2] = [".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json"];
const LARGEST: u64 = 4 << 20;
/// The keys of an entry that describe the entry, not the plugin.
const OF_ENTRY: [&str; 7] =
    ["source", "category", "tags", "strict", "relevance", "defaultEnabled", "policy"];

#[derive(Debug, Deserialize)]
pub struct Marketplace {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    metadata: Metadata,
    plugins: Vec<Map<String, Value>>,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(default, rename = "pluginRoot")]
    plugin_root: Option<PathBuf>,
}

/// A plugin of a marketplace.
#[derive(Debug)]
pub struct Entry {
    pub name: String,
    pub description: String,
    /// Where it is; a directory is inside the marketplace.
    pub source: Source,
    /// The manifest that the entry itself defines, where it need not have one of its own.
    pub manifest: Option<Map<String, Value>>,
}

impl Marketplace {
    /// Reads the list in the directory of a marketplace. An error says what to correct.
    pub fn read(directory: &Path) -> Result<Self, String> {
        let file = FILES.iter().map(|file| directory.join(file)).find(|file| file.is_file());
        let Some(file) = file else {
            return Err(format!("{} has no {}", directory.display(), FILES[0]));
        };
        let place = file.display();
        let bytes = bounded::read(&file, LARGEST).map_err(|error| format!("{place}: {error}"))?;
        let bytes = bytes.ok_or_else(|| format!("{place} is larger than 4 MiB"))?;
        let read: Self =
            serde_json::from_slice(&bytes).map_err(|error| format!("{place}: {error}"))?;
        if !is_name(&read.name) {
            return Err(format!("{place}: the name {:?} cannot name a directory", read.name));
        }
        Ok(read)
    }

    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.plugins.iter().map(|entry| {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
            (text("name"), text("description"))
        })
    }

    /// Finds a plugin; `directory` is that of the marketplace.
    pub fn entry(&self, name: &str, directory: &Path) -> Result<Entry, String> {
        let entry =
            self.plugins.iter().find(|it| it.get("name").and_then(Value::as_str) == Some(name));
        let Some(entry) = entry else {
            let known: Vec<&str> = self.names().map(|(name, _)| name).collect();
            return Err(format!(
                "{} has no plugin {name:?}; it has {}",
                self.name,
                known.join(", ")
            ));
        };
        let source = entry.get("source").ok_or_else(|| format!("{name} has no `source`"))?;
        let source = self.source(source, directory).map_err(|why| format!("{name}: {why}"))?;
        let is_strict = entry.get("strict").and_then(Value::as_bool).unwrap_or(true);
        let manifest = (!is_strict).then(|| {
            let own = entry.iter().filter(|(key, _)| !OF_ENTRY.contains(&key.as_str()));
            own.map(|(key, value)| (key.clone(), value.clone())).collect()
        });
        let description = entry.get("description").and_then(Value::as_str).unwrap_or_default();
        Ok(Entry { name: name.to_owned(), description: description.to_owned(), source, manifest })
    }

    fn source(&self, source: &Value, directory: &Path) -> Result<Source, String> {
        if let Some(path) = source.as_str() {
            let root = self.metadata.plugin_root.as_deref().unwrap_or(Path::new(""));
            let path = Path::new(path);
            let inside = if path.starts_with(".") { path.to_owned() } else { root.join(path) };
            if inside.is_absolute() || inside.components().any(|it| it == Component::ParentDir) {
                return Err(format!("`source` {} leaves the marketplace", path.display()));
            }
            return Ok(Source::Directory(directory.join(inside)));
        }
        let text = |key: &str| source.get(key).and_then(Value::as_str).map(str::to_owned);
        let reference = text("sha").or_else(|| text("ref"));
        let address = |url: String| {
            if is_git_url(&url) { Ok(url) } else { Err(format!("{url:?} is not a git address")) }
        };
        let missing = |key: &str| format!("`source.{key}` is missing");
        match text("source").as_deref() {
            Some("github") => {
                let repository = text("repo").ok_or_else(|| missing("repo"))?;
                let url = format!("https://github.com/{repository}.git");
                Ok(Source::Git { url, reference, directory: None })
            }
            Some("url" | "git") => {
                let url = address(text("url").ok_or_else(|| missing("url"))?)?;
                Ok(Source::Git { url, reference, directory: None })
            }
            Some("git-subdir") => {
                let url = address(text("url").ok_or_else(|| missing("url"))?)?;
                let inside = PathBuf::from(text("path").ok_or_else(|| missing("path"))?);
                if inside.is_absolute() || inside.components().any(|it| it == Component::ParentDir)
                {
                    return Err(format!(
                        "`source.path` {} leaves the repository",
                        inside.display()
                    ));
                }
                Ok(Source::Git { url, reference, directory: Some(inside) })
            }
            Some("npm") => {
                let package = text("package").ok_or_else(|| missing("package"))?;
                let version = text("version").map(|version| format!("@{version}"));
                Ok(Source::Npm(format!("{package}{}", version.unwrap_or_default())))
            }
            Some(other) => {
                Err(format!("plugins from a source of type `{other}` are not supported"))
            }
            None => Err(missing("source")),
        }
    }
}

/// The marketplaces that the user has added, by name.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KnownMarketplaces(pub BTreeMap<String, Source>);

impl KnownMarketplaces {
    fn file(directory: &Path) -> PathBuf {
        directory.join("marketplaces.json")
    }

    /// Where the copy of a marketplace that is a git repository is.
    pub fn clone_directory(directory: &Path, name: &str) -> PathBuf {
        directory.join("marketplaces").join(name)
    }

    pub fn read(directory: &Path) -> io::Result<Self> {
        let file = Self::file(directory);
        let Some(bytes) = private::read(&file)? else { return Ok(Self::default()) };
        serde_json::from_slice(&bytes)
            .map_err(|error| io::Error::other(format!("{}: {error}", file.display())))
    }

    pub fn write(&self, directory: &Path) -> io::Result<()> {
        private::make_directory(directory)?;
        let text = serde_json::to_string_pretty(self)? + "\n";
        private::replace(&Self::file(directory), text.as_bytes(), Durability::Synced)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn marketplace(plugins: &Value) -> Marketplace {
        serde_json::from_value(json!({"name": "shop", "owner": {}, "plugins": plugins})).unwrap()
    }

    #[test]
    fn entries_lead_to_their_sources() {
        let shop = marketplace(&json!([
            {"name": "a", "source": "./plugins/a"},
            {"name": "b", "source": {"source": "github", "repo": "o/r", "ref": "v1"}},
            {"name": "c", "source": {"source": "npm", "package": "p", "version": "2"}, "strict": false,
             "commands": ["./commands/x.md"], "category": "z"},
            {"name": "d", "source": "../up"},
            {"name": "e", "source": {"source": "command", "command": "rm"}},
        ]));
        let entry = |name: &str| shop.entry(name, Path::new("/m"));
        assert_eq!(entry("a").unwrap().source, Source::Directory("/m/./plugins/a".into()));
        assert_eq!(entry("b").unwrap().source.to_string(), "https://github.com/o/r.git#v1");
        let c = entry("c").unwrap();
        assert_eq!(c.source, Source::Npm("p@2".into()));
        let manifest = Value::Object(c.manifest.unwrap());
        assert_eq!(manifest, json!({"name": "c", "commands": ["./commands/x.md"]}));
        assert!(entry("d").unwrap_err().contains("leaves the marketplace"));
        assert!(entry("e").unwrap_err().contains("`command` are not supported"));
        assert!(entry("f").unwrap_err().contains("it has a, b, c, d, e"));
    }
}
