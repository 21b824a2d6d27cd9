//! The audit log of decisions, in the configuration directory.

use std::path::Path;
use std::sync::Arc;

use audit::decisions::{Audit, Audited};
use contract::log::Log;

use crate::output;
use crate::run_context::RunContext;

pub fn open(config_dir: &Path) -> Audit {
    Audit::new(config_dir, output::warning)
}

/// Logs the hosts that a process with host grants asked for.
pub(crate) fn proxy_observer(run: &RunContext) -> Option<sandbox::ProxyObserver> {
    let audit = open(run.loaded.config_dir.as_ref()?);
    let project = run.root().ok().map(Path::to_owned);
    Some(Arc::new(move |request: &sandbox::ProxyRequest<'_>| {
        let what = match request.verdict {
            sandbox::Verdict::Allowed => "reached",
            sandbox::Verdict::Denied => "not reached",
        };
        let sandbox::ProxyRequest { host, port, key, is_last, .. } = request;
        let more = if *is_last { "; further ones of this process are not listed" } else { "" };
        audit.note_or_warn(what, &format!("{host}:{port} ({key}){more}"), project.as_deref());
    }))
}

/// Also records the decisions of a conversation in `root`.
pub fn watched(run: &RunContext, root: &Path, inner: Arc<dyn Log>) -> Arc<dyn Log> {
    let Some(config_dir) = &run.loaded.config_dir else { return inner };
    Arc::new(Audited::new(inner, open(config_dir), root))
}
