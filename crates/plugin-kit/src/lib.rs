//! Beginnings and tests of plugins for their authors, and their installation. Does not load or run a
//! plugin; the binary does, and passes in the results.

pub mod bench;
pub mod case;
pub mod compatibility;
pub mod config_edit;
pub mod content;
pub mod dev;
pub mod example;
mod fetch_settings;
pub mod golden;
pub mod grants;
pub mod host;
pub mod install;
mod installable;
pub mod lock;
pub mod marketplace;
mod python_package;
pub mod report;
pub mod source;
pub mod template;
pub mod workspace;
