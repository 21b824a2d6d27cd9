//! Writes down what goes over the wire, where that is wanted.

use std::sync::{Arc, OnceLock};

use contract::id::Timestamp;
use providers::witness::{Exchange, Witness};
use sessions::conversation_log::{self, RawExchange, RawLog};

use crate::output;
use crate::world::World;

/// A witness with a file, which is made when there is something to write.
struct RawWitness {
    settings: conversation_log::Settings,
    provider: String,
    model: String,
    log: OnceLock<Option<RawLog>>,
}

/// The witness for a provider, if exchanges are to be written down.
pub(crate) fn witness(world: &World, provider: &str, model: &str) -> Option<Arc<dyn Witness>> {
    world.config().logging.raw_payloads.then(|| {
        Arc::new(RawWitness {
            settings: world.log_settings(),
            provider: provider.to_owned(),
            model: model.to_owned(),
            log: OnceLock::new(),
        }) as Arc<dyn Witness>
    })
}

impl Witness for RawWitness {
    fn saw(&self, exchange: &Exchange<'_>) {
        let log = self.log.get_or_init(|| match RawLog::create(&self.settings, Timestamp::now()) {
            Ok(log) => Some(log),
            Err(error) => {
                output::warning(&format!("no raw log: {error}"));
                None
            }
        });
        let Some(log) = log else { return };
        let written = log.record(&RawExchange {
            direction: exchange.direction.as_str(),
            provider: &self.provider,
            model: &self.model,
            endpoint: exchange.endpoint,
            payload: exchange.payload,
            duration_ms: u64::try_from(exchange.elapsed.as_millis()).unwrap_or(u64::MAX),
        });
        if let Err(error) = written {
            output::warning(&error.to_string());
        }
    }
}
