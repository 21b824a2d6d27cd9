//! The role that a run plays, and its record in the log of the session if a client of a server named it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use args::RunArgs;
use contract::event::EventKind;
use initrunner::role::{Role, ToolEntry};
use initrunner::skill::RoleSkill;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exit::Problem;

/// A role that was read and whose variables have values.
#[derive(Clone)]
pub struct ChosenRole {
    pub role: Role,
    pub(crate) prompt: String,
    pub(crate) skills: Vec<RoleSkill>,
    pub(crate) output: Option<Value>,
    pub(crate) given: BTreeMap<String, String>,
    pub(crate) added: Vec<String>,
    /// The reason of its run in the record of runs; none if the user started it.
    pub trigger_type: Option<&'static str>,
    /// True if the log of a new session is to name it.
    pub(crate) is_recorded: bool,
}

impl ChosenRole {
    /// The reason of a run without a user.
    pub const AUTONOMOUS: &str = "autonomous";

    pub(crate) fn add(&mut self, modules: Vec<String>) {
        let entry = |module: &String| ToolEntry {
            kind: String::from("custom"),
            fields: serde_json::Map::from_iter([
                (String::from("type"), "custom".into()),
                (String::from("module"), module.as_str().into()),
            ]),
        };
        self.role.tools.extend(modules.iter().map(entry));
        self.added = modules;
    }

    pub fn name(&self) -> &str {
        &self.role.name
    }

    /// Has it run without a user, or with one.
    pub fn set_autonomous(&mut self, is_autonomous: bool) {
        self.role.is_autonomous = is_autonomous;
        self.trigger_type = is_autonomous.then_some(Self::AUTONOMOUS);
    }

    /// Has it run as the flags of `run` say, whose limits replace its own.
    pub fn set_run(&mut self, args: &RunArgs) {
        self.set_autonomous(args.autonomous);
        let limits = &mut self.role.guardrails;
        limits.iterations = args.max_iterations.unwrap_or(limits.iterations);
        let tokens =
            if args.autonomous { &mut limits.autonomous_tokens } else { &mut limits.run_tokens };
        *tokens = args.token_budget.or(*tokens);
    }

    /// Returns true if its answer must fit a schema.
    pub fn has_schema(&self) -> bool {
        self.output.is_some()
    }

    pub(crate) fn cost_limit(&self) -> Option<f64> {
        self.role.guardrails.cost
    }

    /// The event that names it in the log of its session; none if the user named it for one run.
    pub(crate) fn record(&self) -> Option<EventKind> {
        self.is_recorded.then(|| EventKind::Custom {
            plugin: RoleRecord::PLUGIN.to_owned(),
            name: RoleRecord::NAME.to_owned(),
            data: json!({"file": self.role.file.to_string_lossy()}),
        })
    }
}

/// The record of a role in the log of a session.
#[derive(Deserialize)]
pub struct RoleRecord {
    pub(crate) file: PathBuf,
}

impl RoleRecord {
    const PLUGIN: &str = "initrunner";
    const NAME: &str = "role";

    /// The record in an event, if there is one.
    pub(crate) fn of(event: &EventKind) -> Option<Result<Self, Problem>> {
        let EventKind::Custom { plugin, name, data } = event else { return None };
        let unreadable =
            |error| Problem::failed(format!("the role of the session cannot be read: {error}"));
        let is_role = plugin == Self::PLUGIN && name == Self::NAME;
        is_role.then(|| Self::deserialize(data).map_err(unreadable))
    }
}
