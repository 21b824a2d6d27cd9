//! What other agents can read: our skills, and the resources of our servers. A look at a server's is a
//! call like any other; what rules do not let be listed is not offered.

use std::sync::Arc;

use ::mcp::Watch;
use ::mcp::resources::{CONTENTS, LIST, READ, RESOURCES, TEMPLATES};
use ::mcp::serve::{Alone, Asker, Call, Resources};
use contract::tool::ToolOutput;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::visit::Request;
use crate::gaps::{self, Gap};
use crate::mcp::Mcp;
use crate::output;

/// The resources of one server.
struct Listed {
    mcp: Arc<Mcp>,
    server: String,
    resources: Resources,
}

impl Listed {
    /// Whether the server has something at an address.
    fn has(&self, uri: &str) -> bool {
        let text = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
        let is_it = |value: &Value| text(value, "uri").is_some_and(|it| it == uri);
        let fits = |value: &Value| text(value, "uriTemplate").is_some_and(|it| fits(&it, uri));
        self.resources.resources.iter().any(is_it) || self.resources.templates.iter().any(fits)
    }
}

impl Request<'_> {
    /// All that can be read.
    pub(super) async fn readable(&self) -> Resources {
        let mut all = self.moment.offered.texts();
        for Listed { resources, .. } in self.listed().await {
            all.resources.extend(resources.resources);
            all.templates.extend(resources.templates);
        }
        all
    }

    /// What something holds that can be read.
    pub(super) async fn held(
        &self,
        uri: &str,
        asker: Arc<dyn Asker>,
    ) -> Result<Option<Value>, String> {
        if let Some(text) = self.moment.offered.text(uri) {
            return Ok(Some(json!([{"uri": uri, "mimeType": "text/markdown", "text": text}])));
        }
        let Some(found) = self.found(uri).await else { return Ok(None) };
        let args = json!({"server": found.server, "uri": uri});
        let mut read = self.looked(&found.mcp, READ, args, asker).await;
        match read.facts.remove(CONTENTS).filter(|_| read.success) {
            Some(contents) => Ok(Some(contents)),
            None => Err(read.for_model()),
        }
    }

    /// Watches something that can be read, or no longer.
    pub(super) async fn watched(&self, uri: &str, watch: Watch) -> Result<(), String> {
        if self.moment.offered.text(uri).is_some() {
            return Ok(());
        }
        let found = self.found(uri).await.ok_or_else(|| format!("there is no resource {uri}"))?;
        let watched = found.mcp.servers.watch(&found.server, uri, watch).await;
        watched.map_err(|failure| failure.to_string())
    }

    async fn found(&self, uri: &str) -> Option<Listed> {
        self.listed().await.into_iter().find(|listed| listed.has(uri))
    }

    async fn listed(&self) -> Vec<Listed> {
        let mut all = Vec::new();
        for mcp in &self.moment.servers {
            for server in mcp.servers.resource_tools().1 {
                let args = json!({"server": server});
                let mut list = self.looked(mcp, LIST, args, Arc::new(Alone)).await;
                if !list.success {
                    self.tell_once(&server, &list);
                    continue;
                }
                let mut of = |fact: &str| match list.facts.remove(fact) {
                    Some(Value::Array(items)) => items,
                    _ => Vec::new(),
                };
                let resources = Resources { resources: of(RESOURCES), templates: of(TEMPLATES) };
                all.push(Listed { mcp: Arc::clone(mcp), server, resources });
            }
        }
        all
    }

    /// Lists or reads resources, as far as rules let it.
    async fn looked(
        &self,
        mcp: &Mcp,
        name: &str,
        args: Value,
        asker: Arc<dyn Asker>,
    ) -> ToolOutput {
        // Nobody hears the lines of a look.
        let (progress, _) = mpsc::channel(1);
        let cancel = CancellationToken::new();
        let call = Call { name: name.to_owned(), args, cancel, progress, asker };
        self.perform(mcp.servers.resource_tools().0, call).await
    }

    fn tell_once(&self, server: &str, why: &ToolOutput) {
        let mut told = self.guarded.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if told.insert(server.to_owned()) {
            let why = why.for_model();
            output::warning(&format!("resources of MCP server `{server}` are not offered: {why}"));
            output::hint(&format!("`permissions.allow: [{LIST}, {READ}]` lets them be"));
        }
    }
}

/// Whether an address has the form of a template, whose blanks stand in braces.
fn fits(template: &str, uri: &str) -> bool {
    let parts = template.split('{').map(|part| part.rsplit('}').next().unwrap_or_default());
    gaps::meets(parts, uri, Gap::Filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_fits_a_template_whose_blanks_are_filled() {
        assert!(fits("test://{id}/data", "test://1/data"));
        assert!(fits("a:{x}/{y}", "a:1/2") && fits("a:{+path}", "a:b/c"));
        assert!(!fits("test://{id}/data", "test:///data") && !fits("a:{x}", "b:1"));
        assert!(fits("plain", "plain") && !fits("plain", "plainer"));
        assert!(!fits("a:{x}/{y}", "a:1/"));
    }
}
