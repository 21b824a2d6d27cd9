//! Lists of servers, page by page, as far as they are sensible.

use rmcp::model::{PaginatedRequestParams, Prompt, Resource, ResourceTemplate, Tool};
use rmcp::service::Peer;
use rmcp::{RoleClient, ServiceError};

/// The most that is taken of one list.
const MOST: usize = 5000;
/// The most pages that a list may have.
const PAGES: usize = 200;

/// All pages of a list, up to a limit.
macro_rules! all {
    ($peer:expr, $list:ident, $field:ident) => {{
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES {
            let params = cursor
                .take()
                .map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let page = $peer.$list(params).await?;
            items.extend(page.$field);
            cursor = page.next_cursor;
            if cursor.is_none() || items.len() >= MOST {
                break;
            }
        }
        items.truncate(MOST);
        items
    }};
}

pub(super) async fn all_tools(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, ServiceError> {
    Ok(all!(peer, list_tools, tools))
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
