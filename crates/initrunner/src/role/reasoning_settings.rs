//! The key `reasoning` of a role.

use serde_json::{Map, Value};

use super::{Fields, ToolEntry};

#[rustfmt::skip]
const KEYS: &[&str] = &[
    "pattern", "auto_plan", "auto_detect", "reflection_rounds", "reflection_dimensions",
    "success_criteria",
];

const MAX_DIMENSIONS: usize = 3;
const MAX_CRITERIA: usize = 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pattern {
    #[default]
    React,
    TodoDriven,
    PlanExecute,
}

/// The key `reasoning` of a role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReasoningSettings {
    pub(crate) pattern: Pattern,
    /// True if a run that follows a todo list begins with making it.
    pub(crate) has_auto_plan: bool,
    /// The reflections that follow the end of the task.
    pub(crate) reflections: Vec<Dimension>,
    /// Criteria that a judge checks before each reflection.
    pub(crate) criteria: Vec<String>,
}

/// One view of a result that a reflection takes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dimension {
    pub(crate) name: String,
    pub(crate) prompt: String,
}

impl ReasoningSettings {
    pub(super) fn read(
        value: Option<&Value>,
        (tools, is_autonomous): (&[ToolEntry], bool),
        fields: &mut Fields,
    ) -> Self {
        let Some(from) = fields.mapping(value, "reasoning") else { return Self::default() };
        fields.warn_unknown(from, "reasoning", KEYS);
        let written = fields.text(from, "pattern", "reasoning.");
        let name = written.as_deref().unwrap_or("react");
        let dimensions = dimensions(from, fields);
        let rounds = fields.count(from, "reasoning.reflection_rounds", (0, 3)).unwrap_or(0);
        let rounds = match usize::try_from(rounds) {
            Ok(rounds @ 1..) => rounds,
            _ => dimensions.len(),
        };
        let is_detected = fields.flag(from, "reasoning.auto_detect", true) && name == "react";
        let has_todo = tools.iter().any(|tool| tool.kind == "todo");
        let pattern = match name {
            "react" if is_detected && has_todo && is_autonomous => Pattern::TodoDriven,
            "todo_driven" => Pattern::TodoDriven,
            "plan_execute" => Pattern::PlanExecute,
            "react" | "reflexion" => Pattern::React,
            _ => {
                let known = "it is none of `react`, `todo_driven`, `plan_execute` and `reflexion`";
                fields.error("reasoning.pattern", known);
                Pattern::React
            }
        };
        if pattern != Pattern::React && !has_todo {
            let what = format!("reasoning.pattern '{name}' requires a 'todo' tool in spec.tools");
            fields.error("reasoning.pattern", what);
        }
        if name == "reflexion" && rounds == 0 {
            let what = "reasoning.pattern 'reflexion' requires reflection_rounds > 0 or non-empty \
                        reflection_dimensions";
            fields.error("reasoning.pattern", what);
        }
        let is_reflective = name == "reflexion" || is_detected;
        if !is_reflective && rounds > 0 {
            let what = format!("it does nothing here: the pattern is `{name}`, not `reflexion`");
            fields.warning("reasoning.reflection_rounds", what);
        }
        Self {
            pattern,
            has_auto_plan: fields.flag(from, "reasoning.auto_plan", false),
            criteria: criteria(from, (&dimensions, rounds), fields),
            reflections: reflections(&dimensions, if is_reflective { rounds } else { 0 }),
        }
    }
}

fn dimensions(from: &Map<String, Value>, fields: &mut Fields) -> Vec<Dimension> {
    const PATH: &str = "reasoning.reflection_dimensions";
    let items = match from.get("reflection_dimensions") {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => {
            fields.error(PATH, "it is not a list");
            return Vec::new();
        }
    };
    if items.len() > MAX_DIMENSIONS {
        fields.error(PATH, format!("Maximum {MAX_DIMENSIONS} reflection dimensions allowed"));
    }
    let read = |item: &Value| {
        let text = |key| Some(item.get(key)?.as_str()?.to_owned());
        Some(Dimension { name: text("name")?, prompt: text("prompt")? })
    };
    let read: Option<Vec<Dimension>> = items.iter().map(read).collect();
    read.unwrap_or_else(|| {
        fields.error(PATH, "it has entries without the texts `name` and `prompt`");
        Vec::new()
    })
}

/// One dimension for each round.
fn reflections(dimensions: &[Dimension], rounds: usize) -> Vec<Dimension> {
    let usual = [
        ("correctness", "Is everything in your result true, and does it work? Fix each mistake."),
        ("completeness", "Does your result cover every part of the task? Add what is missing."),
        ("clarity", "Is your result easy to understand? Improve what is not."),
    ];
    let usual =
        usual.map(|(name, prompt)| Dimension { name: name.to_owned(), prompt: prompt.to_owned() });
    let dimensions = if dimensions.is_empty() { &usual } else { dimensions };
    dimensions.iter().cycle().take(rounds).cloned().collect()
}

fn criteria(
    from: &Map<String, Value>,
    (dimensions, rounds): (&[Dimension], usize),
    fields: &mut Fields,
) -> Vec<String> {
    const PATH: &str = "reasoning.success_criteria";
    let criteria = fields.texts(from, PATH);
    if criteria.len() > MAX_CRITERIA {
        fields.error(PATH, format!("Maximum {MAX_CRITERIA} success criteria allowed"));
    }
    if criteria.is_empty() {
        return dimensions.iter().map(|dimension| dimension.name.clone()).collect();
    }
    if rounds == 0 {
        fields.warning(PATH, "it does nothing here: there is no reflection round");
    }
    criteria
}
