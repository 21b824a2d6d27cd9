//! Parts of a conversation that a reload replaces.

use std::sync::{Arc, Mutex, PoisonError};

use plugins::hooks::Ask;
use plugins::open_plugins::OpenPlugins;

use crate::answering_model::AnsweringModel;
use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::hooks::Models;
use crate::output;
use crate::plugin_env;

/// A part that may be replaced. Clones share it.
pub(super) struct Swappable<T>(Arc<Mutex<Option<Arc<T>>>>);

impl<T> Swappable<T> {
    /// Holds the first part, if there is one.
    pub(super) fn new(first: Option<Arc<T>>) -> Self {
        Self(Arc::new(Mutex::new(first)))
    }

    /// The part in use.
    pub(super) fn present(&self) -> Option<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the part.
    pub(super) fn put(&self, next: Option<Arc<T>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = next;
    }
}

impl<T> Clone for Swappable<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// The plugins of other systems, found at the start and after each reload.
#[derive(Clone, Default)]
pub(super) struct ForeignPlugins(Arc<Mutex<Vec<DialectList>>>);

pub(super) type DialectList = Vec<Arc<dyn OpenPlugins>>;

impl ForeignPlugins {
    pub(super) async fn find(
        &self,
        assembly: &Assembly,
        answering: Option<&AnsweringModel>,
    ) -> Result<(), Problem> {
        let found = plugin_env::open(assembly).await?;
        let guards: Vec<_> = found.iter().flat_map(|it| it.project_guards()).collect();
        if let Err(problem) = assembly.trust.note_guards(&guards) {
            output::warning(&problem);
        }
        if let Some(answering) = answering {
            let ask: Arc<dyn Ask> = Arc::new(Models::new(answering));
            for plugins in &found {
                plugins.set_ask(&ask);
            }
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(found);
        Ok(())
    }

    pub(super) fn present(&self) -> DialectList {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.last().cloned().unwrap_or_default()
    }

    /// All that were ever found; some may still run.
    pub(super) fn all(&self) -> DialectList {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).concat()
    }
}
