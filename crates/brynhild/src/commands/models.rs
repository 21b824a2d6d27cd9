//! `models`: what the chosen provider offers, and what the configuration knows of models.

use std::cmp::Ordering;

use config::settings::{Binding, RegisteredModel};
use contract::provider::Model;
use serde_json::{Value, json};

use crate::args::{ModelOrder, ModelsCommand};
use crate::assemble::assembly::Assembly;
use crate::assemble::model_list::offered;
use crate::assemble::run_context::RunContext;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;

/// Runs a `models` command.
pub(crate) async fn run(assembly: &Assembly, command: &ModelsCommand) -> Outcome {
    match command {
        ModelsCommand::Aliases => aliases(assembly),
        ModelsCommand::List { tools_only, sort, limit } => {
            let mut models = offered(assembly).await?;
            models.retain(|model| !tools_only || model.tools != Some(false));
            order(assembly, &mut models, *sort);
            models.truncate(limit.unwrap_or(usize::MAX));
            print(assembly, &models)
        }
        ModelsCommand::Search { query, limit } => {
            let query = query.to_lowercase();
            let mut models = offered(assembly).await?;
            models.retain(|model| {
                let name = model.name.as_deref().unwrap_or_default().to_lowercase();
                model.id.to_lowercase().contains(&query) || name.contains(&query)
            });
            order(assembly, &mut models, ModelOrder::Name);
            models.truncate(*limit);
            if models.is_empty() && !assembly.wants_json() {
                output::hint(&format!(
                    "no model of the provider is called anything like `{query}`"
                ));
                return Ok(Exit::Done);
            }
            print(assembly, &models)
        }
        ModelsCommand::Tools { all } => {
            let mut models = offered(assembly).await?;
            models.retain(|model| model.tools.unwrap_or(*all));
            order(assembly, &mut models, ModelOrder::Name);
            print(assembly, &models)
        }
        ModelsCommand::Compare { ids, ratio, sort, tools_only } => {
            let mut models = offered(assembly).await?;
            models.retain(|model| !tools_only || model.tools != Some(false));
            compare(assembly, models, ids, *ratio, *sort)
        }
        ModelsCommand::Info { id } => info(assembly, id).await,
    }
}

/// Sets models side by side, with the price of a mix of tokens.
fn compare(
    run: &RunContext,
    mut models: Vec<Model>,
    ids: &[String],
    ratio: f64,
    sort: ModelOrder,
) -> Outcome {
    if !ratio.is_finite() || ratio < 0.0 {
        return Err(Problem::misuse("`--ratio` must be a number from 0 on"));
    }
    let configured = &run.config().models;
    let wanted: Vec<&str> = if ids.is_empty() {
        configured.favorites.iter().filter(|(_, it)| **it).map(|(id, _)| &**id).collect()
    } else {
        ids.iter().map(|id| configured.aliases.get(id).map_or(&**id, String::as_str)).collect()
    };
    if wanted.is_empty() {
        return Err(Problem::misuse("no models to compare")
            .hint("name some, or set `models.favorites` in the configuration"));
    }
    for id in &wanted {
        if !models.iter().any(|model| model.id == *id) {
            output::warning(&format!("the provider offers no model {id}"));
        }
    }
    models.retain(|model| wanted.contains(&model.id.as_str()));
    order(run, &mut models, sort);
    let mixed =
        |model: &Model| Some((ratio * model.input_price? + model.output_price?) / (ratio + 1.0));
    if run.wants_json() {
        let rows: Vec<Value> = models
            .iter()
            .map(|model| json!({"model": model, "mixed_price": mixed(model)}))
            .collect();
        output::json(&rows)?;
        return Ok(Exit::Done);
    }
    let price = |value: Option<f64>| value.map(|value| format!("{value:.3}")).unwrap_or_default();
    let mut rows =
        vec![["MODEL", "CONTEXT", "$/M IN", "$/M OUT", "$/M MIXED"].map(str::to_owned).to_vec()];
    rows.extend(models.iter().map(|model| {
        vec![
            model.id.clone(),
            model.context.map(|context| context.to_string()).unwrap_or_default(),
            price(model.input_price),
            price(model.output_price),
            price(mixed(model)),
        ]
    }));
    output::line(output::table(&rows).trim_end())?;
    Ok(Exit::Done)
}

