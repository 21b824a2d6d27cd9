//! `models`: what the chosen provider offers, and what the configuration knows of models.

use std::cmp::Ordering;

use args::{ModelOrder, ModelsCommand};
use config::settings::{Binding, RegisteredModel};
use contract::provider::Model;
use serde_json::{Value, json};

use crate::assemble::assembly::Assembly;
use crate::assemble::model_list::{self, offered};
use crate::assemble::run_context::RunContext;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;

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
    let row = |(provider, model): &(String, Model)| {
        let [input, output] = [model.input_price, model.output_price].map(|it| number(it, 2));
        let [tools, reasons] = [model.tools, model.reasoning]
            .map(|it| it.map_or("", |it| if it { "yes" } else { "no" }).to_owned());
        [provider.clone(), model.id.clone(), context(model), input, output, tools, reasons]
    };
    let titles = ["PROVIDER", "MODEL", "CONTEXT", "$/M IN", "$/M OUT", "TOOLS", "REASONS"];
    run.report(&data, output::titled_table(titles, all.iter().map(row)))
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
    let mixed =
        |model: &Model| Some((ratio * model.input_price? + model.output_price?) / (ratio + 1.0));
    let data = |model: &Model| json!({"model": model, "mixed_price": mixed(model)});
    let data: Vec<Value> = models.iter().map(data).collect();
    let row = |model: &Model| {
        let prices = [model.input_price, model.output_price, mixed(model)];
        let [input, output, mixed] = prices.map(|price| number(price, 3));
        [model.id.clone(), context(model), input, output, mixed]
    };
    let titles = ["MODEL", "CONTEXT", "$/M IN", "$/M OUT", "$/M MIXED"];
    run.report(&data, output::titled_table(titles, models.iter().map(row)))
}

fn context(model: &Model) -> String {
    model.context.map(|context| context.to_string()).unwrap_or_default()
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map(|value| format!("{value:.decimals$}")).unwrap_or_default()
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
    let favorites = &run.config().models.favorites;
    let row = |model: &Model| {
        let favorite = if favorites.get(&model.id) == Some(&true) { "*" } else { "" };
        let tools = model.tools.map_or("", |tools| if tools { "yes" } else { "no" });
        let [input, output] = [model.input_price, model.output_price].map(|it| number(it, 2));
        [favorite, &model.id, &context(model), &input, &output, tools].map(str::to_owned)
    };
    let titles = ["", "MODEL", "CONTEXT", "$/M IN", "$/M OUT", "TOOLS"];
    run.report(&models, output::titled_table(titles, models.iter().map(row)))
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
