//! Fills in the placeholders of a command's text: `{{env.NAME}}` first, then `{{args}}`, then `{{cwd}}`.
//! So words that the user typed are not searched for variables.

#[derive(Clone, Copy)]
pub struct Placeholders<'a> {
    pub args: &'a str,
    pub cwd: &'a str,
    pub variable: &'a dyn Fn(&str) -> Variable,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variable {
    Value(String),
    Unset,
    Secret,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    /// The variables that were left out because they hold secrets.
    pub withheld: Vec<String>,
}

pub(super) fn render(body: &str, placeholders: &Placeholders<'_>) -> Rendered {
    let mut rendered = Rendered::default();
    let mut rest = body;
    while let Some((before, after)) = rest.split_once("{{env.") {
        rendered.text.push_str(before);
        let name: &str = match after.split_once("}}") {
            Some((name, _)) if is_name(name) => name,
            _ => {
                rendered.text.push_str("{{env.");
                rest = after;
                continue;
            }
        };
        match (placeholders.variable)(name) {
            Variable::Value(value) => rendered.text.push_str(&value),
            Variable::Unset => {}
            Variable::Secret => rendered.withheld.push(name.to_owned()),
        }
        rest = &after[name.len() + "}}".len()..];
    }
    rendered.text.push_str(rest);
    rendered.text =
        rendered.text.replace("{{args}}", placeholders.args).replace("{{cwd}}", placeholders.cwd);
    rendered
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}
