//! The available agents. Finding them reads files and starts nothing; a project's agents need
//! trust.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use initrunner::role;
use plugins::claude::{self, AgentFile};
use plugins::dialects::USER_AGENTS;
use plugins::problem::Problem as Fault;

use crate::assembly::Assembly;

/// An agent: the built-in one, or that of a file or a role.
pub type Agent = subagents::Agent<AgentFile>;
/// Where an agent comes from.
pub type Kind = subagents::Kind<AgentFile>;

/// The file of an agent; none for the built-in one.
pub fn path(agent: &Agent) -> Option<&Path> {
    match &agent.kind {
        Kind::Plain => None,
        Kind::File(file) => Some(&file.path),
        Kind::Role(path) => Some(path),
    }
}

/// The agents that a model can delegate to, and the files that are none.
#[derive(Clone, Debug, Default)]
pub struct AgentList {
    pub agents: Vec<Agent>,
    pub problems: Vec<Fault>,
}

impl AgentList {
    /// Finds them. The first of a name is used: the project's, then the user's, then roles.
    pub fn find(assembly: &Assembly) -> Self {
        let mut list = Self::default();
        list.add(Agent::plain());
        if assembly.global.safe {
            return list;
        }
        list.of_project(assembly);
        let home = assembly.environment.home.as_deref();
        let own = assembly.loaded.config_dir.iter().map(|dir| dir.join(setup::user_files::AGENTS));
        let shared = home.into_iter().flat_map(|home| USER_AGENTS.iter().map(|it| home.join(it)));
        let own: Vec<PathBuf> = own.chain(shared).collect();
        for directory in &own {
            let (files, problems) = claude::agents_in(directory);
            list.problems.extend(problems);
            for file in files {
                list.add_file(file, "user".to_owned());
            }
        }
        for file in agents(assembly) {
            if let Some(plugin) = &file.plugin {
                list.add_file(file.clone(), format!("plugin:{plugin}"));
            }
        }
        let roles = home.map(|home| home.join(".initrunner/roles"));
        for directory in own.iter().take(1).cloned().chain(roles) {
            list.of_roles(&directory);
        }
        list
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Agent> {
        subagents::named(&self.agents, name)
    }

    fn add(&mut self, agent: Agent) {
        if self.agents.iter().all(|other| other.name != agent.name) {
            self.agents.push(agent);
        }
    }

    fn add_file(&mut self, file: AgentFile, source: String) {
        self.add(Agent {
            name: file.qualified(),
            description: file.description.clone(),
            source,
            kind: Kind::File(Arc::new(file)),
        });
    }

    fn of_project(&mut self, assembly: &Assembly) {
        let Some(root) = assembly.root().ok().filter(|_| assembly.has_project()) else { return };
        let Some(trusted) = assembly.trust.trusted() else { return };
        let own = root.join(".brynhild/agents");
        for (path, bytes) in trusted.beneath(&own) {
            if path.parent() != Some(&own) || path.extension().is_none_or(|it| it != "md") {
                continue;
            }
            match claude::agent_of(path, bytes) {
                Ok(file) => self.add_file(file, "project".to_owned()),
                Err(problem) => self.problems.push(problem),
            }
        }
        for file in agents(assembly).filter(|file| file.plugin.is_none()) {
            self.add_file(file.clone(), "project".to_owned());
        }
    }

    fn of_roles(&mut self, directory: &Path) {
        let Ok(entries) = std::fs::read_dir(directory) else { return };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort_unstable();
        for path in paths {
            let is_file = path.extension().is_some_and(|it| it == "yaml" || it == "yml");
            if !is_file && !path.is_dir() {
                continue;
            }
            let Ok(file) = role::locate(&path) else { continue };
            let reading = role::read(&file);
            let errors: Vec<String> = reading.errors().map(ToString::to_string).collect();
            if let Some(role) = reading.role.filter(|_| errors.is_empty()) {
                self.add(Agent {
                    name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                    description: role.description,
                    source: "role".to_owned(),
                    kind: Kind::Role(file),
                });
            } else {
                let hint = "`brynhild validate` shows all problems";
                self.problems.push(Fault::new(&file, errors.join("; "), hint));
            }
        }
    }
}

/// The agents that other plugin systems bring, and those of a trusted project.
fn agents(assembly: &Assembly) -> impl Iterator<Item = &AgentFile> {
    assembly.loaded_plugins().flat_map(|it| &it.agents)
}
