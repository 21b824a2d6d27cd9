//! One call of a plugin: its environment variables and its input.

use std::collections::BTreeMap;

use serde_json::Value;

#[derive(Clone, Copy)]
pub(crate) enum Purpose<'a> {
    Schema,
    Tool(&'a str),
    Hook(&'static str),
}

pub(crate) struct Call<'a> {
    pub(crate) purpose: Purpose<'a>,
    pub(crate) context: Option<&'a str>,
    pub(crate) input: Option<&'a Value>,
}

impl Call<'_> {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.input.map(|input| input.to_string().into_bytes()).unwrap_or_default()
    }

    /// The variables of this run. `in_variables` is for plugins that look for their input there.
    pub(crate) fn variables(&self, in_variables: bool) -> BTreeMap<String, String> {
        let mut variables = BTreeMap::new();
        let mut set = |name: &str, value: &str| {
            variables.insert(name.to_owned(), value.to_owned());
        };
        let input_variable = match self.purpose {
            Purpose::Schema => None,
            Purpose::Tool(name) => {
                set("CHIBI_TOOL_NAME", name);
                Some("CHIBI_TOOL_ARGS")
            }
            Purpose::Hook(name) => {
                set("CHIBI_HOOK", name);
                Some("CHIBI_HOOK_DATA")
            }
        };
        if let (true, Some(name), Some(input)) = (in_variables, input_variable, self.input) {
            set(name, &input.to_string());
        }
        if let Some(context) = self.context {
            set("CHIBI_CONTEXT", context);
        }
        variables
    }
}
