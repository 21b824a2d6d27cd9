//! `search_documents`: finds chunks of the documents of a role. It reads the role's store alone, so
//! it needs no permission.

use std::sync::Arc;

use async_trait::async_trait;
use contract::tool::{Risk, Tool};
use serde_json::{Value, json};

use super::function::{self, Function};
use super::memory::count;
use super::{About, ToolHost, text};
use crate::documents::{DocumentStore, Query};
use crate::role::SearchStrategy;

pub fn search_documents(documents: DocumentStore, tool_host: &ToolHost) -> Arc<dyn Tool> {
    let about = About {
        name: "search_documents",
        description: "Search the documents of this agent.",
        kind: "documents",
        risk: Risk::ReadOnly,
        properties: json!({
            "query": {"type": "string", "description": "A question, or words to search for"},
            "top_k": {"type": "integer", "minimum": 1, "default": 5},
            "source": {
                "type": ["string", "null"], "default": null,
                "description": "A source, or a glob of sources such as docs/*.md",
            },
            "strategy": {
                "type": ["string", "null"], "default": null,
                "description": "`vector` or `hybrid`, if the documents have vectors",
            },
        }),
        required: &["query"],
    };
    function::tool(Search(Arc::new(documents)), about.spec(tool_host))
}

struct Search(Arc<DocumentStore>);

#[async_trait]
impl Function for Search {
    async fn call(&self, args: &Value) -> Result<String, String> {
        let named = |key: &str| Some(text(args, key)).filter(|it| !it.is_empty());
        let strategy = named("strategy").map(SearchStrategy::parse).transpose();
        let query = Query {
            words: text(args, "query").to_owned(),
            source: named("source").map(str::to_owned),
            strategy: strategy.map_err(|what| format!("Error: strategy: {what}"))?,
            limit: count(args, "top_k", 5),
        };
        let documents = Arc::clone(&self.0);
        if documents.is_empty()? {
            let none = "No documents have been ingested yet. Run 'brynhild ingest' first.";
            return Ok(none.to_owned());
        }
        let vector = documents.vector(&query).await.map_err(|what| format!("Error: {what}"))?;
        function::blocking(move || {
            let hits = documents.search(&query, vector.as_deref())?;
            if hits.is_empty() {
                return Ok(String::from("No relevant documents found."));
            }
            let hits = hits.iter().map(|(hit, score)| {
                format!("[Source: {} | Score: {score:.3}]\n{}", hit.source, hit.text)
            });
            Ok(hits.collect::<Vec<_>>().join("\n\n---\n\n"))
        })
        .await
    }
}
