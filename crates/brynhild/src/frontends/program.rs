//! A conversation with a program: it sends inputs as lines of JSON, and reads the events.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;

use assemble::exit::{Exit, Problem};
use assemble::signals::Signals;
use contract::event::Event;
use contract::id::SessionId;
use line_ui::turn::Conversation;
use line_ui::verdict::Verdict;

use crate::frontends::View;

/// Passes inputs on and shows events until the inputs end and the work is done. `prompt` returns the
/// text that a prompt stands for.
pub(crate) async fn converse(
    Conversation { events, inputs }: Conversation<'_>,
    session: &SessionId,
    prompt: impl AsyncFn(String) -> Result<String, Problem>,
    view: &mut dyn View,
) -> io::Result<Exit> {
    let (mut signals, verdict) = (Signals::new()?, RefCell::new(Verdict::new(false)));
    let prompt = async |text| {
        prompt(text).await.map_err(|problem: Problem| (problem.message(), problem.hint))
    };
    let show = |batch: &[Arc<Event>]| {
        for event in batch {
            verdict.borrow_mut().take(event);
            view.event(event)?;
        }
        view.flush()
    };
    let signal = async || {
        let exit = signals.next().await;
        verdict.borrow_mut().interrupt(exit)
    };
    let is_misused =
        line_ui::lines::converse((events, inputs), session, prompt, show, signal).await?;
    let verdict = verdict.borrow();
    let has_result = verdict.outcome.is_some() || verdict.exit().is_signal();
    Ok(if is_misused {
        Exit::Misuse
    } else if has_result {
        verdict.exit()
    } else {
        Exit::Done
    })
}
