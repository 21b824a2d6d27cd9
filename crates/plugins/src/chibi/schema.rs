//! The output of `--schema`: one tool or a list of them, each with its hooks.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::point::POINTS;
use crate::hidden;
use crate::problem::Problem;

const LONGEST_NAME: usize = 64;

const HINT: &str = "correct what the plugin prints for `--schema`";

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Schema {
    pub(crate) tools: Vec<ToolEntry>,
    pub(crate) problems: Vec<Problem>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolEntry {
    pub(crate) name: String,
    pub(crate) own_name: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
    pub(crate) hooks: Vec<&'static str>,
    pub(crate) parallel: bool,
    pub(crate) flow: Flow,
    pub(crate) summary_params: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Flow {
    Runs,
    RunsLast,
    /// It does not run, and the turn goes on.
    Continues,
    /// It does not run, and the turn ends.
    Ends,
}

impl Schema {
    pub(crate) fn failed(file: &Path, what: &str, hint: &str) -> Self {
        Self { tools: Vec::new(), problems: vec![Problem::new(file, what, hint)] }
    }

    /// Reads what a plugin printed. A bad one of several tools costs that tool alone.
    pub(crate) fn read(file: &Path, printed: &Value) -> Self {
        let mut schema = Self::default();
        let entries = match printed {
            Value::Array(entries) => entries.as_slice(),
            one => std::slice::from_ref(one),
        };
        if entries.is_empty() {
            schema.problems.push(Problem::new(file, "`--schema` lists no tool", HINT));
        }
        for (index, entry) in entries.iter().enumerate() {
            let read = match (printed, entry) {
                (_, Value::Object(_)) => tool(file, entry, &mut schema.problems),
                (Value::Array(_), _) => {
                    Err(format!("entry {} of what `--schema` lists is not an object", index + 1))
                }
                _ => Err("`--schema` prints neither an object nor a list of objects".to_owned()),
            };
            match read {
                Ok(tool) if schema.tools.iter().any(|other| other.name == tool.name) => {
                    let what = format!("the plugin has another tool called `{}`", tool.name);
                    schema.problems.push(Problem::new(file, what, HINT));
                }
                Ok(tool) => schema.tools.push(tool),
                Err(what) => schema.problems.push(Problem::new(file, what, HINT)),
            }
        }
        schema
    }
}

fn tool(file: &Path, entry: &Value, problems: &mut Vec<Problem>) -> Result<ToolEntry, String> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let own_name = text("name").filter(|name| !name.is_empty());
    let own_name = own_name.ok_or("`--schema` has a tool without a `name`")?.to_owned();
    let said = text("description");
    let said = said.ok_or_else(|| format!("the tool `{own_name}` has no `description`"))?;
    let stripped = hidden::strip(said);
    if let Some(report) = stripped.report {
        let what = format!("in the description of `{own_name}`: {report}");
        problems.push(Problem::new(file, what, hidden::HINT));
    }
    let parameters = object_schema(entry.get("parameters"))
        .ok_or_else(|| format!("`parameters` of `{own_name}` is not a JSON Schema of an object"))?;
    let switch = |key: &str, usual: bool| entry.get(key).and_then(Value::as_bool).unwrap_or(usual);
    let flow = match (switch("flow_control", false), switch("ends_turn", false)) {
        (false, false) => Flow::Runs,
        (false, true) => Flow::RunsLast,
        (true, false) => Flow::Continues,
        (true, true) => Flow::Ends,
    };
    let mut hooks = Vec::new();
    for name in texts(entry, "hooks") {
        match POINTS.iter().find(|point| point.name == name) {
            Some(point) if hooks.contains(&point.name) => {}
            Some(point) => hooks.push(point.name),
            None => {
                let what = format!("Unknown hook '{name}' in tool '{own_name}'");
                let hint = "`docs/extend/chibi.md` lists the hooks; the rest of the plugin is used";
                problems.push(Problem::new(file, what, hint));
            }
        }
    }
    Ok(ToolEntry {
        name: callable(&own_name),
        description: stripped.text,
        parameters,
        hooks,
        parallel: switch("parallel", true),
        flow,
        summary_params: texts(entry, "summary_params"),
        own_name,
    })
}

fn texts(entry: &Value, key: &str) -> Vec<String> {
    let items = entry.get(key).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn object_schema(schema: Option<&Value>) -> Option<Value> {
    let mut fields = match schema {
        None | Some(Value::Null) => Map::from_iter([("properties".to_owned(), Map::new().into())]),
        Some(Value::Object(fields)) => fields.clone(),
        Some(_) => return None,
    };
    let kind = fields.entry("type").or_insert("object".into());
    (kind == "object").then_some(Value::Object(fields))
}

fn callable(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars().map(|c| if fits(c) { c } else { '_' }).take(LONGEST_NAME).collect()
}
