//! The cached list of a provider's models, valid for its `cache_ttl`.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use contract::provider::Model;
use files::private;
use providers::learning::Keep;

use crate::assemble::provider_choice::Candidate;
use crate::assemble::run_context::RunContext;

const USUAL: u64 = 3600;

/// A cached list that is not too old.
pub(crate) fn kept(run: &RunContext, candidate: &Candidate) -> Option<Vec<Model>> {
    let path = file(run, candidate)?;
    let age = SystemTime::now().duration_since(fs::metadata(&path).ok()?.modified().ok()?).ok()?;
    let ttl = candidate.instance.as_ref().map_or(USUAL, |instance| instance.cache_ttl);
    if age > Duration::from_secs(ttl) {
        return None;
    }
    read(path)
}

/// The cached list of any age: a model's size and price change rarely.
pub(crate) fn last(run: &RunContext, candidate: &Candidate) -> Option<Vec<Model>> {
    read(file(run, candidate)?)
}

fn read(path: PathBuf) -> Option<Vec<Model>> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

pub(crate) fn keeper(run: &RunContext, candidate: &Candidate) -> Keep {
    let path = file(run, candidate);
    Arc::new(move |models| {
        let Some(path) = &path else { return };
        if let (Ok(text), Ok(_lock)) = (serde_json::to_vec(models), private::lock(path)) {
            // On failure the next run only takes longer.
            let _ = private::replace(path, &text, private::Durability::Synced);
        }
    })
}

/// The cache file; none for local servers, whose models change.
fn file(run: &RunContext, candidate: &Candidate) -> Option<PathBuf> {
    if candidate.vendor().local || candidate.is_script() {
        return None;
    }
    let directory = run.loaded.config_dir.as_ref()?.join(setup::user_files::CACHE);
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let place: String =
        format!("{} {}", candidate.name, candidate.shown_address()).chars().map(safe).collect();
    Some(directory.join(format!("models-{place}.json")))
}
