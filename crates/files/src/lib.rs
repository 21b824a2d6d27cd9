//! Access to files that several crates need. `bounded`, `foreign` and `exact_path` are for untrusted
//! files, `private`, `lock` and `cache` for the program's own.

pub mod bounded;
pub mod cache;
pub mod changes;
pub mod exact_path;
pub mod foreign;
pub mod git;
pub mod lock;
pub mod path;
pub mod private;
pub mod protected;
pub mod skip;
pub mod stamp;
pub mod surroundings;
