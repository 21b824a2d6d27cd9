//! Checks, when a file of a workspace is about to run, that it is still the one the user trusts.

use std::fmt;
use std::sync::Arc;

use crate::sandbox::Fixed;

type Check = dyn Fn() -> Result<Vec<Fixed>, String> + Send + Sync;

/// Tells if the bytes that would run are the trusted ones. The default has no objection.
#[derive(Clone, Default)]
pub struct TrustCheck(Option<Arc<Check>>);

impl TrustCheck {
    /// Asks `check` each time.
    pub fn new(check: impl Fn() -> Result<Vec<Fixed>, String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(check)))
    }

    /// The files that were looked at, as a process must find them; or why nothing of it may run.
    pub fn ask(&self) -> Result<Vec<Fixed>, String> {
        self.0.as_ref().map_or(Ok(Vec::new()), |check| check())
    }
}

impl fmt::Debug for TrustCheck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TrustCheck").finish_non_exhaustive()
    }
}
