//! Slash commands in a run that answers one prompt: those that change a conversation are refused.

use contract::message::Usage;
use contract::skill::Skill;
use python_host::Missing;
use serde_json::json;

use super::{Expansion, Facts, expand, parse};
use crate::args::OutputFormat;
use crate::assemble::assembly::Assembly;
use crate::assemble::setup::{self, ToolListing};
use crate::assemble::{mcp, workers};
use crate::exit::Problem;
use crate::output;

pub(crate) enum Once {
    AsIs,
    Prompt {
        text: String,
        skill: Option<Skill>,
    },
    /// It was a command, which has run.
    Done,
}

pub(crate) async fn once(assembly: &Assembly, words: &str) -> Result<Once, Problem> {
    let Some(slash) = parse(words) else { return Ok(Once::AsIs) };
    if workers::has_packages(assembly) {
        assembly.workers(Missing::Install).await?;
    }
    if let Some(text) = mcp::prompt(assembly, slash.name, slash.rest).await? {
        return Ok(Once::Prompt { text, skill: None });
    }
    let (mut tools, usage, mode) = (Vec::new(), Usage::default(), assembly.mode());
    if slash.name.eq_ignore_ascii_case("tools") {
        tools = setup::known_tools(assembly, ToolListing::List).await?.specs().to_vec();
    }
    let facts = || Facts { tools: &tools, usage: &usage, session: None, mode, policy: None };
    match expand(assembly, slash, facts).await? {
        Expansion::AsIs => Ok(Once::AsIs),
        Expansion::Prompt { text, skill } => Ok(Once::Prompt { text, skill }),
        Expansion::Show(text) => {
            if assembly.format() == OutputFormat::Text {
                output::line(text.trim_end())?;
            } else {
                output::json(&json!({"command": slash.name, "text": text}))?;
            }
            Ok(Once::Done)
        }
        Expansion::Control(control) => {
            let (name, hint) = control.alternative();
            let what = format!("`/{name}` needs a conversation, and this is a single prompt");
            Err(Problem::misuse(what).hint(hint))
        }
    }
}
