//! `models`: what the chosen provider offers, and what the configuration knows of models.

use args::{ModelOrder, ModelsCommand};
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::model_list::{self, offered};
use assemble::output;
use assemble::run_context::RunContext;
use config::settings::{Binding, RegisteredModel};
use contract::provider::Model;
use serde_json::{Value, json};
use setup::models::{self, Order};

pub(crate) async fn run(assembly: &Assembly, command: &ModelsCommand) -> Outcome {
    let mut models = match command {
        ModelsCommand::Aliases | ModelsCommand::List { all: true, .. } => Vec::new(),
        _ => offered(assembly).await?,
    };
    match command {
        ModelsCommand::List { all: true, tools_only, sort, limit } => {
            let lists = model_list::of_all_providers(assembly).await?;
            list_all(assembly, lists, (*tools_only, *sort, *limit))
        }
        ModelsCommand::List { tools_only, sort, limit, .. } => {
            models.retain(|model| !tools_only || model.tools != Some(false));
            order(assembly, &mut models, *sort);
            models.truncate(limit.unwrap_or(usize::MAX));
            if models.is_empty() && !assembly.wants_json() {
                output::hint("the provider lists no models; `--model NAME` uses one by its name");
                return Ok(Exit::Done);
            }
            print(assembly, &models)
        }
        ModelsCommand::Search { query, limit } => {
            let query = query.to_lowercase();
            models.retain(|model| models::is_called(model, &query));
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
            models.retain(|model| model.tools.unwrap_or(*all));
            order(assembly, &mut models, ModelOrder::Name);
            print(assembly, &models)
        }
        ModelsCommand::Compare { ids, ratio, sort, tools_only } => {
            models.retain(|model| !tools_only || model.tools != Some(false));
            compare(assembly, models, ids, *ratio, *sort)
        }
        ModelsCommand::Info { id } => info(assembly, &models, id),
        ModelsCommand::Aliases => aliases(assembly),
    }
}

/// Prints the models of all providers; one whose list cannot be read gets a warning.
fn list_all(
    run: &RunContext,
    lists: Vec<(String, Result<Vec<Model>, Problem>)>,
    (tools_only, sort, limit): (bool, ModelOrder, Option<usize>),
) -> Outcome {
    let mut all = Vec::new();
    for (provider, models) in lists {
        match models {
            Ok(mut models) => {
                models.retain(|model| !tools_only || model.tools != Some(false));
                order(run, &mut models, sort);
                all.extend(models.into_iter().map(|model| (provider.clone(), model)));
            }
            Err(problem) => output::warning(&problem.message()),
        }
    }
    all.truncate(limit.unwrap_or(usize::MAX));
    let data = |(provider, model): &(String, Model)| json!({"provider": provider, "model": model});
    let data: Vec<Value> = all.iter().map(data).collect();
    run.report(&data, output::titled_table(models::ALL_TITLES, models::all_rows(&all)))
}

/// Compares models, with the price of `ratio` input tokens for each output token.
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
    let data = models
        .iter()
        .map(|model| json!({"model": model, "mixed_price": models::mixed_price(model, ratio)}));
    let data: Vec<Value> = data.collect();
    let rows = models::compared_rows(&models, ratio);
    run.report(&data, output::titled_table(models::COMPARED_TITLES, rows))
}

fn order(run: &RunContext, models: &mut [Model], order: ModelOrder) {
    let order = match order {
        ModelOrder::Cost => Order::Cost,
        ModelOrder::Context => Order::Context,
        ModelOrder::Name => Order::Name,
    };
    models::sort(models, &run.config().models.favorites, order);
}

fn print(run: &RunContext, models: &[Model]) -> Outcome {
    let rows = models::rows(models, &run.config().models.favorites);
    run.report(&models, output::titled_table(models::TITLES, rows))
}

fn info(run: &RunContext, offered: &[Model], id: &str) -> Outcome {
    let models = &run.config().models;
    let canonical = models.aliases.get(id).map_or(id, String::as_str);
    let names = |model: &RegisteredModel| {
        model.aliases.contains_key(canonical)
            || model.bindings.values().any(|it| it.is_called(canonical, &model.canonical_id))
    };
    let registry = &models.registry;
    let registered =
        registry.get(canonical).or_else(|| registry.values().find(|model| names(model)));
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
    output::json(&json!({
        "id": canonical,
        "offered": found,
        "family": descriptor.map(|it| it.family.clone()),
        "context_size": descriptor.and_then(|it| it.context_size),
        "bindings": registered.map(bindings),
        "notes": registered.and_then(|model| model.notes.clone()),
        "registered": registered,
    }))?;
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
    let aliases = models.aliases.iter().map(|(alias, model)| format!("{alias} = {model}\n"));
    let words: String = aliases.chain(favorites.iter().map(|id| format!("* {id}\n"))).collect();
    let data = json!({"aliases": models.aliases, "favorites": favorites, "registry": registry});
    run.report(&data, words)
}
