//! The prompt, model, tools and limits of an agent: never more than its parent conversation has. A
//! role has tools of its own, which the same rules judge.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent::nested::{Ended, NestedTask, Parent};
use agent::prompt::{self, Ingredients};
use agent::registry::IsHidden;
use agent::settings::{Bound, Budget, Questions, Settings};
use args::Global;
use config::schema::TOOLS;
use contract::event::{EventKind, Level};
use contract::hook::Hook;
use contract::policy::{Mode, Policy};
use contract::provider::Delivery;
use contract::tool::{Tool, ToolError, ToolOutput, ToolSpec};
use initrunner::role::SharedMemory;
use plugins::claude::AgentFile;
use policy::rules::{Scope, parse};
use python_host::Host;
use serde_json::json;
use subagents::{
    FAMILIAR, NAME, Narrowed, ORIGIN, Scoping, Selection, narrowed, report, unknown_exclusions,
    with_skills,
};

use crate::agent_list::{Agent, AgentList, Kind};
use crate::answering_model::{self, AnsweringModel};
use crate::assembly::{Assembly, SharedServices};
use crate::environment::Environment;
use crate::knowledge::Knowledge;
use crate::settings::{conversation_settings, prompt_style};

#[derive(Clone)]
pub(crate) struct Workplace {
    /// The maximum nesting depth below the session's conversation.
    pub(crate) max_depth: u32,
    /// The time limit of an agent; none if only its own limits apply.
    pub(crate) time: Option<Duration>,
    /// The memory of roles that work here; none if each has its own.
    pub(crate) shared_memory: Option<SharedMemory>,
    pub(crate) global: Global,
    pub(crate) environment: Environment,
    pub(crate) root: PathBuf,
    answering: Option<Arc<AnsweringModel>>,
    knowledge: Arc<Knowledge>,
    models: BTreeMap<String, Arc<Model>>,
    pub(crate) host: Option<Host>,
    pub(crate) services: Arc<SharedServices>,
    told: Arc<Mutex<BTreeSet<PathBuf>>>,
}

struct Model {
    answering: AnsweringModel,
    settings: Settings,
}

pub(crate) struct Persona {
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) guard: Option<Arc<dyn Hook>>,
    pub(crate) is_hidden: Option<IsHidden>,
    pub(crate) system: String,
    /// Warnings about tools, skills and models that the file names and that do not exist.
    pub(crate) remarks: Vec<String>,
    /// Warnings about names in `disallowedTools` that match no tool.
    pub(crate) unknown_exclusions: Vec<String>,
}

pub(crate) fn tighten(settings: &mut Settings, file: &AgentFile) {
    if file.permission_mode.as_deref() == Some("plan") {
        settings.mode = Mode::ReadOnly;
    }
    if file.permission_mode.as_deref() == Some("dontAsk") {
        settings.questions = Questions::Refused;
    }
    if let Some(most) = file.max_turns.filter(|rounds| *rounds > 0) {
        settings.rounds.lower(Bound::new(most, "maxTurns"));
    }
}

impl Workplace {
    pub(crate) fn new(
        assembly: &Assembly,
        root: &Path,
        (answering, knowledge): (Option<&Arc<AnsweringModel>>, Arc<Knowledge>),
        list: &AgentList,
    ) -> Self {
        let mut global = assembly.global.clone();
        if let Some(typed) = &assembly.typed {
            // The role's provider and model are not for other agents.
            (global.provider, global.model) = typed.clone();
        }
        let mut place = Self {
            max_depth: assembly.config().agents.max_depth,
            time: None,
            shared_memory: None,
            global,
            environment: assembly.environment.clone(),
            root: root.to_owned(),
            answering: answering.cloned(),
            knowledge,
            models: BTreeMap::new(),
            host: assembly.known_workers().map(|workers| workers.host().clone()),
            services: Arc::clone(&assembly.services),
            told: Arc::default(),
        };
        if let Some(answering) = answering {
            for agent in &list.agents {
                if let Kind::File(file) = &agent.kind
                    && let Some(name) = file.model.clone()
                {
                    place.models.extend(other_model(assembly, root, answering, name));
                }
            }
        }
        place
    }

