//! Prompts of servers as commands of the user: `/mcp__SERVER__PROMPT words`.

use std::collections::BTreeSet;
use std::sync::Arc;

use rmcp::model::{GetPromptRequestParams, GetPromptResult};
use serde_json::{Map, Value};

use crate::catalog::{ArgumentEntry, PromptEntry};
use crate::failure::Failure;
use crate::server_state::{Consent, ServerState};
use crate::{sanitize, tool_name, tool_result};

/// A prompt of a server as a command.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptCommand {
    /// Its name, without the slash.
    pub name: String,
    pub description: String,
    /// Its arguments, as a user types them: `<needed> [possible]`.
    pub usage: String,
    pub server: String,
}

/// The commands of servers, each with its prompt.
pub(crate) fn commands(
    states: &[Arc<ServerState>],
) -> Vec<(PromptCommand, Arc<ServerState>, PromptEntry)> {
    let mut taken = BTreeSet::new();
    let mut commands = Vec::new();
    for state in states {
        for entry in state.catalog().map(|catalog| catalog.prompts.clone()).unwrap_or_default() {
            let usage = entry.arguments.iter().map(|argument| {
                let (open, close) = if argument.required { ('<', '>') } else { ('[', ']') };
                format!("{open}{}{close}", sanitize::clean(&argument.name))
            });
            let command = PromptCommand {
                name: tool_name::joined(&state.prefix, &entry.name, &mut taken),
                description: sanitize::clean(&entry.description),
                usage: usage.collect::<Vec<_>>().join(" "),
                server: state.server.name.clone(),
            };
            commands.push((command, Arc::clone(state), entry));
        }
    }
    commands
}

pub(crate) async fn expand(
    state: &ServerState,
    entry: &PromptEntry,
    typed: &str,
) -> Result<String, Failure> {
    let values = values(&entry.arguments, typed).map_err(Failure::new)?;
    Ok(tool_result::prompt(&fetch(state, entry, values).await?))
}

/// Fetches a prompt with these arguments. A changed program is not started by this: nobody has seen
/// the change.
pub(crate) async fn fetch(
    state: &ServerState,
    entry: &PromptEntry,
    values: Map<String, Value>,
) -> Result<GetPromptResult, Failure> {
    let connection = state.connect(Consent::None).await?;
    let mut params = GetPromptRequestParams::new(entry.name.clone());
    if !values.is_empty() {
        params = params.with_arguments(values);
    }
    let asked = tokio::time::timeout(state.server.call_timeout, connection.prompt(params)).await;
    let prompt = asked.map_err(|_| Failure::of(&state.server, "does not answer"))??;
    state.note_success().await;
    Ok(prompt)
}

/// The words of a typed line, quoted as in a shell.
fn words(typed: &str) -> Result<Vec<String>, String> {
    // To a shell a `#` begins a comment; here it is part of a word such as `#12`.
    const HASH: &str = "\u{e000}";
    let words = shlex::split(&typed.replace('#', HASH));
    let words = words.ok_or("a quote is not closed")?;
    Ok(words.into_iter().map(|word| word.replace(HASH, "#")).collect())
}

/// The arguments of a prompt from a typed line: `name=value` by name, other words in
/// order, the last argument taking all that is left.
fn values(arguments: &[ArgumentEntry], typed: &str) -> Result<Map<String, Value>, String> {
    let mut values = Map::new();
    let mut rest = Vec::new();
    for word in words(typed)? {
        match word.split_once('=') {
            Some((name, value)) if arguments.iter().any(|argument| argument.name == name) => {
                values.insert(name.to_owned(), Value::String(value.to_owned()));
            }
            _ => rest.push(word),
        }
    }
    let open: Vec<&ArgumentEntry> =
        arguments.iter().filter(|argument| !values.contains_key(&argument.name)).collect();
    let mut rest = rest.into_iter();
    for (index, argument) in open.iter().enumerate() {
        let value = if index + 1 == open.len() {
            let all: Vec<String> = rest.by_ref().collect();
            (!all.is_empty()).then(|| all.join(" "))
        } else {
            rest.next()
        };
        match value {
            Some(value) => {
                values.insert(argument.name.clone(), Value::String(value));
            }
            None if argument.required => {
                return Err(format!("the prompt needs `{}`", argument.name));
            }
            None => {}
        }
    }
    match rest.next() {
        Some(word) => Err(format!("the prompt takes no argument `{word}`")),
        None => Ok(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn typed_arguments_are_taken_by_name_and_order() {
        let argument = |name: &str, required| ArgumentEntry {
            name: name.into(),
            description: String::new(),
            required,
        };
        let two = [argument("city", true), argument("style", false)];
        let of = |typed| values(&two, typed).map(Value::Object);
        assert_eq!(of("Oslo short and dry"), Ok(json!({"city": "Oslo", "style": "short and dry"})));
        assert_eq!(of("style=dry 'New York'"), Ok(json!({"style": "dry", "city": "New York"})));
        assert_eq!(of("Oslo '#1 b' #2"), Ok(json!({"city": "Oslo", "style": "#1 b #2"})));
        assert!(of("it's").is_err());
        assert_eq!(of(""), Err("the prompt needs `city`".to_owned()));
        assert_eq!(values(&[], "x"), Err("the prompt takes no argument `x`".to_owned()));
    }
}
