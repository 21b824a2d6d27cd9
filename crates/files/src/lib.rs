//! Access to files that several crates need.
//!
//! `changes` tracks which paths of a workspace changed, so that nobody has to walk all of it after
//! each call. `git` names the directories of a repository. `skip` is the one list of directories that
//! a build or a package manager makes again. `exact_path` works at paths that no symlink may be part
//! of, `bounded` reads untrusted files, `private` and `lock` are for our own files, `stamp` tells if a
//! file changed, `cache` reads and replaces JSON files that may be lost, `path` has paths as text, and
//! `yaml` reads YAML and JSON with the line of every value. `surroundings` says where processes find
//! themselves, and finds programs.

pub mod bounded;
pub mod cache;
pub mod changes;
pub mod exact_path;
pub mod git;
pub mod lock;
pub mod path;
pub mod private;
pub mod skip;
pub mod stamp;
pub mod surroundings;
pub mod yaml;
