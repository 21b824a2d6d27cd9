//! Settings from `BRYNHILD_*` environment variables, in the process environment and in env files. All
//! names that begin with `BRYNHILD_` are known here; nothing else is a setting.

use contract::text::{closest, visible};
use formats::yaml::{Options, resolve};
use serde_json::Value;

use crate::merge::{merge, remove};
use crate::origin::{Node, Origin, wrapped};
use crate::report::Report;
use crate::schema::{NamedEntries, OtherKeys, ROOT, Section, ValueKind, key_elsewhere};

const PREFIX: &str = "BRYNHILD_";

/// Names without their prefix that the program reads or sets, but that are not settings.
const NOT_SETTINGS: &[&str] = &[
    "CONFIG_DIR",
    "CONFIG_SHOW_COLOR",
    "CONFIG_SHOW_WIDTH",
    "CWD",
    "DEBUG",
    "DEPLOYMENT_CONFIG",
    "DISABLE_ENTRY_POINT_PLUGINS",
    "ENABLED_PLUGINS",
    "ENV_FILE",
    "ERROR",
    "ERROR_TYPE",
    "EVENT",
    "LOG_LEVEL",
    "MCP_SERVED",
    "MESSAGE",
    "OLLAMA_HOST",
    "PLUGIN_NAME",
    "PLUGIN_PATH",
    "PROJECT_ROOT",
    "RESPONSE",
    "SESSION_ID",
    "SITE_CONFIG",
    "SKILL_PATH",
    "SKIP_MIGRATION_CHECK",
    "TOOL_INPUT",
    "TOOL_NAME",
    "TOOL_OUTPUT",
    "TOOL_SUCCESS",
    "VENV",
];

/// Names without their prefix that other programs may still set, with their replacements.
const RENAMED: &[(&str, &str)] = &[
    ("MODEL", "BRYNHILD_MODELS__DEFAULT"),
    ("PROVIDER", "BRYNHILD_PROVIDERS__DEFAULT"),
    ("VERBOSE", "BRYNHILD_BEHAVIOR__VERBOSE"),
    ("MAX_TOKENS", "BRYNHILD_BEHAVIOR__MAX_TOKENS"),
    ("OUTPUT_FORMAT", "BRYNHILD_BEHAVIOR__OUTPUT_FORMAT"),
    ("SANDBOX_ENABLED", "BRYNHILD_SANDBOX__ENABLED"),
    ("SANDBOX_ALLOW_NETWORK", "BRYNHILD_SANDBOX__ALLOW_NETWORK"),
    ("LOG_CONVERSATIONS", "BRYNHILD_LOGGING__ENABLED"),
    ("LOG_DIR", "BRYNHILD_LOGGING__DIR"),
    ("LOG_DIR_PRIVATE", "BRYNHILD_LOGGING__PRIVATE"),
    ("RAW_LOG", "BRYNHILD_LOGGING__RAW_PAYLOADS"),
    ("DISABLED_TOOLS", "BRYNHILD_TOOLS__DISABLED='{\"NAME\": true}'"),
    ("DISABLE_BUILTIN_TOOLS", "BRYNHILD_TOOLS__DISABLED='{\"__builtin__\": true}'"),
];

/// Values of switches that no variable may set, their effect, and the flag for it. The user's own
/// file may set them too.
const FORBIDDEN_VALUES: &[(&[&str], bool, &str, &str)] = &[
    (
        &["dangerously_skip_permissions"],
        true,
        "take the questions away",
        "--dangerously-skip-permissions",
    ),
    (&["dangerously_skip_sandbox"], true, "leave the sandbox", "--dangerously-skip-sandbox"),
    (&["sandbox", "enabled"], false, "leave the sandbox", "--dangerously-skip-sandbox"),
];

/// An environment variable with its origin.
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: String,
    /// Its value.
    pub(crate) value: String,
    /// Its origin.
    pub(crate) origin: Origin,
}

/// The author of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// The user, for whom a replaced name of a variable is an error.
    User,
    /// The user, who wants replaced names ignored.
    LenientUser,
    /// The project. Variables that are no settings are ignored with a warning.
    Project,
}