    /// Delegates work within the conversation of a call, and reports the result.
    pub(crate) async fn hand_on(
        &self,
        agent: &Agent,
        prompt: String,
    ) -> Result<ToolOutput, ToolError> {
        let Some(parent) = Parent::current() else {
            return Err(ToolError::Broken("agents need a conversation".to_owned()));
        };
        if parent.depth() >= self.max_depth {
            let text = "agents may not delegate here (`agents.max_depth`): do it yourself";
            return Ok(ToolOutput::failure(text));
        }
        self.reported(&parent, agent, prompt).await.unwrap_or_else(|why| {
            let text = format!("the agent {} cannot start: {why}", agent.name);
            Ok(ToolOutput::failure(text))
        })
    }

    /// The result of delegated work; the outer error says why the agent cannot begin.
    pub(crate) async fn reported(
        &self,
        parent: &Parent,
        agent: &Agent,
        prompt: String,
    ) -> Result<Result<ToolOutput, ToolError>, String> {
        let Ended { outcome, words, usage, refused } = self.send(parent, agent, prompt).await?;
        Ok(report(&agent.name, outcome, (words, &refused), &usage))
    }

    pub(crate) async fn send(
        &self,
        parent: &Parent,
        agent: &Agent,
        prompt: String,
    ) -> Result<Ended, String> {
        let task = match &agent.kind {
            Kind::Plain => self.plain(parent, &agent.name, prompt),
            Kind::File(file) => self.of_file(parent, file, prompt),
            Kind::Role(path) => {
                let role = (agent.name.as_str(), path.as_path());
                let ended = Box::pin(self.play_role(parent, role, prompt)).await;
                return ended.map_err(|problem| problem.message());
            }
        };
        parent.converse(task).await.map_err(|error| error.to_string())
    }

    fn plain(&self, parent: &Parent, name: &str, prompt: String) -> NestedTask {
        let tools = self.at_hand(parent);
        let mut settings = self.inherited(parent);
        let (is_hidden, hooks) = (parent.registry().hidden(), Vec::new());
        settings.system = self.system((&tools, is_hidden.as_ref()), "", self.answering.as_deref());
        let (agent, provider, notices) = (name.to_owned(), None, Vec::new());
        NestedTask { agent, prompt, provider, tools, is_hidden, hooks, settings, notices }
    }

    fn of_file(&self, parent: &Parent, file: &AgentFile, prompt: String) -> NestedTask {
        let model = file.model.as_ref().and_then(|name| self.models.get(name));
        let answering = model.map(|model| &model.answering).or(self.answering.as_deref());
        let at_hand = (self.at_hand(parent), parent.registry().hidden());
        let Persona { tools, is_hidden, guard, system, mut remarks, unknown_exclusions } =
            self.persona(file, at_hand, answering);
        let hooks = guard.into_iter().collect();
        if let (Some(name), None) = (&file.model, model) {
            remarks.push(format!("there is no model {name} here; the default model is used"));
        }
        let mut settings = self.inherited(parent);
        if let Some(model) = model {
            take_over(&mut settings, &model.settings);
        }
        tighten(&mut settings, file);
        settings.system = system;
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = told.insert(file.path.clone());
        let unknown_exclusions =
            unknown_exclusions.into_iter().filter(|_| is_new).map(|text| (Level::Warning, text));
        let notices = unknown_exclusions.chain(remarks.into_iter().map(|text| (Level::Info, text)));
        let notice = |(level, text)| EventKind::Notice { level, text, hint: None, topic: None };
        let notices = notices.map(notice).collect();
        let (agent, provider) = (file.qualified(), None);
        NestedTask { agent, prompt, provider, tools, is_hidden, hooks, settings, notices }
    }

    pub(crate) fn persona(
        &self,
        file: &AgentFile,
        (at_hand, is_hidden): (Vec<Arc<dyn Tool>>, Option<IsHidden>),
        answering: Option<&AnsweringModel>,
    ) -> Persona {
        let selected =
            Selection { tools: file.tools.as_deref(), disallowed: &file.disallowed_tools };
        let judge = |entries: &[String]| scoped_policy(&self.root, entries);
        let literal_commands = policy::shell::literal_commands;
        let scoping = Scoping { judge: &judge, literal_commands };
        let Narrowed { tools, guard, named, missing } = narrowed(&at_hand, selected, &scoping);
        let is_hidden = is_hidden.map(|is_hidden| -> IsHidden {
            Arc::new(move |name: &str| is_hidden(name) && !named.contains(name))
        });
        let mut remarks = Vec::new();
        if !missing.is_empty() {
            let names = missing.join(", ");
            remarks.push(format!("its file names tools that are not here: {names}"));
        }
        let (instructions, unknown) = with_skills(&file.body, &file.skills, &self.knowledge.skills);
        if !unknown.is_empty() {
            let names = unknown.join(", ");
            remarks.push(format!("its file names skills that are not here: {names}"));
        }
        let system = self.system((&tools, is_hidden.as_ref()), &instructions, answering);
        let unknown_exclusions = unknown_exclusions(&at_hand, selected, TOOLS);
        Persona { tools, guard, is_hidden, system, remarks, unknown_exclusions }
    }

