//! The scenario tests of a plugin: `tests/*.yaml`. A file is what the scripted model plays, with a
//! prompt and the checks of the result.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use contract::event::{Event, EventKind};
use contract::text::closest;
use formats::yaml;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// The directory of tests in a plugin.
pub const TESTS: &str = "tests";

/// A scenario test.
#[derive(Debug)]
pub struct Case {
    /// The file without its ending.
    pub name: String,
    pub path: PathBuf,
    pub prompt: String,
    /// Files of the project: path and text.
    pub files: BTreeMap<String, String>,
    pub config: Value,
    pub player: Player,
    /// The role file that plays, relative to the plugin.
    pub role: Option<PathBuf>,
    pub agent: Option<String>,
    turns: Value,
    expect: Expectations,
}

/// The model of a test.
#[derive(Debug, PartialEq, Eq)]
pub enum Player {
    /// The file's `turns`.
    Script,
    /// A provider, which the plugin adds.
    Provider(String),
}

/// The result of playing a case.
#[derive(Debug, Default)]
pub struct Played {
    pub answer: String,
    pub exit: u8,
    pub errors: Vec<String>,
    pub events: Vec<Event>,
}

/// The error of a test file.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct CaseError {
    pub file: String,
    pub problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    #[serde(rename = "name")]
    _name: Option<IgnoredAny>,
    #[serde(rename = "description")]
    _description: Option<IgnoredAny>,
    turns: Option<Value>,
    #[serde(rename = "when_exhausted")]
    _when_exhausted: Option<IgnoredAny>,
    prompt: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    config: Value,
    provider: Option<String>,
    role: Option<PathBuf>,
    agent: Option<String>,
    #[serde(default)]
    expect: ExpectationsForm,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ExpectationsForm {
    answer: Value,
    tools: Option<Vec<String>>,
    exit: u8,
}

#[derive(Debug, Default)]
struct Expectations {
    answer: AnswerExpectation,
    /// The names of the called tools, in order.
    tools: Option<Vec<String>>,
    exit: u8,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AnswerExpectation {
    equals: Option<String>,
    contains: Vec<String>,
    not_contains: Vec<String>,
}

/// The scenario tests of the plugin in `root`, by name.
pub fn load(root: &Path) -> Result<Vec<Result<Case, CaseError>>, std::io::Error> {
    let directory = root.join(TESTS);
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&directory)? {
        let path = entry?.path();
        let is_scenario = path.extension().is_some_and(|it| it == "yaml" || it == "yml");
        if is_scenario && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths.into_iter().map(|path| read(root, path)).collect())
}

fn read(root: &Path, path: PathBuf) -> Result<Case, CaseError> {
    let file = path.strip_prefix(root).unwrap_or(&path).display().to_string();
    let fail = |problem: String| CaseError { file: file.clone(), problem };
    let text = std::fs::read_to_string(&path).map_err(|error| fail(error.to_string()))?;
    let form = parse(&text).map_err(fail)?;
    let player = match (form.provider, &form.turns) {
        (Some(provider), None) => Player::Provider(provider),
        (None, Some(_)) => Player::Script,
        (Some(_), Some(_)) => {
            return Err(fail("`provider` and `turns` exclude each other; keep one".to_owned()));
        }
        (None, None) => {
            let problem = "the key `turns` is missing; write the replies of the model, or name a \
                           `provider` of the plugin";
            return Err(fail(problem.to_owned()));
        }
    };
    let answer = answer_expectation(form.expect.answer).map_err(fail)?;
    let inside = |path: &&String| !is_inside(path);
    if let Some(outside) = form.files.keys().find(inside) {
        return Err(fail(format!("`files`: {outside:?} is not a path below the project")));
    }
    let expect = Expectations { answer, tools: form.expect.tools, exit: form.expect.exit };
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Case {
        name,
        path,
        prompt: form.prompt,
        files: form.files,
        config: form.config,
        player,
        role: form.role,
        agent: form.agent,
        turns: form.turns.unwrap_or_default(),
        expect,
    })
}

