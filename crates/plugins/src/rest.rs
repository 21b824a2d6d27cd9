//! HTTP interfaces that are declared as data: each endpoint is a tool. Nothing of a declaration is
//! code. What a model says reaches a request only as a value at its own place, encoded for it;
//! secrets are put in when a request is sent, and taken out of what comes back.

mod declared;
mod extract;
mod request;
mod send;
mod template;
mod tool;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use contract::tool::Tool;
use reqwest::Url;
use reqwest::dns::Resolve;
use serde_json::Value;

use crate::problem::Problem;
use declared::Endpoint;
use send::Clients;
use template::{Template, Variables};
use tool::EndpointTool;

pub use send::{Answered, Exchange};

/// An HTTP interface as it was declared.
#[derive(Clone, Debug)]
pub struct Api {
    pub name: String,
    pub description: String,
    base: Url,
    endpoints: Vec<Arc<Endpoint>>,
    /// Faults of the endpoints that were left out.
    lost: Vec<String>,
}

/// The variables and clients of requests.
#[derive(Clone)]
pub struct Settings {
    variables: Arc<BTreeMap<String, String>>,
    clients: Arc<Clients>,
}

impl Settings {
    /// Lets declarations use `variables`, and reach the private hosts `allow_private`.
    pub fn new(variables: BTreeMap<String, String>, allow_private: &[String]) -> Self {
        let clients = Arc::new(Clients::new(allow_private));
        Self { variables: Arc::new(variables), clients }
    }

    #[must_use]
    pub fn with_variables(&self, variables: BTreeMap<String, String>) -> Self {
        Self { variables: Arc::new(variables), clients: Arc::clone(&self.clients) }
    }

    /// Makes one request, to no private address that the user has not named. Errors are for the model.
    pub async fn exchange(&self, exchange: Exchange) -> Result<Answered, String> {
        self.clients.exchange(exchange).await
    }

    /// A resolver that leads to no private address; none if the user has named the host.
    /// The error says why the address is refused.
    pub fn resolver(&self, address: &str) -> Result<Option<Arc<dyn Resolve>>, String> {
        let url = Url::parse(address).map_err(|_| format!("{address:?} is not an address"))?;
        self.clients.resolver(&url)
    }

    /// A text with the values of `${NAME}`; one that is not set stays as it is written.
    pub fn filled(&self, text: &str) -> String {
        let template = Template::parse(text, |_| false, Variables::Meant);
        let value = |name: &str| self.variables.get(name).filter(|it| !it.is_empty()).cloned();
        template.filled(&BTreeMap::new(), value).unwrap_or_default()
    }
}

impl Api {
    /// Reads a declaration that stands in the file `place`. An endpoint that makes no sense is left
    /// out; without a name, an address or any endpoint there is nothing.
    pub fn read(value: &Value, place: &Path) -> (Option<Self>, Vec<Problem>) {
        declared::read(value, place)
    }

    /// Returns true if a problem cost an endpoint.
    pub fn lost(&self, problem: &Problem) -> bool {
        self.lost.contains(&problem.what)
    }

    /// One line for people: what it is called and how many tools it has.
    pub fn summary(&self) -> String {
        format!("api: {} ({} endpoints)", self.name, self.endpoints.len())
    }

    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.endpoints.iter().map(|endpoint| endpoint.name.as_str())
    }

    pub fn variables(&self) -> BTreeSet<&str> {
        self.endpoints.iter().flat_map(|endpoint| endpoint.variables()).collect()
    }

    pub fn tools(&self, settings: &Settings, source: &str) -> Vec<Arc<dyn Tool>> {
        let tool = |endpoint: &Arc<Endpoint>| {
            let tool = EndpointTool::new(Arc::clone(endpoint), &self.base, settings, source);
            Arc::new(tool) as Arc<dyn Tool>
        };
        self.endpoints.iter().map(tool).collect()
    }
}
