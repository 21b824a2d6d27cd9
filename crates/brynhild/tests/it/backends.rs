//! Projects whose program uses a certain sandbox, for tests of each sandbox.

use testkit::Project;

/// A kind of sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Bubblewrap,
    Landlock,
}

impl Backend {
    /// The sandboxes of this machine; prints a notice for missing ones.
    pub(crate) fn here() -> Vec<Self> {
        [Self::Bubblewrap, Self::Landlock].into_iter().filter(|backend| backend.is_here()).collect()
    }

    /// A project in which no stronger sandbox is found.
    pub(crate) fn project(self) -> Project {
        match self {
            Self::Bubblewrap => crate::project(),
            Self::Landlock => {
                let hides = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/backends/landlock.sh");
                Project::with_binary(hides).env("SHIPPED", env!("CARGO_BIN_EXE_brynhild"))
            }
        }
    }

    fn is_here(self) -> bool {
        let run = self.project().brynhild(&["sandbox", "doctor", "--json"]);
        let reports: serde_json::Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        let name = format!("{self:?}").to_lowercase();
        let is_it =
            |report: &serde_json::Value| report["backend"] == *name && report["chosen"] == true;
        let is_here = reports.as_array().is_some_and(|reports| reports.iter().any(is_it));
        if !is_here {
            crate::crashes::skip(&format!("{self:?}: {}", run.stderr));
        }
        is_here
    }
}
