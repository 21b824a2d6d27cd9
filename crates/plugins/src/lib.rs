//! Extensions that are plain files: skills, rules and model profiles.
//!
//! Everything here only reads. Where to look comes in as arguments; nothing of what is found is
//! run. A file that cannot be used costs one [`problem::Problem`] and nothing else.

mod files;
mod frontmatter;
mod hidden;
pub mod problem;
pub mod profiles;
pub mod rules;
pub mod skills;
mod yaml;
