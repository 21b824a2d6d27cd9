//! Extensions: plugins as they are found, commands, skills, rules, model profiles and hooks.
//!
//! Finding and loading only read; where to look comes in as arguments. Only `chibi`, `claude` and
//! `hooks` start anything, through the sandbox that they are given; Python runs in the host that
//! `python` tells of plugins; only `rest` uses the network.
//! A file that cannot be used costs one [`problem::Problem`] and nothing else.

pub mod chibi;
pub mod claude;
pub mod commands;
mod confine;
pub mod dialects;
pub mod directories;
pub mod discovery;
pub mod entry_points;
pub mod env;
mod fingerprint;
mod hash;
pub mod hidden;
pub mod hooks;
pub mod index;
pub mod initrunner;
pub mod learned;
pub mod lmao;
pub mod manifest;
pub mod offer;
pub mod open_plugins;
pub mod parts;
pub mod plugin;
pub mod plugin_set;
pub mod problem;
pub mod process;
pub mod profiles;
pub mod python;
pub mod remedy;
pub mod rest;
pub mod rules;
pub mod skills;
pub mod state;
#[cfg(test)]
mod tests {
    pub(crate) mod fixture;
}
mod words;
