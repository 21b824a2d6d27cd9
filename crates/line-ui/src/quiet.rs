//! Shows only questions and warnings of a run; the caller shows the result.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use contract::event::{Answer, Event, EventKind};

use crate::output;
use crate::view::{ApprovalHint, Questions, View, warn};

pub struct Quiet {
    questions: Option<Box<dyn Questions>>,
    approval_hint: ApprovalHint,
    /// The hint for the last call that needs approval.
    remedy: Option<String>,
}

impl Quiet {
    /// Without `questions` nobody can be asked.
    pub fn new(questions: Option<Box<dyn Questions>>, approval_hint: ApprovalHint) -> Self {
        Self { questions, approval_hint, remedy: None }
    }
}

#[async_trait(?Send)]
impl View for Quiet {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match &event.kind {
            EventKind::Notice { text, .. } => warn(event, text),
            EventKind::ToolJudged { source: Some(source), args, ruling, .. } => {
                self.remedy = (self.approval_hint)(ruling, source, args);
            }
            _ => {}
        }
        Ok(())
    }

    async fn ask(&mut self, asked: &[Arc<Event>]) -> io::Result<Vec<Answer>> {
        if let Some(questions) = &self.questions {
            return questions.ask(asked).await;
        }
        if let Some(remedy) = self.remedy.take() {
            output::hint(&remedy);
        }
        Ok(vec![Answer::Unavailable; asked.len()])
    }

    fn shows_calls_at_end(&self) -> bool {
        true
    }
}
