//! The built-in tools, one file each.
//!
//! A tool is its arguments (a struct), its words for the model (a `.md` file beside it), what a
//! call would do (`actions`) and how it is done (`run`). Paths are judged by `paths` in both, and
//! files are opened through `files` only, which follows no symbolic link. No tool starts a process
//! but through the confinement it is handed, and none reads the environment.

mod arguments;
mod bash;
mod describe;
pub mod diff;
mod edit;
mod files;
mod finish;
mod glob;
mod grep;
mod inspect;
pub mod jobs;
mod learn_skill;
pub mod links;
mod outcome;
mod paths;
mod process_output;
mod read;
mod seen;
mod todo_write;
pub mod tool_search;
pub mod walk;
mod write;

#[cfg(test)]
mod fixture;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use contract::id::SessionId;
use contract::skill::Skill;
use contract::tool::{Tool, ToolOutput};

/// What the tools need to know of the project and the machine.
#[derive(Clone, Default)]
pub struct Settings {
    /// The project's directory, absolute and with symbolic links resolved.
    pub root: PathBuf,
    /// The user's home directory, which `~` stands for and which is closed to the tools.
    pub home: Option<PathBuf>,
    /// Further directories that may be read and written.
    pub allowed_paths: Vec<PathBuf>,
    /// Further directories that a single tool may read and write, by its name.
    pub own_paths: BTreeMap<String, Vec<PathBuf>>,
    /// Further directories that may be read: spilled output, installed skills.
    pub readable_paths: Vec<PathBuf>,
    /// What `LearnSkill` can teach.
    pub skills: Vec<Skill>,
    /// Called for each skill whose instructions `LearnSkill` returns.
    pub activate_skill: Option<ActivateSkill>,
    /// True if the sandbox can grant single hosts to a command.
    pub single_hosts: bool,
    /// The background commands of the session.
    pub jobs: Arc<jobs::Jobs>,
}

/// Makes a skill active in a session and completes the output that returns its instructions.
pub type ActivateSkill = Arc<dyn Fn(&str, &SessionId, &mut ToolOutput) + Send + Sync>;

/// Whether the error of a call says that a file is out of reach for tools.
pub fn is_out_of_reach(error: &str) -> bool {
    [paths::UNREADABLE, paths::UNWRITABLE].iter().any(|start| error.starts_with(start))
}

/// Every built-in tool, in the order in which people list them.
pub fn all(settings: Settings) -> Vec<Arc<dyn Tool>> {
    let shared = Arc::new(paths::Paths::new(&settings));
    let paths = |tool: &str| match settings.own_paths.get(tool) {
        Some(own) => {
            let allowed_paths = [settings.allowed_paths.as_slice(), own].concat();
            Arc::new(paths::Paths::new(&Settings { allowed_paths, ..settings.clone() }))
        }
        None => Arc::clone(&shared),
    };
    let seen = Arc::new(seen::Seen::default());
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(bash::Bash::new(&settings)),
        Arc::new(jobs::JobsTool::new(Arc::clone(&settings.jobs))),
        Arc::new(read::Read::new(paths("Read"), Arc::clone(&seen))),
        Arc::new(write::Write::new(paths("Write"), Arc::clone(&seen))),
        Arc::new(edit::Edit::new(paths("Edit"), seen)),
        Arc::new(grep::Grep::new(paths("Grep"))),
        Arc::new(glob::Glob::new(paths("Glob"))),
        Arc::new(inspect::Inspect::new(paths("Inspect"))),
    ];
    tools.extend([
        Arc::new(learn_skill::LearnSkill::new(settings.skills, settings.activate_skill))
            as Arc<dyn Tool>,
        Arc::new(todo_write::TodoWrite::new()),
        Arc::new(finish::Finish::new()),
    ]);
    tools
}

#[cfg(test)]
mod tests {
    use contract::tool::{Recovery, Risk};

    use super::*;

    #[test]
    fn every_tool_has_a_description_and_a_schema() {
        let tools = all(Settings::default());
        let names: Vec<_> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        let expected = [
            "Bash",
            "Jobs",
            "Read",
            "Write",
            "Edit",
            "Grep",
            "Glob",
            "Inspect",
            "LearnSkill",
            "TodoWrite",
            "Finish",
        ];
        assert_eq!(names, expected);
        for tool in &tools {
            let spec = tool.spec();
            assert_eq!(spec.version, "1.0.0");
            assert_eq!(spec.source, "builtin");
            assert_eq!(spec.input_schema["type"], "object", "{}", spec.name);
            assert!(spec.description.len() > 40, "{}", spec.name);
            for required in spec.input_schema["required"].as_array().into_iter().flatten() {
                let name = required.as_str().expect("a name");
                assert!(spec.input_schema["properties"][name].is_object(), "{name}");
            }
        }
    }

    #[test]
    fn risk_determines_permission_and_recovery() {
        let specs: Vec<_> =
            all(Settings::default()).iter().map(|tool| tool.spec().clone()).collect();
        let of = |name: &str| specs.iter().find(|spec| spec.name == name).expect("a tool");
        assert_eq!(of("Bash").risk_level, Risk::HighImpact);
        assert_eq!(of("Bash").recovery_policy, Recovery::Deny);
        assert_eq!(of("Write").recovery_policy, Recovery::Confirm);
        assert!(of("Edit").requires_permission && !of("Edit").parallel);
        assert!(!of("Grep").requires_permission && of("Grep").parallel);
        assert_eq!(of("Finish").risk_level, Risk::ReadOnly);
        assert!(!of("Finish").parallel);
    }
}
