//! Fills in the placeholders of a command's text: `{{env.NAME}}` first, then `{{args}}`, then `{{cwd}}`.
//! So words that the user typed are not searched for variables.

use formats::template::fill;

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
    let mut withheld = Vec::new();
    let text = fill(body, ("{{env.", "}}"), |name| {
        is_name(name).then(|| match (placeholders.variable)(name) {
            Variable::Value(value) => value,
            Variable::Unset => String::new(),
            Variable::Secret => {
                withheld.push(name.to_owned());
                String::new()
            }
        })
    });
    let text = text.replace("{{args}}", placeholders.args).replace("{{cwd}}", placeholders.cwd);
    Rendered { text, withheld }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}
