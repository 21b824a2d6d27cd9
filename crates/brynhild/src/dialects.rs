//! Plugins of other systems. Each dialect finds its own in the folders of plugins, and offers them
//! as tools and hooks like any other.

pub(crate) mod api;
mod chibi;
pub(crate) mod claude;
mod lmao;

use std::sync::Arc;

use async_trait::async_trait;
use contract::hook::Hook;
use contract::policy::Mode;
use contract::tool::Tool;
use serde::Serialize;

use crate::exit::Problem;
use crate::world::World;

/// The plugins of one system.
#[async_trait]
pub(crate) trait Dialect: Send + Sync {
    /// Their tools.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;
    /// Their hooks, in the order in which they are asked.
    fn hooks(&self) -> Vec<Arc<dyn Hook>>;
    /// What was found, for people.
    fn listing(&self) -> Vec<Listed>;
    /// Has what runs for them do no more than the mode lets it.
    fn set_mode(&self, _mode: Mode) {}
    /// Ends everything that runs for them. Takes seconds at most.
    async fn shutdown(&self);
}

/// A plugin of another system, as lists show it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Listed {
    /// Its name.
    pub(crate) name: String,
    /// The system.
    pub(crate) dialect: &'static str,
    /// Where it lies.
    pub(crate) path: String,
    /// Whether it counts.
    pub(crate) enabled: bool,
    /// What was loaded, and what was ignored and why, line by line.
    pub(crate) report: Vec<String>,
}

/// Finds the plugins of all dialects. Runs those of which nothing is known from earlier runs.
pub(crate) async fn open(world: &World) -> Result<Vec<Arc<dyn Dialect>>, Problem> {
    let mut found = Vec::new();
    found.extend(api::open(world));
    found.extend(chibi::open(world).await?);
    found.extend(claude::open(world)?);
    found.extend(lmao::open(world).await?);
    Ok(found)
}
