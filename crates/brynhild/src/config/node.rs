//! A configuration tree in which every value knows where it was written.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use contract::text::visible;
use serde_json::{Map, Value};

/// Where a setting can come from, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    /// Compiled into the program.
    Builtin,
    /// The file named by `BRYNHILD_SITE_CONFIG`.
    Site,
    /// The file named by `BRYNHILD_DEPLOYMENT_CONFIG`.
    Deployment,
    /// The user's own file.
    User,
    /// The file in the project.
    Project,
    /// An env file.
    EnvFile,
    /// The process environment.
    Environment,
    /// The command line.
    Flag,
}

impl Layer {
    /// The short word that marks a value's origin.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Site => "site",
            Self::Deployment => "deployment",
            Self::User => "user",
            Self::Project => "project",
            Self::EnvFile => "dotenv",
            Self::Environment => "env",
            Self::Flag => "flag",
        }
    }

    /// The name that people read in a list of layers.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Builtin => "Built-in",
            Self::Site => "Site",
            Self::Deployment => "Deployment",
            Self::User => "User",
            Self::Project => "Project",
            Self::EnvFile => "Env file",
            Self::Environment => "Environment",
            Self::Flag => "Flags",
        }
    }
}

/// The place where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The layer.
    pub(crate) layer: Layer,
    /// The file, for layers that are files.
    pub(crate) file: Option<Arc<Path>>,
    /// The line in the file, from 1.
    pub(crate) line: Option<usize>,
    /// The variable, for values from an environment or env file.
    pub(crate) variable: Option<Arc<str>>,
}

impl Origin {
    /// The start of a file.
    pub(crate) fn file(layer: Layer, path: &Path) -> Self {
        Self { layer, file: Some(path.into()), line: None, variable: None }
    }

    /// A layer without a file.
    pub(crate) fn layer(layer: Layer) -> Self {
        Self { layer, file: None, line: None, variable: None }
    }

    /// The same file at a line.
    pub(crate) fn at(&self, line: usize) -> Self {
        Self { line: Some(line), ..self.clone() }
    }

    /// The same place, set by a variable.
    pub(crate) fn by(&self, variable: &str) -> Self {
        Self { variable: Some(variable.into()), ..self.clone() }
    }

    /// How an error message about this place begins.
    pub(crate) fn blame(&self) -> String {
        let line = self.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        match (self.layer, &self.file, &self.variable) {
            (Layer::EnvFile, Some(file), _) => {
                format!("Error in env file {}: {line}", shown(file))
            }
            (_, Some(file), _) => format!("Error in config file {}: {line}", shown(file)),
            (_, None, Some(variable)) => {
                format!("Error in environment variable {}: ", visible(variable))
            }
            (Layer::Flag, None, None) => "Error in a command-line flag: ".into(),
            (layer, None, None) => {
                format!("Error in the configuration ({}): {line}", layer.label())
            }
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, &self.variable) {
            (Some(file), _) => f.write_str(&shown(file))?,
            (None, Some(variable)) => write!(f, "environment variable {}", visible(variable))?,
            (None, None) => f.write_str(&self.layer.title().to_lowercase())?,
        }
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

/// A path as a terminal may show it.
pub(crate) fn shown(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}

/// How a value joins the layers below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joining {
    /// Maps merge, everything else replaces.
    Merge,
    /// `!replace`: takes the place of what is below.
    Replace,
    /// `!delete`: removes what is below.
    Delete,
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// The value.
    pub(crate) content: Content,
    /// Where it was written.
    pub(crate) origin: Origin,
    /// How it joins the layers below.
    pub(crate) joining: Joining,
}

/// A value whose parts have origins of their own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// Null, a switch, a number or text; never an array or object.
    Scalar(Value),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of writing; no name occurs twice.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// A value that merges.
    pub(crate) fn new(content: Content, origin: Origin) -> Self {
        Self { content, origin, joining: Joining::Merge }
    }

    /// A tree from plain data, every part with the same origin.
    pub(crate) fn from_value(value: Value, origin: &Origin) -> Self {
        let content = match value {
            Value::Array(items) => {
                let nodes = items.into_iter().map(|item| Self::from_value(item, origin));
                Content::List(nodes.collect())
            }
            Value::Object(entries) => {
                let nodes = entries
                    .into_iter()
                    .map(|(name, value)| (name, Self::from_value(value, origin)));
                Content::Map(nodes.collect())
            }
            scalar => Content::Scalar(scalar),
        };
        Self::new(content, origin.clone())
    }

    /// The plain data, without origins.
    pub(crate) fn to_value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(nodes) => nodes.iter().map(Self::to_value).collect(),
            Content::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(name, node)| (name.clone(), node.to_value()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// The entry of a map.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.entries().iter().find(|(key, _)| key == name).map(|(_, node)| node)
    }

    /// The part that names and positions lead to.
    pub(crate) fn find(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, step| match &node.content {
            Content::List(items) => items.get(step.parse::<usize>().ok()?),
            Content::Map(_) | Content::Scalar(_) => node.get(step),
        })
    }

    /// Takes out the entry that names lead to.
    pub(crate) fn remove(&mut self, path: &[&str]) {
        let (Some((name, rest)), Content::Map(entries)) = (path.split_first(), &mut self.content)
        else {
            return;
        };
        if rest.is_empty() {
            entries.retain(|(key, _)| key != name);
        }
        for (_, node) in entries.iter_mut().filter(|(key, _)| key == name) {
            node.remove(rest);
        }
    }

    /// The entries of a map; none for anything else.
    pub(crate) fn entries(&self) -> &[(String, Self)] {
        match &self.content {
            Content::Map(entries) => entries,
            Content::Scalar(_) | Content::List(_) => &[],
        }
    }

    /// The items of a list; none for anything else.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.content {
            Content::List(items) => items,
            Content::Scalar(_) | Content::Map(_) => &[],
        }
    }

    /// The text, where it is text.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(value) => value.as_str(),
            Content::List(_) | Content::Map(_) => None,
        }
    }

    /// Whether it is null.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.content, Content::Scalar(Value::Null))
    }

    /// Lays `over` on top of this value.
    pub(crate) fn merge(&mut self, over: Self) {
        match (&mut self.content, over) {
            (
                Content::Map(entries),
                Self { content: Content::Map(above), joining: Joining::Merge, .. },
            ) => {
                for (name, node) in above {
                    merge_entry(entries, name, node);
                }
            }
            (_, over) => *self = over.settled(),
        }
    }

    /// The value as it stands when nothing is below: `!delete` removes, `!replace` is itself.
    fn settled(mut self) -> Self {
        self.joining = Joining::Merge;
        if let Content::Map(entries) = &mut self.content {
            let above = std::mem::take(entries);
            for (name, node) in above {
                merge_entry(entries, name, node);
            }
        }
        self
    }
}

fn merge_entry(entries: &mut Vec<(String, Node)>, name: String, node: Node) {
    let position = entries.iter().position(|(key, _)| *key == name);
    match (position, node.joining) {
        (Some(position), Joining::Delete) => drop(entries.remove(position)),
        (None, Joining::Delete) => {}
        (Some(position), _) => entries[position].1.merge(node),
        (None, _) => entries.push((name, node.settled())),
    }
}
