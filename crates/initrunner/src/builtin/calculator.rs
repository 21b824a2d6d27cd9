//! `calculator`: arithmetic with Python's numbers.

use async_trait::async_trait;
use contract::tool::Risk;
use serde_json::{Value, json};

use super::function::{self, Function, blocking};
use super::options::Options;
use super::{About, Built, ToolHost, text};

pub(super) const KEYS: &[&str] = &["max_expression_length"];

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let about = About {
        name: "calculate",
        description: "Evaluate an arithmetic expression in Python's syntax: + - * / // % **, the \
                      constants pi e tau inf, and sin cos tan asin acos atan sqrt log(x[, base]) \
                      log10 log2 exp abs ceil floor round pow.",
        kind: "calculator",
        risk: Risk::ReadOnly,
        properties: json!({
            "expression": {"type": "string", "description": "The expression, such as `2 ** 10 / 3`"},
        }),
        required: &["expression"],
    };
    let max_length = options.count("max_expression_length", 1000)?;
    let calculator = Calculator { max_length, calculate: tool_host.calculate };
    Ok(Built::of([function::tool(calculator, about.spec(tool_host))]))
}

struct Calculator {
    max_length: usize,
    calculate: fn(&str) -> Result<String, String>,
}

#[async_trait]
impl Function for Calculator {
    async fn call(&self, args: &Value) -> Result<String, String> {
        let expression = text(args, "expression").to_owned();
        if expression.chars().count() > self.max_length {
            let length = self.max_length;
            return Err(format!("Error: expression exceeds maximum length ({length} chars)"));
        }
        let calculate = self.calculate;
        blocking(move || calculate(&expression).map_err(|error| format!("Error: {error}"))).await
    }
}
