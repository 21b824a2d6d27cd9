//! Getting started: the store of API keys, the choice of a provider and a model, lists of models, the
//! checks of `doctor`, and the names in the configuration directory.
//!
//! Nothing here knows a provider, asks a server or reads the environment: the caller passes what it
//! found.

pub mod doctor;
pub mod key_store;
pub mod models;
pub mod screen;
pub mod user_files;
pub mod wizard;