    /// The settings of the outer conversation, without its own limits. Its budget covers nested
    /// work anyway.
    pub(crate) fn inherited(&self, parent: &Parent) -> Settings {
        let mut settings = parent.settings().clone();
        settings.required_finish = None;
        settings.budget = Budget {
            time: self.time.map(|time| Bound::new(time, "timeout_seconds")),
            ..Budget::default()
        };
        settings
    }

    /// The tools of the parent, with `Task` if it may delegate further.
    fn at_hand(&self, parent: &Parent) -> Vec<Arc<dyn Tool>> {
        let hands_on = parent.depth() + 1 < self.max_depth;
        let is_left = |tool: &&Arc<dyn Tool>| hands_on || tool.spec().name != NAME;
        parent.registry().tools().filter(is_left).cloned().collect()
    }

    fn system(
        &self,
        (tools, is_hidden): (&[Arc<dyn Tool>], Option<&IsHidden>),
        instructions: &str,
        answering: Option<&AnsweringModel>,
    ) -> String {
        let is_hidden = |name: &str| is_hidden.is_some_and(|is_hidden| is_hidden(name));
        let specs = tools.iter().map(|tool| tool.spec());
        let specs: Vec<Arc<ToolSpec>> =
            specs.filter(|spec| !spec.traits.unoffered && !is_hidden(&spec.name)).collect();
        let can_learn = specs.iter().any(|spec| spec.name == "LearnSkill");
        let skills = can_learn.then(|| plugins::skills::prompt_block(&self.knowledge.skills));
        let ingredients = Ingredients {
            model: answering.map_or("", |answering| &answering.model),
            cwd: &self.root.display().to_string(),
            inner: "",
            tools: &specs,
            facts: &self.knowledge.facts.told(&specs),
            rules: &self.knowledge.rules,
            skills: skills.as_deref().unwrap_or_default(),
            style: answering.map(|it| prompt_style(&it.profile)).unwrap_or_default(),
        };
        prompt::agent_prompt(&ingredients, instructions)
    }
}

/// A policy that allows only what entries of an agent's file allow.
fn scoped_policy(root: &Path, entries: &[String]) -> Arc<dyn Policy> {
    let rules = entries.iter().filter_map(|entry| {
        // An invalid entry covers nothing.
        parse(&json!({"allow": [entry]}), Scope::User, |_| ORIGIN.to_owned()).ok()
    });
    let rules = rules.flat_map(|parsed| parsed.rules).collect();
    let workspace = root.to_owned();
    Arc::new(policy::policy(policy::Settings { workspace, rules, ..policy::Settings::default() }))
}

/// Copies the settings that depend on the model.
pub(crate) fn take_over(settings: &mut Settings, other: &Settings) {
    let delivery = settings.request.delivery;
    settings.request.clone_from(&other.request);
    if delivery == Delivery::Whole {
        settings.request.delivery = delivery;
    }
    settings.recovery = other.recovery;
    settings.stuck_after = other.stuck_after;
    settings.max_calls = other.max_calls;
    settings.parallel_tools = other.parallel_tools;
}

/// Another model of the provider by its name; none if there is none, or it is the current one.
fn other_model(
    assembly: &Assembly,
    root: &Path,
    answering: &AnsweringModel,
    name: String,
) -> Option<(String, Arc<Model>)> {
    let answering = answering_model::with_model(assembly, answering, &name)?;
    let is_meant = || {
        let (model, candidate) = (&answering.model, &answering.choice.candidate);
        assembly.is_configured(&["models", "aliases", &name])
            || answering_model::registered(assembly, model, candidate).is_some()
    };
    if FAMILIAR.contains(&name.as_str()) && !is_meant() {
        return None;
    }
    let settings = conversation_settings(assembly, root, Some(&answering), String::new());
    Some((name, Arc::new(Model { answering, settings })))
}
