//! Where settings come from: the layers, and the origin of every value in the tree of settings.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use contract::text::visible;
use formats::yaml::tree::{self, Tree};
use formats::yaml::{self, Malformed, Options};

/// A source of settings, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
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
    /// The short word that marks a value's origin, and the name in a list of layers.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Builtin => ("builtin", "Built-in"),
            Self::Site => ("site", "Site"),
            Self::Deployment => ("deployment", "Deployment"),
            Self::User => ("user", "User"),
            Self::Project => ("project", "Project"),
            Self::EnvFile => ("dotenv", "Env file"),
            Self::Environment => ("env", "Environment"),
            Self::Flag => ("flag", "Flags"),
        }
    }

    /// The short word that marks a value's origin.
    pub fn label(self) -> &'static str {
        self.names().0
    }

    /// The name in a list of layers.
    pub(crate) fn title(self) -> &'static str {
        self.names().1
    }

    /// Returns true for the layers of an administrator.
    pub(crate) fn is_managed(self) -> bool {
        matches!(self, Self::Site | Self::Deployment)
    }
}

/// The place where a value was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The layer.
    pub layer: Layer,
    /// The file, for layers that are files.
    pub file: Option<Arc<Path>>,
    /// The line in the file, from 1.
    pub line: Option<usize>,
    /// The environment variable, for values from an environment or env file.
    pub variable: Option<Arc<str>>,
    /// How the value joins the layers below it.
    pub(crate) joining: Joining,
}

/// How a value joins the layers below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joining {
    /// Mappings merge, everything else replaces.
    Merge,
    /// `!replace`: takes the place of the value below.
    Replace,
    /// `!delete`: removes the value below.
    Delete,
}

/// A value with its origin.
pub(crate) type Node = tree::Node<Origin>;

/// The content of a value with its origin.
pub(crate) type Content = tree::Content<Origin>;

impl Origin {
    /// The start of a file.
    pub(crate) fn file(layer: Layer, path: &Path) -> Self {
        Self { file: Some(path.into()), ..Self::layer(layer) }
    }

    /// A layer without a file.
    pub(crate) fn layer(layer: Layer) -> Self {
        Self { layer, file: None, line: None, variable: None, joining: Joining::Merge }
    }

    /// A line of the same file.
    pub(crate) fn at(&self, line: usize) -> Self {
        Self { line: Some(line), ..self.clone() }
    }

    /// A variable set in the same place.
    pub(crate) fn by(&self, variable: &str) -> Self {
        Self { variable: Some(variable.into()), ..self.clone() }
    }

    /// The start of an error message about this place.
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

/// A mapping with this one entry.
pub(crate) fn wrapped(node: Node, name: impl Into<String>) -> Node {
    let origin = node.place.clone();
    Node { content: Content::Map(vec![(name.into(), node)]), place: origin }
}

/// A path as a terminal may show it.
pub fn shown(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}

/// Reads the YAML of a layer.
pub(crate) fn parse(text: &str, origin: &Origin) -> Result<Node, Malformed> {
    let options = Options { tags: Some(&["!delete", "!replace"]), ..Options::default() };
    Ok(with_origins(yaml::parse(text, options)?, origin))
}

fn with_origins(Tree { content, place }: Tree, origin: &Origin) -> Node {
    let content = match content {
        tree::Content::Scalar(value) => Content::Scalar(value),
        tree::Content::List(items) => {
            Content::List(items.into_iter().map(|item| with_origins(item, origin)).collect())
        }
        tree::Content::Map(entries) => {
            let entry = |(name, node)| (name, with_origins(node, origin));
            Content::Map(entries.into_iter().map(entry).collect())
        }
    };
    let joining = match place.tag.as_deref() {
        Some("!delete") => Joining::Delete,
        Some("!replace") => Joining::Replace,
        _ => Joining::Merge,
    };
    Node { content, place: Origin { joining, ..origin.at(place.line) } }
}
