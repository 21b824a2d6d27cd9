//! The resources that clients can read: our skills, and the resources of our servers. Listing those
//! of a server is a call like any other; what rules forbid to list is not offered.

use std::sync::Arc;

use contract::tool::ToolOutput;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::backend::Call;
use super::client_session::Request;
use crate::client_registry::{ClientIo, NoClient};
use crate::mutex::lock;
use crate::resource_tools::{CONTENTS, LIST_RESOURCES, READ_RESOURCE, RESOURCES, TEMPLATES};
use crate::servers::Servers;

/// Resources and templates.
#[derive(Default)]
pub(super) struct ResourceList {
    pub(super) resources: Vec<Resource>,
    pub(super) templates: Vec<ResourceTemplate>,
}

/// The resources of one server.
struct ServerResources<'a> {
    servers: &'a Servers,
    server: String,
    list: ResourceList,
}

impl ServerResources<'_> {
    /// Returns true if the server has a resource with this URI.
    fn has(&self, uri: &str) -> bool {
        self.list.resources.iter().any(|it| it.uri == uri)
            || self.list.templates.iter().any(|it| matches_template(&it.uri_template, uri))
    }
}

impl Request<'_> {
    /// All resources.
    pub(super) async fn resources(&self) -> ResourceList {
        let mut all = self.offer.skill_resources();
        for ServerResources { list, .. } in self.server_resources().await {
            all.resources.extend(list.resources);
            all.templates.extend(list.templates);
        }
        all
    }

    /// The contents of a resource. None if there is no such resource. The client reads the error.
    pub(super) async fn read(
        &self,
        uri: &str,
        client: Arc<dyn ClientIo>,
    ) -> Result<Option<Vec<ResourceContents>>, String> {
        if let Some(text) = self.offer.skill_text(uri) {
            let contents = ResourceContents::text(text, uri).with_mime_type("text/markdown");
            return Ok(Some(vec![contents]));
        }
        let Some(found) = self.find(uri).await else { return Ok(None) };
        let args = json!({"server": found.server, "uri": uri});
        let mut read = self.run_resource_tool(found.servers, READ_RESOURCE, args, client).await;
        match read.facts.remove(CONTENTS).filter(|_| read.success) {
            Some(contents) => serde_json::from_value(contents)
                .map(Some)
                .map_err(|error| format!("what {uri} contains is invalid: {error}")),
            None => Err(read.for_model()),
        }
    }

    /// Subscribes to the changes of a resource.
    pub(super) async fn subscribe(&self, uri: &str) -> Result<(), String> {
        if self.offer.skill_text(uri).is_some() {
            return Ok(());
        }
        let found = self.find(uri).await.ok_or_else(|| format!("there is no resource {uri}"))?;
        let subscribed = found.servers.subscribe(&found.server, uri).await;
        subscribed.map_err(|failure| failure.to_string())
    }

    async fn find(&self, uri: &str) -> Option<ServerResources<'_>> {
        self.server_resources().await.into_iter().find(|listed| listed.has(uri))
    }

    async fn server_resources(&self) -> Vec<ServerResources<'_>> {
        let mut all = Vec::new();
        for servers in &self.offer.servers {
            for server in servers.raw_resource_tools().1 {
                let args = json!({"server": server});
                let client = Arc::new(NoClient);
                let mut output =
                    self.run_resource_tool(servers, LIST_RESOURCES, args, client).await;
                if !output.success {
                    self.warn_once(&server, &output);
                    continue;
                }
                let resources = known(output.facts.remove(RESOURCES));
                let templates = known(output.facts.remove(TEMPLATES));
                let list = ResourceList { resources, templates };
                all.push(ServerResources { servers, server, list });
            }
        }
        all
    }

    /// Lists or reads resources, as far as rules permit.
    async fn run_resource_tool(
        &self,
        servers: &Servers,
        name: &str,
        args: Value,
        client: Arc<dyn ClientIo>,
    ) -> ToolOutput {
        // There is no request whose progress could be reported.
        let (progress, _) = mpsc::channel(1);
        let cancel = CancellationToken::new();
        let call = Call { name: name.to_owned(), args, cancel, progress, client };
        self.perform(servers.raw_resource_tools().0, call).await
    }

    fn warn_once(&self, server: &str, output: &ToolOutput) {
        let mut warned = lock(&self.backend.warned);
        if warned.insert(server.to_owned()) {
            let why = output.for_model();
            let frontend = self.backend.host.frontend();
            frontend.warn(&format!("resources of MCP server `{server}` are not offered: {why}"));
            frontend.hint(&format!(
                "`permissions.allow: [{LIST_RESOURCES}, {READ_RESOURCE}]` lets them be"
            ));
        }
    }
}

/// The items of a list that fit the protocol.
fn known<T: serde::de::DeserializeOwned>(list: Option<Value>) -> Vec<T> {
    let Some(Value::Array(items)) = list else { return Vec::new() };
    items.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect()
}

/// Returns true if a URI fits a template, with some text for each expression in braces.
fn matches_template(template: &str, uri: &str) -> bool {
    let Some((literal, rest)) = template.split_once('{') else { return template == uri };
    let Some(uri) = uri.strip_prefix(literal) else { return false };
    let template = rest.split_once('}').map_or("", |(_, after)| after);
    let starts = uri.char_indices().map(|(at, _)| at).chain([uri.len()]).skip(1);
    starts.into_iter().any(|start| matches_template(template, &uri[start..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uri_matches_a_template_whose_expressions_are_filled() {
        let fits = matches_template;
        assert!(fits("test://{id}/data", "test://1/data"));
        assert!(fits("a:{x}/{y}", "a:1/2") && fits("a:{+path}", "a:b/c"));
        assert!(!fits("test://{id}/data", "test:///data") && !fits("a:{x}", "b:1"));
        assert!(fits("plain", "plain") && !fits("plain", "plainer"));
        assert!(!fits("a:{x}/{y}", "a:1/") && fits("é{x}ü", "éüü"));
    }
}
