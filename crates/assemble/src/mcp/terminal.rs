//! The terminal, for the messages and questions of MCP servers.

use ::mcp::frontend::{DialogInput, Frontend};
use ::tui::host::ReplyKind;
use ::tui::{inquiries, question};
use async_trait::async_trait;
use line_ui::status_line::StatusLinePause;

use crate::output;
use crate::run_context::RunContext;

/// The terminal as the front end of servers.
pub struct Terminal {
    has_terminal: bool,
}

impl Terminal {
    pub fn new(run: &RunContext) -> Self {
        Self { has_terminal: run.has_reader() }
    }
}

#[async_trait]
impl Frontend for Terminal {
    fn warn(&self, text: &str) {
        output::warning(text);
    }

    fn hint(&self, text: &str) {
        output::hint(text);
    }

    fn is_full_screen(&self) -> bool {
        inquiries::is_full_screen()
    }

    fn has_terminal(&self) -> bool {
        self.has_terminal
    }

    fn pause_animation(&self) -> Box<dyn Send> {
        Box::new(StatusLinePause::new())
    }

    async fn dialog(&self, title: &str, body: &str, input: DialogInput) -> Option<String> {
        let wanted = match input {
            DialogInput::Consent(label) => ReplyKind::Agreement(label),
            DialogInput::Choice { choices, default } => ReplyKind::One { choices, usual: default },
            DialogInput::Text(label) => ReplyKind::Text(label),
        };
        inquiries::ask_on_screen(title, body, wanted).await
    }

    async fn line(&self, text: &str, prompt: &str) -> Option<String> {
        question::show(text).ok()?;
        question::line(prompt).await.ok().flatten()
    }
}
