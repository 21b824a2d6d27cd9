//! Access to the files of a workspace that several crates need.
//!
//! `changes` tracks which paths changed, so that nobody has to walk the whole workspace after each
//! call. `git` names the directories of a repository. `skip` is the one list of directories that a build or a package manager makes again.

pub mod changes;
pub mod git;
pub mod path;
pub mod skip;
