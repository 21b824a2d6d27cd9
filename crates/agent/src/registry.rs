//! The tools of a conversation, by name, with the check of their arguments.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use contract::tool::{Tool, ToolSpec};
use jsonschema::Validator;
use serde_json::Value;

/// Tools by name. The first of a name stays.
#[derive(Default)]
pub struct Registry {
    tools: BTreeMap<String, Registered>,
    specs: Arc<[Arc<ToolSpec>]>,
    later: Vec<Arc<dyn Tool>>,
    is_hidden: Option<IsHidden>,
    offered: Mutex<(usize, Arc<[Arc<ToolSpec>]>)>,
}

struct Registered {
    tool: Arc<dyn Tool>,
    validator: OnceLock<Result<Validator, String>>,
    is_told: AtomicBool,
}

/// Tells of a name whether its tool is not offered at this moment.
pub type IsHidden = Arc<dyn Fn(&str) -> bool + Send + Sync>;

impl Registry {
    /// Takes the tools. Also returns a line for each one whose name was taken already.
    pub fn new(
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
        is_hidden: Option<IsHidden>,
    ) -> (Self, Vec<String>) {
        let mut registry = Self { is_hidden, ..Self::default() };
        let (mut order, mut clashes) = (Vec::new(), Vec::new());
        for tool in tools {
            let spec = tool.spec();
            if let Some(taken) = registry.tools.get(&spec.name) {
                clashes.push(format!(
                    "tool `{}` of {} is left out: {} has a tool of that name (rename it, or switch \
                     one of the two off)",
                    spec.name,
                    origin(tool.as_ref()),
                    origin(taken.tool.as_ref()),
                ));
                continue;
            }
            let (validator, is_told) = (OnceLock::new(), AtomicBool::new(false));
            let registered = Registered { tool: Arc::clone(&tool), validator, is_told };
            registry.tools.insert(spec.name.clone(), registered);
            order.push(tool);
        }
        let (first, later): (Vec<_>, Vec<_>) =
            order.into_iter().partition(|tool| registry.offers(tool));
        registry.later = later;
        registry.specs = first.iter().map(|tool| tool.spec()).collect();
        (registry, clashes)
    }

    /// The offered tools, in their order. Those offered later come last, for the cache of the provider.
    pub fn specs(&self) -> Arc<[Arc<ToolSpec>]> {
        let count = self.later.iter().filter(|tool| self.offers(tool)).count();
        if count == 0 {
            return Arc::clone(&self.specs);
        }
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        if offered.0 != count {
            let later = self.later.iter().filter(|tool| self.offers(tool)).map(|tool| tool.spec());
            *offered = (count, self.specs.iter().cloned().chain(later).collect());
        }
        Arc::clone(&offered.1)
    }

    fn offers(&self, tool: &Arc<dyn Tool>) -> bool {
        let spec = tool.spec();
        let is_hidden = self.is_hidden.as_ref().is_some_and(|is_hidden| is_hidden(&spec.name));
        !spec.traits.unoffered && !is_hidden
    }

    /// Tells which tools are hidden, for a registry with some of the same tools.
    pub fn hidden(&self) -> Option<IsHidden> {
        self.is_hidden.clone()
    }

    /// All tools, by name.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values().map(|entry| &entry.tool)
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name).map(|entry| &entry.tool)
    }

    /// Checks `args` for the tool `name`. The error is for the model.
    pub fn check(&self, name: &str, args: &Value) -> Result<(), String> {
        let Some(entry) = self.tools.get(name) else {
            return Err(self.unknown(name));
        };
        if let Value::String(text) = args {
            let cause = serde_json::from_str::<Value>(text).err().map_or_else(
                || "they are a string, name a key twice, or are nested too deeply".to_owned(),
                |e| e.to_string(),
            );
            return Err(format!("The arguments are not valid JSON: {cause}. Send a JSON object."));
        }
        let spec = entry.tool.spec();
        let schema = spec.traits.accepted_schema.as_ref().unwrap_or(&spec.input_schema);
        let missing = missing(schema, args);
        if !missing.is_empty() {
            return Err(format!("Missing required parameters: {}", missing.join(", ")));
        }
        match entry.validator.get_or_init(|| validator(schema)) {
            Ok(validator) => describe(validator, args),
            // Nothing more can be checked, and the tool may work all the same.
            Err(_) => Ok(()),
        }
    }

    /// Returns the error in the schema of the tool `name`, once, after arguments were checked.
    pub(crate) fn broken(&self, name: &str) -> Option<String> {
        let entry = self.tools.get(name)?;
        let error = entry.validator.get()?.as_ref().err()?;
        if entry.is_told.swap(true, Ordering::Relaxed) {
            return None;
        }
        let source = entry.tool.spec().source.clone();
        Some(format!(
            "the input schema of {name} ({source}) is broken: {error}; only required parameters \
             are checked until it is fixed"
        ))
    }

    /// Returns a message about parameters that the tool `name` ignores.
    pub(crate) fn ignored(&self, name: &str, args: &Value) -> Option<String> {
        let schema = Arc::clone(&self.tools.get(name)?.tool.spec().input_schema);
        let known = schema.get("properties")?.as_object()?;
        if schema.get("additionalProperties").is_some() {
            return None;
        }
        let keys = args.as_object()?.keys().filter(|key| !known.contains_key(*key));
        let unknown: Vec<&str> = keys.map(String::as_str).collect();
        (!unknown.is_empty())
            .then(|| format!("Unknown parameters (will be ignored): {}", unknown.join(", ")))
    }

    fn unknown(&self, name: &str) -> String {
        let near = self.tools.keys().find(|known| known.eq_ignore_ascii_case(name));
        match near {
            Some(known) => format!("Unknown tool: {name}. Did you mean {known}?"),
            None => format!("Unknown tool: {name}"),
        }
    }
}

/// Says what is wrong with a schema, of whatever draft.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    validator(schema).map(|_| ())
}

fn origin(tool: &dyn Tool) -> String {
    let spec = tool.spec();
    match &spec.traits.file {
        Some(file) => format!("{} ({})", spec.source, file.display()),
        None => spec.source.clone(),
    }
}

/// The check of a schema: of the draft that it names, else of the first that it fits.
fn validator(schema: &Value) -> Result<Validator, String> {
    let found = jsonschema::validator_for(schema).map_err(|error| error.to_string());
    found.or_else(|error| {
        let older = || jsonschema::draft4::new(schema);
        jsonschema::draft7::new(schema).or_else(|_| older()).map_err(|_| error)
    })
}

fn missing<'a>(schema: &'a Value, args: &Value) -> Vec<&'a str> {
    let required = schema.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    names.filter(|name| args.get(name).is_none()).collect()
}

fn describe(validator: &Validator, args: &Value) -> Result<(), String> {
    let problems: Vec<String> = validator
        .iter_errors(args)
        .take(5)
        .map(|error| {
            let place = error.instance_path().to_string();
            let place = place.trim_start_matches('/');
            if place.is_empty() { error.to_string() } else { format!("{place}: {error}") }
        })
        .collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(format!("Invalid input: {}", problems.join("; ")))
    }
}
