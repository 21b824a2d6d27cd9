//! The deny rules for files as the sandbox holds them, whatever a command's text says.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::exit::Problem;
use crate::world::World;

/// The rules that keep files from every process; none where no rule denies a file.
pub(crate) fn file_rules(world: &World) -> Result<Option<Arc<dyn sandbox::FileRules>>, Problem> {
    let mut rules = Vec::new();
    for (index, entry) in world.config().permissions.deny.iter().enumerate() {
        match super::rule(world, "deny", index, entry) {
            Ok(read) => rules.extend(read),
            // The policy tells of it.
            Err(_) if world.global.safe => {}
            Err(problem) => return Err(problem),
        }
    }
    let home = world.environment.home.as_deref();
    let held = policy::FileRules::of(&rules, world.place(), home);
    Ok(held.map(|held| Arc::new(Held(held)) as Arc<dyn sandbox::FileRules>))
}

#[derive(Debug)]
struct Held(policy::FileRules);

impl sandbox::FileRules for Held {
    fn hides(&self, path: &Path) -> bool {
        self.0.hides(path)
    }

    fn keeps(&self, path: &Path) -> bool {
        self.0.keeps(path)
    }

    fn binds(&self, path: &Path) -> bool {
        self.0.binds(path)
    }

    fn may_mean_below(&self, folder: &Path) -> bool {
        self.0.may_mean_below(folder)
    }

    fn starts(&self) -> Vec<PathBuf> {
        self.0.starts()
    }
}
