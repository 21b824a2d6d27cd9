//! The raw request log, if it is turned on.

use std::sync::{Arc, OnceLock};

use agent::keys::Keys;
use contract::id::Timestamp;
use contract::secret::Secret;
use providers::witness::{Exchange, Witness};
use sessions::conversation_log::{self, RawExchange, RawLog};

use crate::output;
use crate::run_context::RunContext;

/// A witness whose file is created on the first write.
struct RawRequestLog {
    settings: conversation_log::Settings,
    provider: String,
    model: String,
    /// Redacted, because a server may repeat them.
    keys: Keys,
    log: OnceLock<Option<RawLog>>,
}

/// The witness for a provider with these keys, if raw requests are logged.
pub(crate) fn witness(
    run: &RunContext,
    (provider, model): (&str, &str),
    keys: &[Secret<String>],
) -> Option<Arc<dyn Witness>> {
    run.config().logging.raw_payloads.then(|| {
        Arc::new(RawRequestLog {
            settings: run.log_settings(),
            provider: provider.to_owned(),
            model: model.to_owned(),
            keys: Keys::new(keys),
            log: OnceLock::new(),
        }) as Arc<dyn Witness>
    })
}

impl Witness for RawRequestLog {
    fn saw(&self, exchange: &Exchange<'_>) {
        let log = self.log.get_or_init(|| match RawLog::create(&self.settings, Timestamp::now()) {
            Ok(log) => Some(log),
            Err(error) => {
                output::warning(&format!("no raw log: {error}"));
                None
            }
        });
        let Some(log) = log else { return };
        let hidden = self.keys.without(exchange.payload);
        let written = log.record(&RawExchange {
            direction: exchange.direction.as_str(),
            provider: &self.provider,
            model: &self.model,
            endpoint: exchange.endpoint,
            payload: hidden.as_deref().unwrap_or(exchange.payload),
            duration_ms: u64::try_from(exchange.elapsed.as_millis()).unwrap_or(u64::MAX),
        });
        if let Err(error) = written {
            output::warning(&error.to_string());
        }
    }
}
