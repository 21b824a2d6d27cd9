//! `script`: texts that an interpreter runs, each a tool. Parameters are environment variables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use files::surroundings::Surroundings;
use formats::shell;
use serde_json::{Map, Value, json};

use super::options::Options;
use super::process::{Limits, Program};
use super::shell::{SplitError, split};
use super::{About, Built, Granted, ToolHost};

pub(super) const KEYS: &[&str] =
    &["scripts", "interpreter", "timeout_seconds", "max_output_bytes", "working_dir"];

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let scripts = options.mappings("scripts")?;
    if scripts.is_empty() {
        return Err(String::from("at least one script must be defined"));
    }
    let mut built = Built::default();
    let mut names = BTreeSet::new();
    for fields in scripts {
        let own = Options::new(fields);
        let script = RunScript::read(&own, options, tool_host)?;
        if !names.insert(script.spec.name.clone()) {
            return Err(String::from("script names must be unique"));
        }
        built.notes.extend(script.refusal().map(|why| format!("`{}`: {why}", script.spec.name)));
        built.tools.push(Arc::new(script));
    }
    Ok(built)
}

struct Parameter {
    name: String,
    description: String,
    is_required: bool,
    default: String,
}

impl Parameter {
    fn read(fields: &Map<String, Value>) -> Result<Self, String> {
        let options = Options::new(fields);
        Ok(Self {
            name: identifier(options.required("name")?)?,
            description: options.text("description")?.unwrap_or_default().to_owned(),
            is_required: options.flag("required", false)?,
            default: options.text("default")?.unwrap_or_default().to_owned(),
        })
    }
}

struct RunScript {
    spec: Arc<ToolSpec>,
    body: String,
    interpreter: String,
    parameters: Vec<Parameter>,
    allowed: Vec<String>,
    cwd: PathBuf,
    network: Granted,
    limits: Limits,
    surroundings: Surroundings,
}

impl RunScript {
    /// Reads a script; `entry` has the settings that all scripts share.
    fn read(own: &Options<'_>, entry: &Options<'_>, tool_host: &ToolHost) -> Result<Self, String> {
        let name = identifier(own.required("name")?)?;
        let body = own.text("body")?.unwrap_or_default();
        if body.trim().is_empty() {
            return Err(String::from("script body must not be empty"));
        }
        let parameters = own.mappings("parameters")?.into_iter().map(Parameter::read);
        let parameters = parameters.collect::<Result<Vec<_>, _>>()?;
        let schema = |it: &Parameter| {
            let mut schema = json!({"type": "string", "description": it.description});
            if !it.is_required {
                schema["default"] = it.default.as_str().into();
            }
            (it.name.clone(), schema)
        };
        let usual = format!("Run the '{name}' script");
        let required: Vec<&str> =
            parameters.iter().filter(|it| it.is_required).map(|it| it.name.as_str()).collect();
        let about = About {
            name: &name,
            description: own.text("description")?.filter(|it| !it.is_empty()).unwrap_or(&usual),
            kind: "script",
            risk: Risk::HighImpact,
            properties: Value::Object(parameters.iter().map(schema).collect()),
            required: &required,
        };
        let interpreter = own.text("interpreter")?.or(entry.text("interpreter")?);
        Ok(Self {
            spec: about.spec(tool_host).into(),
            body: body.to_owned(),
            interpreter: interpreter.unwrap_or("/bin/sh").to_owned(),
            allowed: own.texts("allowed_commands")?.unwrap_or_default(),
            cwd: tool_host.working_directory(entry.text("working_dir")?)?,
            network: tool_host.network.clone(),
            limits: Limits {
                processes: Arc::clone(&tool_host.processes),
                time: own.own_timeout()?.unwrap_or(entry.timeout(30)?),
                output: entry.count("max_output_bytes", 102_400)?,
            },
            surroundings: tool_host.surroundings.clone(),
            parameters,
        })
    }

    /// The reason why its entry forbids it to run.
    fn refusal(&self) -> Option<String> {
        let lines = self.body.lines().zip(1..).filter(|_| !self.allowed.is_empty());
        let commands = lines
            .map(|(line, number)| (line.trim(), number))
            .filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        commands.into_iter().find_map(|(line, number)| self.line_refusal(line, number).err())
    }

    fn line_refusal(&self, line: &str, number: usize) -> Result<(), String> {
        let not_allowed = |operator: &str| {
            format!(
                "Error: shell operator '{operator}' on line {number} is not allowed with \
                 allowed_commands"
            )
        };
        // Commands within a word run too, also in double quotes.
        if let Some(operator) = ["$(", "`"].into_iter().find(|it| line.contains(it)) {
            return Err(not_allowed(operator));
        }
        let words = split(line).map_err(|error| match error {
            SplitError::Operator(c) => not_allowed(&c.to_string()),
            SplitError::Syntax(what) => format!("Error: line {number}: {what}"),
        })?;
        let first = words.first().map(String::as_str).unwrap_or_default();
        let name = Path::new(first).file_name().map(|name| name.to_string_lossy());
        let name = name.unwrap_or_default();
        if self.allowed.iter().any(|allowed| *allowed == name) {
            return Ok(());
        }
        let allowed = self.allowed.join("', '");
        Err(format!(
            "Error: command '{name}' on line {number} is not in the allowed list: ['{allowed}']"
        ))
    }

    fn check(&self) -> Result<(), String> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let has_path = self.surroundings.env.contains_key("PATH");
        if has_path && self.surroundings.program(&self.interpreter).is_none() {
            return Err(format!("Error: interpreter '{}' not found", self.interpreter));
        }
        Ok(())
    }

    /// The parameters as environment variables.
    fn env(&self, args: &Value) -> BTreeMap<String, String> {
        let value = |it: &Parameter| {
            let given = args.get(&it.name).and_then(Value::as_str);
            (it.name.to_uppercase(), given.unwrap_or(&it.default).to_owned())
        };
        self.parameters.iter().map(value).collect()
    }
}

#[async_trait]
impl Tool for RunScript {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        self.check().map_err(ToolError::Input)?;
        let env = self.env(args);
        let env = env.iter().map(|(name, value)| format!("{name}={} ", shell::quote(value)));
        let command = shell::join([self.interpreter.as_str(), "-c", &self.body]);
        let command = env.collect::<String>() + &command;
        Ok(Plan::from(vec![Action::Run { command, cwd: self.cwd.clone() }]))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.check().map_err(ToolError::Input)?;
        let program = Program {
            path: self.interpreter.clone().into(),
            args: Vec::new(),
            cwd: self.cwd.clone(),
            input: self.body.as_bytes().to_vec(),
            env: self.env(&call.args),
            limits: self.limits.clone(),
        };
        let confinement = self.network.within(&context.confinement);
        let mut output = program.told(&program.run(&confinement, context).await?);
        self.network.explain(&confinement, &mut output);
        Ok(output)
    }
}

fn identifier(name: &str) -> Result<String, String> {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_';
    if name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(is_inside) {
        return Err(format!("'{name}' is not a valid Python identifier"));
    }
    Ok(name.to_owned())
}
