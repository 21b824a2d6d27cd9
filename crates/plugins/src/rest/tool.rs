//! An endpoint as a tool.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::tool::{
    Plan, Recovery, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, Traits,
};
use reqwest::{Method, Url};
use serde_json::Value;

use super::Settings;
use super::declared::Endpoint;
use super::extract::extract;
use super::request::{Prepared, prepare};

const REDACTED: &str = "[redacted]";

pub(super) struct EndpointTool {
    spec: Arc<ToolSpec>,
    endpoint: Arc<Endpoint>,
    base: Url,
    settings: Settings,
}

impl EndpointTool {
    pub(super) fn new(
        endpoint: Arc<Endpoint>,
        base: &Url,
        settings: &Settings,
        source: &str,
    ) -> Self {
        let only_looks = endpoint.method == Method::GET;
        let spec = ToolSpec {
            name: endpoint.name.clone(),
            description: endpoint.description.clone(),
            input_schema: endpoint.schema().into(),
            version: String::new(),
            categories: vec![String::from("api")],
            requires_permission: true,
            risk_level: match endpoint.method {
                Method::GET => Risk::ReadOnly,
                Method::DELETE => Risk::HighImpact,
                _ => Risk::Mutating,
            },
            recovery_policy: Recovery::Confirm,
            parallel: only_looks,
            source: source.to_owned(),
            traits: Traits {
                accepted_schema: Some(endpoint.accepts().into()),
                ..Traits::default()
            },
        };
        Self { spec: spec.into(), endpoint, base: base.clone(), settings: settings.clone() }
    }

    fn prepared(&self, args: &Value) -> Result<Prepared, ToolError> {
        prepare(&self.endpoint, &self.base, args, &self.settings.variables)
            .map_err(ToolError::Input)
    }

    async fn answer(&self, prepared: &Prepared) -> Result<String, String> {
        let send = self.settings.clients.send(&self.endpoint.method, prepared);
        let timeout = self.endpoint.timeout;
        let answer = tokio::time::timeout(timeout, send).await.unwrap_or_else(|_| {
            Err(format!("HTTP error: no answer within {} s", timeout.as_secs_f64()))
        })?;
        match &self.endpoint.extract {
            Some(path) => extract(path, answer),
            None => Ok(answer),
        }
    }
}

#[async_trait]
impl Tool for EndpointTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let url = self.prepared(args)?.url;
        let host = url.host_str().unwrap_or_default();
        let host = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        Ok(Plan::from(vec![Action::Connect { host }]))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let prepared = self.prepared(&call.args)?;
        let answer = tokio::select! {
            answer = self.answer(&prepared) => answer,
            () = context.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        Ok(match answer {
            Ok(text) => ToolOutput::success(without(&prepared.secrets, text)),
            Err(text) => ToolOutput::failure(without(&prepared.secrets, text)),
        })
    }
}

fn without(secrets: &BTreeSet<String>, text: String) -> String {
    let mut longest_first: Vec<&String> = secrets.iter().collect();
    longest_first.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    longest_first.into_iter().fold(text, |text, secret| {
        if text.contains(secret.as_str()) { text.replace(secret.as_str(), REDACTED) } else { text }
    })
}
