//! Reads a call's arguments into a tool's own struct.

use contract::tool::ToolError;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value};

pub(crate) fn parse<T: DeserializeOwned>(tool: &str, args: &Value) -> Result<T, ToolError> {
    T::deserialize(args)
        .map_err(|error| ToolError::Input(format!("the arguments do not fit {tool}: {error}")))
}

/// A count that a model may have written as `3` or as `3.0`.
pub(crate) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<usize>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(from)? else { return Ok(None) };
    whole(&number).map(Some).ok_or_else(|| D::Error::custom(format!("{number} is not a count")))
}

fn whole(number: &Number) -> Option<usize> {
    if let Some(exact) = number.as_u64() {
        return usize::try_from(exact).ok();
    }
    let text = number.to_string();
    let digits = text.strip_suffix(".0")?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Deserialize)]
    struct Args {
        #[serde(default, deserialize_with = "count")]
        limit: Option<usize>,
    }

    #[test]
    fn whole_number_argument_accepts_every_notation() {
        let limit = |args: Value| parse::<Args>("X", &args).map(|args| args.limit);
        assert_eq!(limit(json!({})).expect("none"), None);
        assert_eq!(limit(json!({"limit": null})).expect("none"), None);
        assert_eq!(limit(json!({"limit": 7})).expect("seven"), Some(7));
        assert_eq!(limit(json!({"limit": 7.0})).expect("seven"), Some(7));
        for bad in [json!(-1), json!(1.5), json!("3")] {
            let error = limit(json!({"limit": bad})).expect_err("refused");
            assert!(error.to_string().contains("do not fit X"), "{error}");
        }
    }
}
