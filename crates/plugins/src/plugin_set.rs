//! The plugins of Brynhild's own dialect in one run.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::directories::Directories;
use crate::offer::{Contributions, Offer};
use crate::plugin::Plugin;
use crate::problem::Problem;

/// The name of Brynhild's own dialect.
pub const OWN: &str = "brynhild";

/// The plugins, and their problems.
#[derive(Debug, Default)]
pub struct PluginSet {
    /// Each name once, sorted; those that are off or not trusted included.
    pub plugins: Vec<Plugin>,
    pub problems: Vec<Problem>,
    /// Notes for authors about things that were understood.
    pub notes: Vec<Problem>,
    pub(crate) offers: OnceLock<Vec<Offer>>,
    pub(crate) directories: Option<Arc<Directories>>,
}

impl PluginSet {
    /// Problems that cost a plugin or a directory; the others are doubts about plugins that work.
    pub fn failures(&self) -> impl Iterator<Item = &Problem> {
        let is_of_one = |problem: &Problem| {
            self.plugins.iter().any(|plugin| problem.path.starts_with(&plugin.root))
        };
        self.problems.iter().filter(move |it| it.path.is_absolute() && !is_of_one(it))
    }

    /// The active plugins, sorted by name.
    pub fn active(&self) -> impl Iterator<Item = &Plugin> {
        self.plugins.iter().filter(|plugin| plugin.is_active())
    }

    pub fn get(&self, name: &str) -> Option<&Plugin> {
        let found = self.plugins.binary_search_by(|plugin| plugin.name().cmp(name));
        found.ok().map(|index| &self.plugins[index])
    }

    /// Takes the offers of installed packages. Has an effect once, before contributions are used.
    pub fn learn(&self, offers: Vec<Offer>) {
        // A second answer says nothing that the first did not.
        let _ = self.offers.set(offers);
    }

    /// The offers of installed packages, as far as they were learned.
    pub fn offers(&self) -> &[Offer] {
        self.offers.get().map_or(&[], Vec::as_slice)
    }

    /// The contributions of plugins, weakest first.
    pub fn contributions(&self) -> Contributions<'_> {
        let mut plugins: Vec<&Plugin> = self.active().collect();
        plugins.sort_by_key(|plugin| plugin.place);
        let is_active = |offer: &&Offer| self.get(&offer.plugin).is_some_and(Plugin::is_active);
        let offers = self.offers().iter().filter(is_active).collect();
        let directories = self.directories.as_deref();
        Contributions { plugins, offers, directories, ..Contributions::default() }
    }

    /// A plugin as `plugin list --json` shows it, with its package's own description.
    pub fn shown(&self, plugin: &Plugin) -> Value {
        let mut shown = plugin.to_json();
        let offer = self.offers().iter().find(|offer| offer.plugin == plugin.name());
        let manifest = offer.and_then(|offer| offer.manifest.as_ref());
        for key in ["version", "description", "author", "license"] {
            let said = manifest.and_then(|manifest| manifest.get(key)).and_then(Value::as_str);
            if let Some(said) = said.filter(|said| !said.is_empty()) {
                shown[key] = said.into();
            }
        }
        shown
    }
}