/// The settings in `variables` as one layer. Names are spelled as in `in_force`.
pub(crate) fn layer(
    variables: Vec<Variable>,
    in_force: &Node,
    author: Author,
    report: &mut Report,
) -> Option<Node> {
    let mut layer: Option<Node> = None;
    for variable in variables {
        let Some(setting) = setting(&variable, in_force, author, report) else {
            continue;
        };
        let Some(node) = value(&variable, &setting, report) else {
            continue;
        };
        let tree = setting.path.into_iter().rev().fold(node, wrapped);
        match &mut layer {
            Some(layer) => merge(layer, tree),
            None => layer = Some(tree),
        }
    }
    layer
}

/// The setting that a variable names.
struct Setting {
    path: Vec<String>,
    kind: &'static ValueKind,
}

/// Finds the setting that a variable names; none, with a finding, if it names none.
fn setting(
    variable: &Variable,
    in_force: &Node,
    author: Author,
    report: &mut Report,
) -> Option<Setting> {
    if variable.value.is_empty() {
        return None;
    }
    if variable.name == "OPENROUTER_API_KEY" {
        let key = ROOT.key("openrouter_api_key")?;
        return Some(Setting { path: vec![key.name.into()], kind: &key.kind });
    }
    let upper = variable.name.to_uppercase();
    let name = upper.strip_prefix(PREFIX)?;
    if NOT_SETTINGS.contains(&name) {
        if author == Author::Project {
            let text = format!("{} is ignored: a project may not set it", variable.name);
            report.warn(&variable.origin, text, None);
        }
        return None;
    }
    if let Some((_, modern)) = RENAMED.iter().find(|(old, _)| *old == name) {
        renamed(variable, modern, author, report);
        return None;
    }
    let found = descend(name, &ROOT, Some(in_force), Vec::new());
    if found.is_none() {
        unknown(variable, name, report);
    }
    found
}

/// Takes the values out of a checked layer that no variable may set, with a warning.
pub(crate) fn restrict(mut layer: Node, report: &mut Report) -> Node {
    for (path, is_on, what, flag) in FORBIDDEN_VALUES {
        let Some(node) = layer.find(path).filter(|node| node.to_value() == Value::Bool(*is_on))
        else {
            continue;
        };
        let text = format!("it is ignored: a variable may not {what}");
        report.warn(&node.place.clone(), text, Some(format!("pass `{flag}`")));
        remove(&mut layer, path);
    }
    layer
}

fn renamed(variable: &Variable, modern: &str, author: Author, report: &mut Report) {
    let name = &variable.name;
    match author {
        Author::User => report.problems.push(format!(
            "{}{name} is not a setting: set {modern} instead, or \
             BRYNHILD_SKIP_MIGRATION_CHECK=1 to have it ignored",
            variable.origin.blame()
        )),
        Author::Project => {
            let hint = Some(format!("set {modern} instead"));
            report.warn(&variable.origin, format!("{name} is not a setting"), hint);
        }
        Author::LenientUser => {}
    }
}

fn unknown(variable: &Variable, name: &str, report: &mut Report) {
    let (head, tail) = name.split_once("__").unwrap_or((name, ""));
    let in_section = ROOT.keys.iter().find_map(|key| match &key.kind {
        ValueKind::Section(section) if fold(key.name) == fold(head) => Some((key.name, section)),
        _ => None,
    });
    let likely = if let Some((section_name, section)) = in_section {
        closest(tail, section.names()).map(|name| format!("{section_name}__{name}").to_uppercase())
    } else {
        let known = ROOT.names().chain(NOT_SETTINGS.iter().copied());
        closest(head, known)
            .map(str::to_uppercase)
            .map(|name| if tail.is_empty() { name } else { format!("{name}__{tail}") })
            .or_else(|| {
                let path = key_elsewhere(&name.to_lowercase())?;
                Some(path.replace('.', "__").to_uppercase())
            })
    };
    let text = format!("{} is not a setting", visible(&variable.name));
    let hint = likely.map(|name| format!("did you mean `{PREFIX}{name}`?"));
    report.warn(&variable.origin, text, hint);
}

