//! `command`: lists the commands that can be typed after `/`, and shows what one would send.

use contract::text::head;
use serde_json::{Value, json};

use crate::args::CommandCommand;
use crate::assemble::assembly::Assembly;
use crate::assemble::mcp;
use crate::exit::{Exit, Outcome, Problem};
use crate::frontends::slash::{self, Offer};
use crate::output;

/// Runs a `command` command.
pub(crate) async fn run(assembly: &Assembly, command: &CommandCommand) -> Outcome {
    match command {
        CommandCommand::List => list(assembly),
        CommandCommand::Render { name, words } => render(assembly, name, &words.join(" ")).await,
    }
}

fn list(assembly: &Assembly) -> Outcome {
    let offer = Offer::with_prompts(assembly);
    offer.report();
    let commands = offer.table.commands();
    if assembly.wants_json() {
        let builtin = slash::BUILTIN.iter().map(|builtin| {
            json!({
                "name": builtin.name,
                "description": builtin.description,
                "aliases": [],
                "args": builtin.args,
                "source": "builtin",
                "plugin": null,
                "path": null,
            })
        });
        let own = commands.iter().map(|command| {
            let mut row = command.to_json();
            if let Value::Object(fields) = &mut row {
                fields.shift_remove("body");
                fields.insert("typed".into(), json!(format!("/{}", offer.table.shortest(command))));
            }
            row
        });
        let prompts = offer.prompts.iter().map(|prompt| {
            json!({
                "name": prompt.name,
                "description": prompt.description,
                "aliases": [],
                "args": prompt.usage,
                "source": format!("mcp:{}", prompt.server),
                "plugin": null,
                "path": null,
                "typed": format!("/{}", prompt.name),
            })
        });
        let rows: Vec<Value> = builtin.chain(own).chain(prompts).collect();
        output::json(&json!({"commands": rows, "count": rows.len()}))?;
        return Ok(Exit::Done);
    }
    let mut rows: Vec<Vec<String>> = slash::BUILTIN
        .iter()
        .map(|builtin| {
            let typed = format!("/{} {}", builtin.name, builtin.args);
            vec![typed.trim_end().to_owned(), "builtin".into(), builtin.description.to_owned()]
        })
        .collect();
    rows.extend(commands.iter().map(|command| {
        let typed = format!("/{} {}", offer.table.shortest(command), command.args);
        let description = head(&command.description, 70).to_owned();
        vec![typed.trim_end().to_owned(), command.source.clone(), description]
    }));
    rows.extend(offer.prompts.iter().map(|prompt| {
        let typed = format!("/{} {}", prompt.name, prompt.usage);
        let description = head(&prompt.description, 70).to_owned();
        vec![typed.trim_end().to_owned(), format!("mcp:{}", prompt.server), description]
    }));
    output::line(output::table(&rows).trim_end())?;
    Ok(Exit::Done)
}

async fn render(assembly: &Assembly, name: &str, words: &str) -> Outcome {
    let offer = Offer::new(assembly);
    let name = name.strip_prefix('/').unwrap_or(name);
    let text = match offer.rendered(assembly, name, words) {
        Some(text) => Some(text),
        None => mcp::prompt(assembly, name, words).await?,
    };
    let Some(text) = text else {
        let what = if slash::builtin(name).is_some() {
            format!("`/{name}` is built in and sends no text")
        } else {
            format!("Command not found: {name}")
        };
        return Err(Problem::failed(what).hint("`brynhild command list` shows all"));
    };
    if assembly.wants_json() {
        output::json(&json!({"name": name, "args": words, "text": text}))?;
    } else {
        output::line(text)?;
    }
    Ok(Exit::Done)
}