/// Favorites first, then as asked.
fn order(run: &RunContext, models: &mut [Model], order: ModelOrder) {
    let favorites = &run.config().models.favorites;
    let is_favorite = |model: &Model| favorites.get(&model.id) == Some(&true);
    let price = |model: &Model| model.input_price.unwrap_or(f64::MAX);
    models.sort_by(|a, b| {
        let favorites_first = is_favorite(b).cmp(&is_favorite(a));
        let asked = match order {
            ModelOrder::Cost => price(a).partial_cmp(&price(b)).unwrap_or(Ordering::Equal),
            ModelOrder::Context => b.context.cmp(&a.context),
            ModelOrder::Name => Ordering::Equal,
        };
        favorites_first.then(asked).then_with(|| a.id.cmp(&b.id))
    });
}

fn print(run: &RunContext, models: &[Model]) -> Outcome {
    if run.wants_json() {
        output::json(&models)?;
        return Ok(Exit::Done);
    }
    let favorites = &run.config().models.favorites;
    let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let price = |value: Option<f64>| value.map(|value| format!("{value:.2}")).unwrap_or_default();
    let mut rows =
        vec![["", "MODEL", "CONTEXT", "$/M IN", "$/M OUT", "TOOLS"].map(str::to_owned).to_vec()];
    rows.extend(models.iter().map(|model| {
        let favorite = favorites.get(&model.id) == Some(&true);
        let tools = match model.tools {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        vec![
            if favorite { "*".to_owned() } else { String::new() },
            model.id.clone(),
            number(model.context),
            price(model.input_price),
            price(model.output_price),
            tools.to_owned(),
        ]
    }));
    output::line(output::table(&rows).trim_end())?;
    Ok(Exit::Done)
}

async fn info(assembly: &Assembly, id: &str) -> Outcome {
    let models = &assembly.config().models;
    let canonical = models.aliases.get(id).map_or(id, String::as_str);
    let names = |model: &RegisteredModel| {
        model.aliases.contains_key(canonical)
            || model.bindings.values().any(|it| it.is_called(canonical, &model.canonical_id))
    };
    let registry = &models.registry;
    let registered =
        registry.get(canonical).or_else(|| registry.values().find(|model| names(model)));
    let offered = offered(assembly).await?;
    let ids: Vec<&str> = registered
        .into_iter()
        .flat_map(|model| model.bindings.values())
        .flat_map(|binding| binding.model_id.iter().chain(&binding.alternatives))
        .map(String::as_str)
        .chain([canonical])
        .collect();
    let found = offered.iter().find(|model| ids.contains(&model.id.as_str()));
    if found.is_none() && registered.is_none() {
        return Err(Problem::failed(format!("Model not found: {id}"))
            .hint("`brynhild models search WORD` looks for names"));
    }
    let descriptor = registered.and_then(|model| model.descriptor.as_ref());
    let object = json!({
        "id": canonical,
        "offered": found,
        "family": descriptor.map(|it| it.family.clone()),
        "context_size": descriptor.and_then(|it| it.context_size),
        "bindings": registered.map(bindings),
        "notes": registered.and_then(|model| model.notes.clone()),
        "registered": registered,
    });
    output::json(&object)?;
    Ok(Exit::Done)
}

fn bindings(model: &RegisteredModel) -> Value {
    let named = |(provider, binding): (&String, &Binding)| {
        let id = binding.model_id.clone().unwrap_or_else(|| model.canonical_id.clone());
        (provider.clone(), Value::String(id))
    };
    Value::Object(model.bindings.iter().map(named).collect())
}

fn aliases(run: &RunContext) -> Outcome {
    let models = &run.config().models;
    let favorites: Vec<&String> =
        models.favorites.iter().filter(|(_, it)| **it).map(|(id, _)| id).collect();
    let registry: serde_json::Map<String, Value> =
        models.registry.iter().map(|(id, model)| (id.clone(), bindings(model))).collect();
    if run.wants_json() {
        let object =
            json!({"aliases": models.aliases, "favorites": favorites, "registry": registry});
        output::json(&object)?;
        return Ok(Exit::Done);
    }
    for (alias, model) in &models.aliases {
        output::told(format_args!("{alias} = {model}"))?;
    }
    for favorite in favorites {
        output::told(format_args!("* {favorite}"))?;
    }
    Ok(Exit::Done)
}
