//! Lists of models: their order, and their rows in tables.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use contract::provider::Model;

/// Models by name; the favorites are true.
pub type Favorites = BTreeMap<String, bool>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Name,
    Cost,
    Context,
}

pub const TITLES: [&str; 6] = ["", "MODEL", "CONTEXT", "$/M IN", "$/M OUT", "TOOLS"];
pub const ALL_TITLES: [&str; 7] =
    ["PROVIDER", "MODEL", "CONTEXT", "$/M IN", "$/M OUT", "TOOLS", "REASONS"];
pub const COMPARED_TITLES: [&str; 5] = ["MODEL", "CONTEXT", "$/M IN", "$/M OUT", "$/M MIXED"];

/// Sorts: favorites first, then as asked.
pub fn sort(models: &mut [Model], favorites: &Favorites, order: Order) {
    let is_favorite = |model: &Model| favorites.get(&model.id) == Some(&true);
    let price = |model: &Model| model.input_price.unwrap_or(f64::MAX);
    models.sort_by(|a, b| {
        let favorites_first = is_favorite(b).cmp(&is_favorite(a));
        let asked = match order {
            Order::Cost => price(a).partial_cmp(&price(b)).unwrap_or(Ordering::Equal),
            Order::Context => b.context.cmp(&a.context),
            Order::Name => Ordering::Equal,
        };
        favorites_first.then(asked).then_with(|| a.id.cmp(&b.id))
    });
}

/// Returns true if the id or the name of a model contains a word in lower case.
pub fn is_called(model: &Model, word: &str) -> bool {
    let name = model.name.as_deref().unwrap_or_default().to_lowercase();
    model.id.to_lowercase().contains(word) || name.contains(word)
}

/// The price of `ratio` input tokens for each output token.
pub fn mixed_price(model: &Model, ratio: f64) -> Option<f64> {
    Some((ratio * model.input_price? + model.output_price?) / (ratio + 1.0))
}

/// The rows of the models of one provider, under [`TITLES`].
pub fn rows(models: &[Model], favorites: &Favorites) -> impl Iterator<Item = [String; 6]> {
    models.iter().map(|model| {
        let favorite = if favorites.get(&model.id) == Some(&true) { "*" } else { "" };
        let [input, output] = [model.input_price, model.output_price].map(|it| number(it, 2));
        [favorite, &model.id, &context(model), &input, &output, &yes_or_no(model.tools)]
            .map(str::to_owned)
    })
}

/// The rows of models with their providers, under [`ALL_TITLES`].
pub fn all_rows(models: &[(String, Model)]) -> impl Iterator<Item = [String; 7]> {
    models.iter().map(|(provider, model)| {
        let [input, output] = [model.input_price, model.output_price].map(|it| number(it, 2));
        let [tools, reasons] = [model.tools, model.reasoning].map(yes_or_no);
        [provider.clone(), model.id.clone(), context(model), input, output, tools, reasons]
    })
}

/// The rows of a comparison, under [`COMPARED_TITLES`].
pub fn compared_rows(models: &[Model], ratio: f64) -> impl Iterator<Item = [String; 5]> {
    models.iter().map(move |model| {
        let prices = [model.input_price, model.output_price, mixed_price(model, ratio)];
        let [input, output, mixed] = prices.map(|price| number(price, 3));
        [model.id.clone(), context(model), input, output, mixed]
    })
}

fn context(model: &Model) -> String {
    model.context.map(|context| context.to_string()).unwrap_or_default()
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map(|value| format!("{value:.decimals$}")).unwrap_or_default()
}

fn yes_or_no(value: Option<bool>) -> String {
    value.map_or("", |value| if value { "yes" } else { "no" }).to_owned()
}
