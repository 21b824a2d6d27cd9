//! The specification of a built-in tool.

use contract::tool::{Recovery, Risk, ToolSpec, Traits};
use serde_json::Value;

/// The risk determines permission, recovery and parallelism.
pub(crate) fn spec(
    name: &str,
    description: &str,
    category: &str,
    risk_level: Risk,
    input_schema: Value,
) -> ToolSpec {
    let recovery_policy = match risk_level {
        Risk::ReadOnly => Recovery::Allow,
        Risk::Mutating => Recovery::Confirm,
        Risk::HighImpact => Recovery::Deny,
    };
    ToolSpec {
        name: name.to_owned(),
        description: description.trim_end().to_owned(),
        input_schema: input_schema.into(),
        version: "1.0.0".to_owned(),
        categories: vec![category.to_owned()],
        requires_permission: risk_level != Risk::ReadOnly,
        risk_level,
        recovery_policy,
        parallel: risk_level == Risk::ReadOnly,
        source: "builtin".to_owned(),
        traits: Traits::default(),
    }
}
