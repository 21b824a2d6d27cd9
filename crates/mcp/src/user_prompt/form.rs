//! Forms that servers ask the user to fill in: asked field by field.

use contract::text::visible;
use serde_json::{Map, Value};

use super::field::{choices, parse, requirements, title};
use super::{Heading, UserPrompt};
use crate::frontend::DialogInput;

/// Upper bound on the choices that a dialog lists as buttons.
const MAX_BUTTONS: usize = 9;

/// The default values of a form. None if a required field has no default.
pub(super) fn defaults(schema: &Value) -> Option<Map<String, Value>> {
    let default =
        |(name, field): (&String, &Value)| Some((name.clone(), field.get("default")?.clone()));
    let properties = schema.get("properties").and_then(Value::as_object);
    let fields: Map<String, Value> = properties.into_iter().flatten().filter_map(default).collect();
    required(schema).all(|name| fields.contains_key(name)).then_some(fields)
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

impl UserPrompt {
    /// Asks for all fields of a form. None if the user cancels.
    pub(super) async fn form(
        &self,
        heading: &Heading<'_>,
        schema: &Value,
    ) -> Option<Map<String, Value>> {
        let mut fields = Map::new();
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Some(fields);
        };
        for (number, (name, field)) in (1..).zip(properties) {
            let is_required = required(schema).any(|it| it == name);
            let need = if is_required { "needed" } else { "may be left empty" };
            let count = properties.len();
            let place = format!("{} ({number} of {count}, {need})", title(name, field));
            let default = field.get("default");
            let mut misfit = String::new();
            let value = loop {
                let typed =
                    self.field(heading, (&title(name, field), &place), field, &misfit).await?;
                let typed = typed.trim();
                if typed.is_empty() && (default.is_some() || !is_required) {
                    break default.cloned();
                }
                if let Some(value) = parse(typed, field).filter(|_| !typed.is_empty()) {
                    break Some(value);
                }
                misfit = match typed {
                    "" => "A value is required.".to_owned(),
                    typed => format!("`{}` does not fit.", visible(typed)),
                };
            };
            fields.extend(value.map(|value| (name.clone(), value)));
        }
        Some(fields)
    }

    /// Asks once for a field with this name and place. `misfit` says why the last answer was refused.
    async fn field(
        &self,
        heading: &Heading<'_>,
        (name, place): (&str, &str),
        field: &Value,
        misfit: &str,
    ) -> Option<String> {
        let about = field.get("description").and_then(Value::as_str).unwrap_or_default();
        let parts = [visible(about).into_owned(), requirements(field)];
        let about = parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ");
        let default = field.get("default");
        let hint = default.map(|it| format!(" [{}]", visible(&it.to_string()))).unwrap_or_default();
        if !self.frontend.is_full_screen() {
            let line_break = if misfit.is_empty() { "" } else { "\n" };
            let asked = format!("{place} {about}{}{hint}", choice_list(field));
            let prompt = format!("{misfit}{line_break}{}: ", asked.trim_end());
            return self.frontend.line("", &prompt).await;
        }
        let buttons = buttons(field);
        let listed = if buttons.is_empty() { choice_list(field) } else { String::new() };
        let gap = if misfit.is_empty() { "" } else { "\n\n" };
        let body = format!("{}\n\n{place}: {about}{listed}{hint}{gap}{misfit}", heading.text);
        let input = if buttons.is_empty() {
            DialogInput::Text(name.to_owned())
        } else {
            let default = default.map(plain_text);
            let default = buttons.iter().position(|(value, _)| Some(value) == default.as_ref());
            DialogInput::Choice { choices: buttons, default }
        };
        self.frontend.dialog(&heading.title(), &body, input).await
    }
}

/// A value as users write it.
fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The values of a field with a few choices, each with its label; empty for other fields.
fn buttons(field: &Value) -> Vec<(String, String)> {
    match field.get("type").and_then(Value::as_str) {
        Some("boolean") => [("true", "Yes"), ("false", "No")]
            .map(|(value, label)| (value.to_owned(), label.to_owned()))
            .into(),
        Some("array") => Vec::new(),
        _ => Some(labeled_choices(field)).filter(|it| it.len() <= MAX_BUTTONS).unwrap_or_default(),
    }
}

/// The choices of a field, each with its label: the value, and its title if it has one.
fn labeled_choices(field: &Value) -> Vec<(String, String)> {
    let items = field.get("items").unwrap_or(field);
    let titled = items.get("oneOf").or(items.get("anyOf")).and_then(Value::as_array);
    let names = items.get("enumNames").and_then(Value::as_array);
    let title = |index: usize| {
        let of_choice = titled.and_then(|titled| titled.get(index)?.get("title")?.as_str());
        of_choice.or_else(|| names?.get(index)?.as_str())
    };
    let choices = choices(field).unwrap_or_default();
    let pairs = choices.iter().map(plain_text).enumerate().map(|(index, value)| {
        let titled = title(index).map(|title| format!("{value} ({title})"));
        let label = visible(titled.as_ref().unwrap_or(&value)).into_owned();
        (value, label)
    });
    pairs.collect()
}

/// The choices of a field in one line.
fn choice_list(field: &Value) -> String {
    let labels: Vec<String> = labeled_choices(field).into_iter().map(|(_, label)| label).collect();
    if labels.is_empty() { String::new() } else { format!(" [{}]", labels.join(", ")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_answer_a_form_if_every_required_field_has_one() {
        let schema = json!({
            "properties": {"a": {"type": "integer", "default": 3}, "b": {"type": "string"}},
            "required": ["a"],
        });
        assert_eq!(defaults(&schema), json!({"a": 3}).as_object().cloned());
        let schema = json!({"properties": {"b": {"type": "string"}}, "required": ["b"]});
        assert_eq!(defaults(&schema), None);
    }

    #[test]
    fn choice_is_listed_with_its_title() {
        let field = json!({"type": "string", "enum": ["a"], "enumNames": ["The first"]});
        assert_eq!(choice_list(&field), " [a (The first)]");
    }
}
