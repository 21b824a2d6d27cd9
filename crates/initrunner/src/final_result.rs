//! The tool by which a model gives an answer that has a schema.

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::tool::{
    Finish, FinishStatus, Plan, Recovery, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec,
    Traits,
};
use serde_json::{Value, json};
use std::sync::Arc;

pub const NAME: &str = "final_result";

/// Where an answer stands that is not an object itself.
const WRAPPED: &str = "response";

pub struct FinalResult {
    spec: Arc<ToolSpec>,
    is_wrapped: bool,
}

impl FinalResult {
    pub fn new(schema: &Value) -> Self {
        let is_wrapped = schema.get("type").is_some_and(|kind| kind != "object");
        let input_schema = if is_wrapped {
            let mut inner = schema.clone();
            let mut outer = json!({"type": "object", "properties": {}, "required": [WRAPPED]});
            // What references name is found from the top.
            for key in ["$schema", "$defs", "definitions"] {
                if let Some(value) = inner.as_object_mut().and_then(|inner| inner.remove(key)) {
                    outer[key] = value;
                }
            }
            outer["properties"][WRAPPED] = inner;
            outer
        } else {
            schema.clone()
        };
        let spec = ToolSpec {
            name: NAME.to_owned(),
            description: String::from("Gives the final answer, and ends the task. Call it once."),
            input_schema: input_schema.into(),
            version: String::new(),
            categories: Vec::new(),
            requires_permission: false,
            risk_level: Risk::ReadOnly,
            recovery_policy: Recovery::Allow,
            parallel: false,
            source: String::from("role"),
            traits: Traits::default(),
        };
        Self { spec: spec.into(), is_wrapped }
    }

    pub fn arguments(&self, answer: Value) -> Value {
        if self.is_wrapped { json!({WRAPPED: answer}) } else { answer }
    }
}

#[async_trait]
impl Tool for FinalResult {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, _args: &Value) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    async fn run(&self, call: &ToolCall, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let answer = if self.is_wrapped { &call.args[WRAPPED] } else { &call.args };
        let text = answer.to_string();
        let finish =
            Finish { status: FinishStatus::Success, summary: text.clone(), next_steps: None };
        Ok(ToolOutput { finish: Some(finish), ..ToolOutput::success(text) })
    }
}
