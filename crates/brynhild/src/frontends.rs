//! Front ends: each shows the same events. None knows a particular tool or provider.

pub(crate) mod export;
pub(crate) mod layout;
pub(crate) mod plugin_switch;
pub(crate) mod program;
pub(crate) mod slash;
pub(crate) mod tui;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::tui::question;
use ::tui::theme::Role;
use agent::conversation::Conversation;
use assemble::output;
use assemble::output::style::{self, Palette};
use assemble::run_context::RunContext;
use assemble::signals::Signals;
use async_trait::async_trait;
use contract::event::{Answer, Event, EventKind, Input, Outcome};
use line_ui::quiet::Quiet;
use line_ui::steering::Steering;
use line_ui::turn;
use line_ui::verdict::Verdict;
use line_ui::view::Questions;
pub(crate) use line_ui::view::View;

struct LineQuestions {
    project: Option<PathBuf>,
    palette: Palette,
}

#[async_trait(?Send)]
impl Questions for LineQuestions {
    async fn ask(&self, asked: &[Arc<Event>]) -> io::Result<Vec<Answer>> {
        let paint = |role, text: &str| {
            let style = match role {
                Role::Caution => self.palette.caution,
                Role::Soft => self.palette.soft,
                Role::Heading => self.palette.strong,
                Role::Code => self.palette.code,
                _ => anstyle::Style::new(),
            };
            style::paint(style, text)
        };
        question::ask(asked, self.project.as_deref(), &paint).await
    }
}

pub(crate) fn questions(run: &RunContext) -> Option<Box<dyn Questions>> {
    let project = run.root().ok().map(Path::to_owned);
    run.can_ask().then(|| Box::new(LineQuestions { project, palette: run.palette() }) as Box<_>)
}

/// A view of warnings and questions only. Nobody is asked if the output is JSON.
pub(crate) fn quiet(run: &RunContext) -> Quiet {
    Quiet::new(questions(run).filter(|_| !run.wants_json()), ::mcp::approval_hint)
}

/// Sends `input` into a conversation, shows what happens until the work is done, and closes it.
pub(crate) async fn run(
    mut conversation: Conversation,
    input: Input,
    view: &mut dyn View,
) -> io::Result<Verdict> {
    let shown = show(&mut conversation, Some(input), view, None).await;
    let shown = shown.and_then(|verdict| {
        view.close(&verdict)?;
        view.flush().map(|()| verdict)
    });
    let has_failed = !shown.as_ref().is_ok_and(|verdict| !verdict.is_failure());
    part(conversation, view, has_failed).await;
    shown
}

/// Closes a conversation. Warns if the end could not be logged, unless the log has failed before.
pub(crate) async fn part(conversation: Conversation, view: &mut dyn View, has_failed: bool) {
    for event in conversation.finish().await {
        view.after(&event);
        if let EventKind::TurnFinished { outcome: Outcome::Failed { error, .. }, .. } = &event.kind
            && !has_failed
        {
            output::warning(&format!("the session's end is not marked: {error}"));
        }
    }
}

/// Sends `input`, or waits for a turn that began by itself, and shows the events until the work is
/// done. Sends lines that are typed during the turn.
pub(crate) async fn show(
    conversation: &mut Conversation,
    input: Option<Input>,
    view: &mut dyn View,
    steering: Option<&mut Steering>,
) -> io::Result<Verdict> {
    // A typed line is shown when it is complete, not in the middle of the answer.
    let _echo = steering.is_some().then(::tui::line::Echo::off);
    let Conversation { events, inputs, .. } = conversation;
    let ends = turn::Conversation { events, inputs };
    turn::show(ends, input, view, steering, &mut Signals::new()?).await
}
