//! Deny rules for files and hosts, enforced by the sandbox regardless of a command's text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::rules::Rule;

use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::run_context::RunContext;

/// The denied files; none if no rule denies a file.
pub(crate) fn file_rules(
    assembly: &Assembly,
) -> Result<Option<Arc<dyn sandbox::FileRules>>, Problem> {
    let rules = denying(assembly)?;
    tell_of_denied_grants(assembly, &rules);
    Ok(hidden_files(assembly, &rules).map(|it| Arc::new(it) as Arc<dyn sandbox::FileRules>))
}

/// The denied hosts; none if no rule denies a host.
pub(crate) fn host_rules(assembly: &Assembly) -> Result<Option<policy::HostRules>, Problem> {
    Ok(policy::HostRules::of(&denying(assembly)?))
}

fn denying(assembly: &Assembly) -> Result<Vec<Rule>, Problem> {
    let mut rules = Vec::new();
    for (index, entry) in assembly.config().permissions.deny.iter().enumerate() {
        match super::rule(assembly, "deny", index, entry) {
            Ok(read) => rules.extend(read),
            // The policy reports it.
            Err(_) if assembly.global.safe => {}
            Err(problem) => return Err(problem),
        }
    }
    Ok(rules)
}

fn hidden_files(run: &RunContext, rules: &[Rule]) -> Option<HiddenFiles> {
    let home = run.environment.home.as_deref();
    policy::FileRules::of(rules, run.place(), home).map(HiddenFiles)
}

/// Warns about granted paths that a rule denies.
fn tell_of_denied_grants(assembly: &Assembly, rules: &[Rule]) {
    let sandbox = &assembly.config().sandbox;
    let keys = [
        ("sandbox.allowed_paths", &sandbox.allowed_paths),
        ("sandbox.read_paths", &sandbox.read_paths),
    ];
    for rule in rules.iter().filter(|_| !assembly.is_unconfined()) {
        let Some(hidden) = hidden_files(assembly, std::slice::from_ref(rule)) else { continue };
        for (key, paths) in keys {
            // Symlinks to the same path are not reported again.
            let is_real = |path: &&PathBuf| path.canonicalize().is_ok_and(|real| real == **path);
            let denied = |path: &&PathBuf| sandbox::is_hidden(&hidden, path);
            for path in paths.iter().filter(is_real).filter(denied) {
                assembly.warn_once(&format!(
                    "`{key}` grants {}, but the rule `{}` denies reading it: it is not shown to commands; \
                     remove it from one of the two",
                    path.display(),
                    rule.text
                ));
            }
        }
    }
}

#[derive(Debug)]
struct HiddenFiles(policy::FileRules);

impl sandbox::FileRules for HiddenFiles {
    fn hides(&self, path: &Path) -> bool {
        self.0.hides(path)
    }

    fn denies_write(&self, path: &Path) -> bool {
        self.0.denies_write(path)
    }

    fn binds(&self, path: &Path) -> bool {
        self.0.binds(path)
    }

    fn may_mean_below(&self, directory: &Path) -> bool {
        self.0.may_mean_below(directory)
    }

    fn starts(&self) -> Vec<PathBuf> {
        self.0.starts()
    }
}
