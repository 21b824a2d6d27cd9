//! The configuration: files, environment variables and flags, merged into one typed
//! [`settings::Config`] whose every value has an [`origin::Origin`].
//!
//! `load` reads the layers from weak to strong. `check` holds each against the table of keys in
//! `schema`, `project_rights` takes out what a project may not set, `merge` puts it over the others.
//! `variables` finds the settings that environment variables name. `show` and `redact` print the
//! result. Everything from outside but the files comes in by [`load::Sources`]: no environment, home
//! or working directory is read here, and nothing is printed.

mod check;
pub mod dotenv;
mod emit;
pub mod expansion;
pub mod file;
pub mod load;
mod merge;
pub mod origin;
mod project_rights;
pub mod redact;
pub mod report;
pub mod schema;
pub mod secrets;
pub mod settings;
pub mod show;
#[cfg(test)]
mod tests;
mod variables;
