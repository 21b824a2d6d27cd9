//! The cached list of a provider's models, valid for its `cache_ttl`.

use std::time::Duration;

use contract::provider::Model;
use providers::learning::Keep;
use providers::model_cache::ModelCache;

use crate::provider_choice::Candidate;
use crate::run_context::RunContext;

const USUAL: u64 = 3600;

/// A cached list that is not too old.
pub(crate) fn kept(run: &RunContext, candidate: &Candidate) -> Option<Vec<Model>> {
    let ttl = candidate.instance.as_ref().map_or(USUAL, |instance| instance.cache_ttl);
    cache(run, candidate).kept(Duration::from_secs(ttl))
}

/// The cached list of any age: a model's size and price change rarely.
pub fn last(run: &RunContext, candidate: &Candidate) -> Option<Vec<Model>> {
    cache(run, candidate).last()
}

pub(crate) fn keeper(run: &RunContext, candidate: &Candidate) -> Keep {
    cache(run, candidate).keeper()
}

/// The cache; local servers have none, because their models change.
fn cache(run: &RunContext, candidate: &Candidate) -> ModelCache {
    let is_cached = !candidate.vendor().local && !candidate.is_script();
    let directory = run.loaded.config_dir.as_ref().filter(|_| is_cached);
    let directory = directory.map(|dir| dir.join(setup::user_files::CACHE));
    ModelCache::new(directory, &candidate.name, &candidate.shown_address())
}
