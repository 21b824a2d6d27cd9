//! Our side of a connection: the requests and notifications of a server.
#![expect(deprecated, reason = "roots and sampling are deprecated, and most servers use them")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use contract::text::visible;
use reqwest::Url;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode,
    FormElicitationCapability, Implementation, ListRootsResult, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProgressToken, ResourceUpdatedNotificationParam, Role, Root,
    RootsCapabilities, SamplingCapability, SamplingMessage, SamplingMessageContentBlock,
    UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use rmcp::{ClientHandler, ErrorData};
use serde_json::Value;
use tokio::sync::{broadcast, mpsc};

use crate::mutex::lock;
use crate::question::{Question, QuestionAnswer, SamplingRequest, Wanted};
use crate::user_prompt::UserPrompt;

/// The receivers of progress, by call.
#[derive(Default)]
pub(crate) struct ProgressRoutes(Mutex<HashMap<ProgressToken, mpsc::Sender<String>>>);

impl ProgressRoutes {
    /// Routes the progress of a call until the result is dropped.
    pub(crate) fn open(
        self: &Arc<Self>,
        token: ProgressToken,
        to: mpsc::Sender<String>,
    ) -> OpenRoute {
        lock(&self.0).insert(token.clone(), to);
        OpenRoute { routes: Arc::clone(self), token }
    }
}

/// A route that closes when dropped.
pub(crate) struct OpenRoute {
    routes: Arc<ProgressRoutes>,
    token: ProgressToken,
}

impl Drop for OpenRoute {
    fn drop(&mut self) {
        lock(&self.routes.0).remove(&self.token);
    }
}

/// Handles the requests and notifications of one server.
pub(crate) struct Handler {
    pub(crate) server: String,
    pub(crate) workspace: PathBuf,
    pub(crate) user: Arc<UserPrompt>,
    pub(crate) routes: Arc<ProgressRoutes>,
    /// Set when the server says that what it offers has changed.
    pub(crate) is_stale: Arc<AtomicBool>,
    /// Takes the URIs of resources that have changed, if clients are served.
    pub(crate) updates: Option<broadcast::Sender<String>>,
}

/// Our capabilities: the same in every run, even if nobody can answer, since servers choose by them
/// what they offer.
fn capabilities() -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    capabilities.roots = Some(RootsCapabilities::default());
    capabilities.sampling = Some(SamplingCapability::default());
    let elicitation = ElicitationCapability::new()
        .with_form(FormElicitationCapability::default())
        .with_url(UrlElicitationCapability::default());
    capabilities.elicitation = Some(elicitation);
    capabilities
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("brynhild", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities(), us)
            .with_protocol_version(rmcp::model::ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let name = self.workspace.file_name().map(|name| name.to_string_lossy().into_owned());
        let root = Root::new(file_uri(&self.workspace));
        Ok(ListRootsResult::new(vec![match name {
            Some(name) => root.with_name(name),
            None => root,
        }]))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let messages = params.messages.iter().map(|message| {
            let role = match message.role {
                Role::Assistant => "assistant",
                Role::User => "user",
            };
            (role.to_owned(), message_text(message))
        });
        let request = SamplingRequest {
            server: self.server.clone(),
            system: params.system_prompt.clone(),
            messages: messages.collect(),
            max_tokens: params.max_tokens,
        };
        let sampled = self.user.sample(request).await;
        let sampled = sampled.map_err(|why| ErrorData::new(ErrorCode(-1), why, None))?;
        let message = SamplingMessage::assistant_text(sampled.text);
        Ok(CreateMessageResult::new(message, sampled.model)
            .with_stop_reason(CreateMessageResult::STOP_REASON_END_TURN))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let (message, wanted) = match request {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                (message, Wanted::Form(serde_json::to_value(requested_schema).unwrap_or_default()))
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                (message, Wanted::Visit(url))
            }
            _ => return Ok(ElicitResult::new(ElicitationAction::Decline)),
        };
        let question = Question { server: self.server.clone(), message, wanted };
        let is_form = matches!(question.wanted, Wanted::Form(_));
        Ok(match self.user.answer(question).await {
            QuestionAnswer::Accept(fields) if is_form => {
                ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(fields))
            }
            QuestionAnswer::Accept(_) => ElicitResult::new(ElicitationAction::Accept),
            QuestionAnswer::Decline => ElicitResult::new(ElicitationAction::Decline),
            QuestionAnswer::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let text = match (&params.message, params.total) {
            (Some(message), _) => visible(message).into_owned(),
            (None, Some(total)) => format!("{} of {total}", params.progress),
            (None, None) => params.progress.to_string(),
        };
        let routes = lock(&self.routes.0);
        if let Some(route) = routes.get(&params.progress_token) {
            // A listener that is behind can do without a line.
            let _ = route.try_send(text);
        }
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let routes = lock(&self.routes.0);
        // A log message names no call; if one runs alone, the message is about that.
        let mut open = routes.values();
        if let (Some(route), None) = (open.next(), open.next()) {
            let text = params.data.as_str().map_or_else(|| params.data.to_string(), str::to_owned);
            // A listener that is behind can do without a line.
            let _ = route.try_send(visible(&text).into_owned());
        }
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        if let Some(updates) = &self.updates {
            // Nobody listens where nobody has subscribed.
            let _ = updates.send(params.uri);
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.is_stale.store(true, Ordering::Relaxed);
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.is_stale.store(true, Ordering::Relaxed);
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.is_stale.store(true, Ordering::Relaxed);
    }
}

/// The text of a message; other content is named.
pub(crate) fn message_text(message: &SamplingMessage) -> String {
    let parts = message.content.iter().map(|block| match block {
        SamplingMessageContentBlock::Text(text) => text.text.clone(),
        SamplingMessageContentBlock::Image(image) => format!("[image: {}]", image.mime_type),
        SamplingMessageContentBlock::Audio(audio) => format!("[audio: {}]", audio.mime_type),
        _ => "[something that is not text]".to_owned(),
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// A path as a `file:` URI.
fn file_uri(path: &Path) -> String {
    Url::from_file_path(path).map(String::from).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_becomes_a_file_uri() {
        assert_eq!(file_uri(Path::new("/a b/ü#")), "file:///a%20b/%C3%BC%23");
    }
}
