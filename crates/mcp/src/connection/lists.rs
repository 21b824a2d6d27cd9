//! The lists of a server, page by page, up to a limit.

use rmcp::model::{
    ClientRequest, CustomResult, ListToolsRequest, PaginatedRequestParams, Prompt, Resource,
    ResourceTemplate, ServerResult, ToolAnnotations,
};
use rmcp::service::Peer;
use rmcp::{RoleClient, ServiceError};
use serde_json::{Map, Value};

use crate::catalog::{ToolEntry, ToolHints};

/// Upper bound on the items of a list.
const MAX_ITEMS: usize = 5000;
/// Upper bound on the pages of a list.
const MAX_PAGES: usize = 200;

/// All pages of a list, up to a limit.
macro_rules! all {
    ($peer:expr, $list:ident, $field:ident) => {{
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let params = cursor
                .take()
                .map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let page = $peer.$list(params).await?;
            items.extend(page.$field);
            cursor = page.next_cursor;
            if cursor.is_none() || items.len() >= MAX_ITEMS {
                break;
            }
        }
        items.truncate(MAX_ITEMS);
        items
    }};
}

/// The tools, and messages about those that are left out. A list that does not follow the protocol
/// counts as far as it can be understood.
pub(super) async fn all_tools(
    peer: &Peer<RoleClient>,
) -> Result<(Vec<ToolEntry>, Vec<String>), ServiceError> {
    let (mut tools, mut left_out) = (Vec::new(), Vec::new());
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
        let page = match peer.send_request(request).await? {
            ServerResult::CustomResult(CustomResult(page)) => page,
            ServerResult::ListToolsResult(page) => {
                serde_json::to_value(page).map_err(|_| ServiceError::UnexpectedResponse)?
            }
            _ => return Err(ServiceError::UnexpectedResponse),
        };
        let listed = page.get("tools").and_then(Value::as_array);
        for (index, entry) in listed.ok_or(ServiceError::UnexpectedResponse)?.iter().enumerate() {
            match tool(entry) {
                Some(tool) => tools.push(tool),
                None => left_out.push(format!("entry {index} of its tools has no name")),
            }
        }
        cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        if cursor.is_none() || tools.len() >= MAX_ITEMS {
            break;
        }
    }
    tools.truncate(MAX_ITEMS);
    Ok((tools, left_out))
}

/// A tool with the valid parts of its entry. None if it has no name.
fn tool(entry: &Value) -> Option<ToolEntry> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let name = text("name").filter(|name| !name.trim().is_empty())?;
    let hints = entry.get("annotations").cloned().map(serde_json::from_value::<ToolAnnotations>);
    let hints = hints.and_then(Result::ok).unwrap_or_default();
    let schema = entry.get("inputSchema").and_then(Value::as_object).cloned();
    Some(ToolEntry {
        name,
        title: text("title").or(hints.title),
        description: text("description").unwrap_or_default(),
        input_schema: schema
            .unwrap_or_else(|| Map::from_iter([("type".to_owned(), "object".into())])),
        hints: ToolHints {
            read_only: hints.read_only_hint,
            destructive: hints.destructive_hint,
            idempotent: hints.idempotent_hint,
            open_world: hints.open_world_hint,
        },
    })
}

pub(super) async fn all_prompts(peer: &Peer<RoleClient>) -> Result<Vec<Prompt>, ServiceError> {
    Ok(all!(peer, list_prompts, prompts))
}

pub(super) async fn all_resources(peer: &Peer<RoleClient>) -> Result<Vec<Resource>, ServiceError> {
    Ok(all!(peer, list_resources, resources))
}

pub(super) async fn all_templates(
    peer: &Peer<RoleClient>,
) -> Result<Vec<ResourceTemplate>, ServiceError> {
    Ok(all!(peer, list_resource_templates, resource_templates))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn invalid_parts_of_an_entry_are_dropped() {
        let any = tool(&json!({"name": "n", "inputSchema": {"type": "object"}})).unwrap();
        for odd in [
            json!({"name": "n"}),
            json!({"name": "n", "inputSchema": null, "title": 5}),
            json!({"name": "n", "annotations": {"readOnlyHint": "yes"}, "icons": [{"src": 5}]}),
            json!({"name": "n", "execution": {"taskSupport": "weird"}, "outputSchema": 1}),
        ] {
            assert_eq!(tool(&odd).as_ref(), Some(&any), "{odd}");
        }
        let whole = json!({"name": "n", "description": "d", "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true, "title": "t"}});
        let whole = tool(&whole).unwrap();
        assert_eq!((whole.description.as_str(), whole.title.as_deref()), ("d", Some("t")));
        assert_eq!(whole.hints.read_only, Some(true));
        assert!(tool(&json!({"description": "d"})).is_none());
        assert!(tool(&json!({"name": " "})).is_none() && tool(&json!(5)).is_none());
    }
}