fn parse(text: &str) -> Result<CaseFile, String> {
    let tree = yaml::parse(text, yaml::Options::default()).map_err(|error| error.to_string())?;
    tree.to_type().map_err(|error| {
        let near = closest(&error.word, error.known.iter().copied());
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("{error}{near}")
    })
}

fn is_inside(path: &str) -> bool {
    use std::path::Component;
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    !path.is_empty() && Path::new(path).components().all(is_plain)
}

/// A text, a list of texts, or the conditions by name.
fn answer_expectation(value: Value) -> Result<AnswerExpectation, String> {
    let one_or_many = |value: &Value| match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(items) => {
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        }
        _ => None,
    };
    let malformed = || {
        String::from(
            "`expect.answer` must be a text, a list of texts, or `equals`, `contains` and \
             `not_contains`",
        )
    };
    match value {
        Value::Null => Ok(AnswerExpectation::default()),
        Value::Object(forms) => {
            let mut expected = AnswerExpectation::default();
            for (key, value) in &forms {
                let texts = one_or_many(value).ok_or_else(malformed)?;
                match key.as_str() {
                    "equals" => expected.equals = texts.into_iter().next(),
                    "contains" => expected.contains = texts,
                    "not_contains" => expected.not_contains = texts,
                    _ => return Err(malformed()),
                }
            }
            Ok(expected)
        }
        value => {
            let contains = one_or_many(&value).ok_or_else(malformed)?;
            Ok(AnswerExpectation { contains, ..AnswerExpectation::default() })
        }
    }
}

impl Case {
    /// The expectations that did not hold, in words.
    pub fn failures(&self, played: &Played) -> Vec<String> {
        let mut failures = Vec::new();
        let expect = &self.expect;
        if played.exit != expect.exit {
            let mut text = format!("exit code {}, expected {}", played.exit, expect.exit);
            for error in &played.errors {
                text.push('\n');
                text.push_str(error);
            }
            failures.push(text);
        }
        failures.extend(expect.answer.failure(&played.answer));
        let called = called_tools(&played.events);
        if let Some(tools) = expect.tools.as_ref().filter(|tools| **tools != called) {
            let list = |names: &[String]| match names {
                [] => String::from("none"),
                names => names.join(", "),
            };
            failures.push(format!("called tools: {}, expected: {}", list(&called), list(tools)));
        }
        failures
    }

    /// The arguments of the first call of a tool.
    pub fn arguments(&self, tool: &str) -> Option<&Value> {
        let turns = self.turns.as_array()?.iter();
        let mut calls = turns.filter_map(|turn| turn["tool_calls"].as_array()).flatten();
        calls
            .find(|call| call["name"] == tool)
            .map(|call| &call["input"])
            .filter(|it| it.is_object())
    }

    /// The file with the expected events.
    pub fn golden(&self) -> PathBuf {
        self.path.with_file_name(format!("{}.events.jsonl", self.name))
    }
}

impl AnswerExpectation {
    fn failure(&self, answer: &str) -> Option<String> {
        let mut wrong = Vec::new();
        if self.equals.as_ref().is_some_and(|text| text.trim() != answer.trim()) {
            let expected = self.equals.as_deref().unwrap_or_default();
            wrong.push(format!("the answer is not {expected:?}"));
        }
        let missing = self.contains.iter().filter(|text| !answer.contains(*text));
        wrong.extend(missing.map(|text| format!("the answer does not contain {text:?}")));
        let present = self.not_contains.iter().filter(|text| answer.contains(*text));
        wrong.extend(present.map(|text| format!("the answer contains {text:?}")));
        (!wrong.is_empty()).then(|| format!("{}\nanswer: {answer}", wrong.join("\n")))
    }
}

/// The names of the tools that the model called, in order, without those of its agents.
fn called_tools(events: &[Event]) -> Vec<String> {
    let name = |event: &Event| match &event.kind {
        EventKind::ToolCalled { call } if event.within.is_none() => Some(call.name.clone()),
        _ => None,
    };
    events.iter().filter_map(name).collect()
}

#[cfg(test)]
mod tests;
