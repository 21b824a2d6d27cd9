//! Getting started: the store of API keys, the choice of a provider and a model, and the checks of
//! `doctor`.
//!
//! Nothing here knows a provider, asks a server or reads the environment: the caller passes what it
//! found.

pub mod doctor;
pub mod key_store;
pub mod wizard;