/// Follows the rest of a name into a section.
fn descend(
    rest: &str,
    section: &'static Section,
    in_force: Option<&Node>,
    mut path: Vec<String>,
) -> Option<Setting> {
    let known = section.names().filter_map(|name| Some((name, after(rest, name)?)));
    if let Some((name, rest)) = known.max_by_key(|(name, _)| name.len()) {
        let key = section.key(name)?;
        path.push(name.to_owned());
        return inside(rest, &key.kind, in_force.and_then(|node| node.get(name)), path);
    }
    match &section.others {
        OtherKeys::Unknown => None,
        OtherKeys::Named(named) => choose(rest, named, in_force, path),
        OtherKeys::Extra(_) => {
            path.push(rest.to_lowercase());
            Some(Setting { path, kind: &ValueKind::Anything })
        }
    }
}

/// Follows the rest of a name behind a name of the user's choice.
fn choose(
    rest: &str,
    named: &'static NamedEntries,
    in_force: Option<&Node>,
    mut path: Vec<String>,
) -> Option<Setting> {
    let present = in_force.map(Node::entries).unwrap_or_default();
    let candidates = present
        .iter()
        .map(|(name, _)| name.as_str())
        .chain(named.spelling.iter().copied())
        .filter_map(|name| Some((name, after(rest, name)?)));
    let (name, rest) = match candidates.max_by_key(|(name, _)| name.len()) {
        Some((name, rest)) => (name.to_owned(), rest),
        None => match rest.split_once("__") {
            Some((name, rest)) => (name.to_lowercase(), Some(rest)),
            None => (rest.to_lowercase(), None),
        },
    };
    if name.is_empty() {
        return None;
    }
    let below = in_force.and_then(|node| node.get(&name));
    path.push(name);
    inside(rest, named.kind, below, path)
}

/// Follows what is left of a name into a value of this kind.
fn inside(
    rest: Option<&str>,
    kind: &'static ValueKind,
    in_force: Option<&Node>,
    mut path: Vec<String>,
) -> Option<Setting> {
    let Some(rest) = rest else {
        return Some(Setting { path, kind });
    };
    match kind {
        ValueKind::Section(section) | ValueKind::ShortOr(_, section) => {
            descend(rest, section, in_force, path)
        }
        ValueKind::Each(named) => choose(rest, named, in_force, path),
        ValueKind::Anything | ValueKind::Prices => {
            path.extend(rest.split("__").map(str::to_lowercase));
            Some(Setting { path, kind })
        }
        _ => None,
    }
}

/// The text after `name` in `rest`: none if another name is there, `Some(None)` if nothing
/// follows.
#[expect(clippy::option_option, reason = "no match and nothing left are different answers")]
fn after<'a>(rest: &'a str, name: &str) -> Option<Option<&'a str>> {
    let start = rest.get(..name.len())?;
    if fold(start) != fold(name) {
        return None;
    }
    match &rest[name.len()..] {
        "" => Some(None),
        left => left.strip_prefix("__").map(Some),
    }
}

/// A name as far as a variable can spell it.
fn fold(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// A variable's value as its kind reads it.
fn value(variable: &Variable, setting: &Setting, report: &mut Report) -> Option<Node> {
    let origin = variable.origin.by(&variable.name);
    let text = variable.value.as_str();
    let may_be_json = matches!(
        setting.kind,
        ValueKind::Anything
            | ValueKind::Prices
            | ValueKind::Section(_)
            | ValueKind::Each(_)
            | ValueKind::ShortOr(..)
            | ValueKind::List
            | ValueKind::Texts
    );
    let value = match setting.kind {
        _ if may_be_json && text.trim_start().starts_with(['{', '[']) => serde_json::from_str(text)
            .map_err(|error| {
                let (blame, path) = (origin.blame(), setting.path.join("."));
                report.problems.push(format!("{blame}{path} is not valid JSON: {error}"));
            })
            .ok()?,
        ValueKind::Maybe(_) if matches!(text, "null" | "none" | "~") => Value::Null,
        ValueKind::Anything | ValueKind::Prices | ValueKind::ShortOr(..) => {
            resolve(text, Options::default())
        }
        _ => Value::from(text),
    };
    Some(Node::from_value(value, &origin))
}
