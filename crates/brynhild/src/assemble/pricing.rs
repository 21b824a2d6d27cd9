//! The cost of replies that came before their price was known, from the configuration or the cached
//! model list.

use std::collections::BTreeMap;

use agent::settings::{ModelFacts, Prices};
use sessions::statistics::{SessionFigures, Spent};

use crate::assemble::assembly::Assembly;
use crate::assemble::provider_choice::{self, Candidate};
use crate::assemble::run_context::RunContext;
use crate::assemble::{answering_model, model_cache};

pub(crate) fn complete(assembly: &Assembly, sessions: &mut [SessionFigures]) {
    let mut list = PriceList { assembly, candidates: None, known: BTreeMap::new() };
    for session in sessions {
        let mut models = session.total().models.into_keys();
        // The figures of a turn do not name its model.
        if let (Some(only), None) = (models.next(), models.next()) {
            list.price(&only, &mut session.last_turn);
        }
        for figures in session.days.values_mut() {
            for (name, spent) in &mut figures.models {
                list.price(name, spent);
            }
        }
    }
}

/// Prices by `provider/model`, each looked up once.
struct PriceList<'a> {
    assembly: &'a Assembly,
    candidates: Option<Vec<Candidate>>,
    known: BTreeMap<String, Option<Prices>>,
}

impl PriceList<'_> {
    fn price(&mut self, name: &str, spent: &mut Spent) {
        if spent.unpriced_replies == 0 {
            return;
        }
        let prices = self.known.get(name).copied().unwrap_or_else(|| {
            let prices = self.find(name);
            self.known.insert(name.to_owned(), prices);
            prices
        });
        if let Some(prices) = prices {
            spent.price(prices.of(&spent.unpriced));
        }
    }

    fn find(&mut self, name: &str) -> Option<Prices> {
        let assembly = self.assembly;
        let (provider, model) = name.split_once('/')?;
        let candidates =
            self.candidates.get_or_insert_with(|| provider_choice::candidates(assembly));
        let is_own = |it: &&Candidate| it.name == provider || it.vendor().name == provider;
        let mut own = candidates.iter().filter(is_own);
        own.find_map(|candidate| prices_at(assembly, candidate, model))
    }
}

fn prices_at(run: &RunContext, candidate: &Candidate, model: &str) -> Option<Prices> {
    let registered = answering_model::registered(run, model, candidate);
    if let Some(prices) = registered.and_then(|(_, binding)| answering_model::prices(binding)) {
        return Some(prices);
    }
    let known = ModelFacts::default();
    let _ = known.offered.set(model_cache::last(run, candidate)?);
    known.prices_of(model)
}
