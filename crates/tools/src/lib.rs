//! The built-in tools, one file each.
//!
//! A tool is its arguments (a struct), its description for the model (a `.md` file beside it), the
//! actions of a call (`actions`) and their execution (`run`). `paths` checks paths in both, and
//! files are opened through `files` only, which follows no symlink. Tools start processes only
//! through the confinement they are given, and read no environment variable.

mod arguments;
mod bash;
pub mod calculator;
mod describe;
pub mod diff;
mod edit;
mod files;
pub mod fingerprint;
mod finish;
pub mod git_branch;
mod glob;
mod grep;
pub mod image;
mod inspect;
pub mod jobs;
mod learn_skill;
pub mod links;
mod outcome;
mod paths;
mod process_output;
pub mod prompt_facts;
mod read;
mod seen;
pub mod skill_grants;
mod todo_write;
pub mod tool_search;
pub mod walk;
pub mod web;
mod web_fetch;
mod web_search;
mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use contract::id::SessionId;
use contract::skill::Skill;
use contract::tool::{Tool, ToolOutput};

/// The project and the machine that the tools work on.
#[derive(Clone, Default)]
pub struct Settings {
    /// The project's directory, absolute and with symlinks resolved.
    pub root: PathBuf,
    /// The user's home directory, in which tools may not read secrets.
    pub home: Option<PathBuf>,
    /// Further directories that may be read and written.
    pub allowed_paths: Vec<PathBuf>,
    /// Further directories that a single tool may read and write, by its name.
    pub own_paths: BTreeMap<String, Vec<PathBuf>>,
    /// Further directories that may be read: spilled output, installed skills.
    pub readable_paths: Vec<PathBuf>,
    /// The skills of `LearnSkill`.
    pub skills: Vec<Skill>,
    /// Called for each skill whose instructions `LearnSkill` returns.
    pub activate_skill: Option<ActivateSkill>,
    /// True if the sandbox can grant single hosts to a command.
    pub single_hosts: bool,
    /// The background commands of the session.
    pub jobs: Arc<jobs::Jobs>,
    /// None if there is no network.
    pub web: Option<web::WebAccess>,
}

/// Makes a skill active in a session and completes the output that returns its instructions.
pub type ActivateSkill = Arc<dyn Fn(&str, &SessionId, &mut ToolOutput) + Send + Sync>;

/// Every built-in tool, in the order of lists.
pub fn all(settings: &Settings) -> Vec<Arc<dyn Tool>> {
    let shared = Arc::new(paths::Paths::new(settings));
    let paths = |tool: &str| match settings.own_paths.get(tool) {
        Some(own) => {
            let allowed_paths = [settings.allowed_paths.as_slice(), own].concat();
            Arc::new(paths::Paths::new(&Settings { allowed_paths, ..settings.clone() }))
        }
        None => Arc::clone(&shared),
    };
    let seen = Arc::new(seen::Seen::default());
    let mut all: Vec<Arc<dyn Tool>> = vec![
        Arc::new(bash::Bash::new(settings)),
        Arc::new(jobs::JobsTool::new(Arc::clone(&settings.jobs))),
        Arc::new(read::Read::new(paths("Read"), Arc::clone(&seen))),
        Arc::new(write::Write::new(paths("Write"), Arc::clone(&seen))),
        Arc::new(edit::Edit::new(paths("Edit"), seen)),
        Arc::new(grep::Grep::new(paths("Grep"))),
        Arc::new(glob::Glob::new(paths("Glob"))),
        Arc::new(inspect::Inspect::new(paths("Inspect"))),
        Arc::new(learn_skill::LearnSkill::new(
            settings.skills.clone(),
            settings.activate_skill.clone(),
        )),
        Arc::new(todo_write::TodoWrite::new()),
        Arc::new(finish::Finish::new()),
    ];
    if let Some(web::WebAccess { client, search }) = settings.web.clone() {
        all.push(Arc::new(web_fetch::WebFetch::new(Arc::clone(&client))));
        all.extend(search.map(|search| -> Arc<dyn Tool> {
            Arc::new(web_search::WebSearch::new(client, search))
        }));
    }
    all
}

#[cfg(test)]
mod tests;
