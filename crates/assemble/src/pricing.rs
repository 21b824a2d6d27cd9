//! The figures of sessions, with the cost of replies that came before their price was known. Prices
//! are from the configuration or the cached model list.

use std::collections::BTreeMap;

use agent::settings::{ModelFacts, Prices};
use contract::id::SessionId;
use sessions::error::Error;
use sessions::store::Store;
use statistics::{Fold, SessionFigures};

use crate::assembly::Assembly;
use crate::provider_choice::{self, Candidate};
use crate::run_context::RunContext;
use crate::{answering_model, model_cache};

/// The figures of sessions. A log that cannot be read is left out; `session list` shows it.
pub fn figures(
    assembly: &Assembly,
    store: &Store,
    sessions: impl IntoIterator<Item = SessionId>,
) -> Vec<SessionFigures> {
    let read = |id: SessionId| {
        let mut fold = Fold::default();
        store
            .each_event(&id, |event| {
                fold.add(&event);
                Ok::<_, Error>(())
            })
            .ok()?;
        Some(fold.finish(id))
    };
    let mut figures: Vec<SessionFigures> = sessions.into_iter().filter_map(read).collect();
    let (mut candidates, mut known) = (None, BTreeMap::new());
    statistics::complete_costs(&mut figures, |name, usage| {
        let prices = known.entry(name.to_owned()).or_insert_with(|| {
            let candidates =
                candidates.get_or_insert_with(|| provider_choice::candidates(assembly));
            prices(assembly, candidates, name)
        });
        prices.map(|prices| prices.of(usage))
    });
    figures
}

/// The prices of a `provider/model`.
fn prices(run: &RunContext, candidates: &[Candidate], name: &str) -> Option<Prices> {
    let (provider, model) = name.split_once('/')?;
    let is_own = |it: &&Candidate| it.name == provider || it.vendor().name == provider;
    candidates.iter().filter(is_own).find_map(|candidate| {
        let registered = answering_model::registered(run, model, candidate);
        registered.and_then(|(_, binding)| answering_model::prices(binding)).or_else(|| {
            let known = ModelFacts::default();
            let _ = known.offered.set(model_cache::last(run, candidate)?);
            known.prices_of(model)
        })
    })
}
