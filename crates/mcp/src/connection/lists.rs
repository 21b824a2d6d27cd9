//! The lists of a server, page by page, up to a limit.

use rmcp::model::{
    ClientRequest, CustomResult, ListToolsRequest, PaginatedRequestParams, Prompt, Resource,
    ResourceTemplate, ServerResult, Tool, ToolAnnotations,
};
use rmcp::service::Peer;
use rmcp::{RoleClient, ServiceError};
use serde_json::{Value, json};

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

/// The tools, and messages about those that are left out.
pub(super) async fn all_tools(
    peer: &Peer<RoleClient>,
) -> Result<(Vec<Tool>, Vec<String>), ServiceError> {
    let list = async || -> Result<Vec<Tool>, ServiceError> { Ok(all!(peer, list_tools, tools)) };
    let (mut tools, mut left_out) = match list().await {
        Ok(tools) => (tools, Vec::new()),
        Err(ServiceError::UnexpectedResponse) => tools_of_invalid_list(peer).await?,
        Err(error) => return Err(error),
    };
    let count = tools.len();
    tools.retain(|tool| !tool.name.trim().is_empty());
    if tools.len() < count {
        left_out.push("a tool without a name is left out".to_owned());
    }
    Ok((tools, left_out))
}

/// The tools of a list that does not follow the protocol, one by one.
async fn tools_of_invalid_list(
    peer: &Peer<RoleClient>,
) -> Result<(Vec<Tool>, Vec<String>), ServiceError> {
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
            match repaired(entry) {
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
fn repaired(entry: &Value) -> Option<Tool> {
    let name = entry.get("name").and_then(Value::as_str).filter(|name| !name.trim().is_empty())?;
    let schema = entry.get("inputSchema").filter(|schema| schema.is_object()).cloned();
    let schema = schema.unwrap_or_else(|| json!({"type": "object"}));
    let mut valid = json!({"name": name, "inputSchema": schema});
    for key in ["title", "description"] {
        if let Some(text) = entry.get(key).filter(|text| text.is_string()) {
            valid[key] = text.clone();
        }
    }
    if let Some(hints) = entry
        .get("annotations")
        .filter(|hints| serde_json::from_value::<ToolAnnotations>((*hints).clone()).is_ok())
    {
        valid["annotations"] = hints.clone();
    }
    serde_json::from_value(valid).ok()
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
    use super::*;

    #[test]
    fn valid_parts_of_an_entry_are_kept() {
        let made = |entry: Value| repaired(&entry).map(|tool| serde_json::to_value(tool).unwrap());
        let any = json!({"name": "n", "inputSchema": {"type": "object"}});
        for odd in [
            json!({"name": "n"}),
            json!({"name": "n", "inputSchema": null, "title": 5}),
            json!({"name": "n", "annotations": {"readOnlyHint": "yes"}, "icons": [{"src": 5}]}),
            json!({"name": "n", "execution": {"taskSupport": "weird"}, "outputSchema": 1}),
        ] {
            assert_eq!(made(odd.clone()), Some(any.clone()), "{odd}");
        }
        let whole = json!({"name": "n", "description": "d", "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true}});
        assert_eq!(made(whole.clone()), Some(whole));
        assert!(
            made(json!({"description": "d"})).is_none() && made(json!({"name": " "})).is_none()
        );
        assert!(made(json!(5)).is_none());
    }
}
