//! Events into blocks. Every text is made safe here, once.

use std::time::Duration;

use contract::event::{Event, Level, Outcome, PERSON, Piece, What, Within};
use contract::id::CallId;
use contract::message::{Part, Reply};
use contract::snapshots::Direction;

use super::tool::Tool;
use super::{Block, Kind, Transcript};
use crate::markdown::Markdown;
use crate::text::{clean, one_line};

impl Transcript {
    /// Folds an event in: here, or in the conversation that a call of this one holds.
    pub(crate) fn take(&mut self, event: &Event) {
        self.at = event.at.0.as_millisecond();
        match &event.within {
            None => self.take_own(&event.what),
            Some(within) => {
                self.take_within(within, &event.what);
            }
        }
    }

    /// Folds in what happened in a conversation that a call holds. Says whether the call is known.
    fn take_within(&mut self, within: &Within, what: &What) -> bool {
        if let Some(at) = self.running.get(&within.call).copied() {
            let now = self.at;
            if let Some(block) = self.blocks.get_mut(at)
                && let Kind::Tool(tool) = &mut block.kind
            {
                let inner = tool.held(&one_line(&within.agent));
                inner.at = now;
                inner.take_own(what);
                block.touch();
            }
            return true;
        }
        // Further down: a call of a conversation that a call holds.
        for at in self.running.values() {
            if let Some(block) = self.blocks.get_mut(*at)
                && let Kind::Tool(tool) = &mut block.kind
                && let Some(inner) = tool.inner_mut()
                && inner.take_within(within, what)
            {
                block.touch();
                return true;
            }
        }
        false
    }

    fn take_own(&mut self, what: &What) {
        match what {
            What::TurnStarted { prompt } => {
                self.reply = None;
                self.push(Kind::Person(clean(prompt)));
            }
            What::Injected { origin, text } => self.injected(origin, text),
            What::RequestSent { .. } => self.reply = Some(self.blocks.len()),
            What::ReplyDelta { piece } => self.piece(piece),
            What::ReplyFinished { reply, .. } => self.finished(reply),
            What::Notice { level, text, hint } => {
                self.notice(*level, text, hint.as_deref());
            }
            What::Compacted { summary, dropped, kept, .. } => {
                let text = match summary {
                    None => "the history was cleared".to_owned(),
                    Some(_) => {
                        format!(
                            "the history was shortened: {dropped} messages dropped, {kept} kept"
                        )
                    }
                };
                self.push(Kind::Mark(text));
                if let Some(summary) = summary {
                    let origin = "the summary".to_owned();
                    self.push(Kind::Told { origin, text: clean(summary) });
                }
            }
            What::FilesRestored { direction, count, .. } => {
                let word = match direction {
                    Direction::Undo => "taken back",
                    Direction::Redo => "made again",
                };
                self.push(Kind::Mark(format!("changes of {count} files were {word}")));
            }
            What::TurnFinished { outcome, .. } => self.ended(outcome),
            _ => self.take_call(what),
        }
    }

    /// Folds in what happened to a call.
    fn take_call(&mut self, what: &What) {
        match what {
            What::ToolCalled { call } => {
                self.end_thinking();
                let source = self.sources.get(&call.name).cloned();
                let tool = Tool::called(&call.name, &call.args, source);
                let at = self.push(Kind::Tool(Box::new(tool)));
                self.running.insert(call.id.clone(), at);
            }
            What::ToolJudged { call, source, args, actions, ruling } => {
                self.with_tool(call, |tool| {
                    if let Some(source) = source {
                        tool.source = Some(one_line(source));
                    }
                    tool.judged(args, actions, ruling);
                });
            }
            What::Asked { call, .. } => self.with_tool(call, Tool::asked),
            What::Answered { call, answer, rules } => {
                self.with_tool(call, |tool| tool.answered(answer, rules));
            }
            What::ToolProgress { call, text } => {
                self.with_tool(call, |tool| tool.progressed(text));
            }
            What::ToolFinished { call, outcome, output, duration_ms, .. } => {
                self.with_tool(call, |tool| tool.ended(*outcome, output, *duration_ms));
                self.running.remove(call);
            }
            _ => {}
        }
    }

    /// Tells the person something.
    pub(crate) fn notice(&mut self, level: Level, text: &str, hint: Option<&str>) {
        let hint = hint.map(clean);
        self.push(Kind::Notice { level, text: clean(text), hint });
    }

    fn injected(&mut self, origin: &str, text: &str) {
        let text = clean(text);
        if origin == PERSON {
            self.push(Kind::Person(text));
        } else {
            self.push(Kind::Told { origin: one_line(origin), text });
        }
    }

    fn with_tool(&mut self, call: &CallId, change: impl FnOnce(&mut Tool)) {
        let at = self.running.get(call).copied();
        let Some(block) = at.and_then(|at| self.blocks.get_mut(at)) else { return };
        if let Kind::Tool(tool) = &mut block.kind {
            change(tool);
            block.touch();
        }
    }

    fn piece(&mut self, piece: &Piece) {
        let start = *self.reply.get_or_insert(self.blocks.len());
        match piece {
            Piece::Text { text } => {
                self.end_thinking();
                let is_open = self.blocks.len() > start;
                match self.blocks.last_mut().filter(|_| is_open).map(|block| &mut block.kind) {
                    Some(Kind::Reply(markdown)) => markdown.push(&clean(text)),
                    _ if text.trim().is_empty() => {}
                    _ => {
                        let mut markdown = Markdown::default();
                        markdown.push(&clean(text));
                        self.push(Kind::Reply(Box::new(markdown)));
                    }
                }
            }
            Piece::Thinking { text } => {
                let is_open = self.blocks.len() > start;
                let last = self.blocks.last_mut().filter(|_| is_open);
                if let Some(block) = last
                    && let Kind::Thinking { text: so_far, is_open: true, .. } = &mut block.kind
                {
                    so_far.push_str(&clean(text));
                    block.touch();
                } else {
                    let since = self.at;
                    let text = clean(text);
                    self.push(Kind::Thinking { text, is_open: true, since, took: None });
                }
            }
            Piece::Call { .. } => self.end_thinking(),
            Piece::Restart => {
                // What was told meanwhile stays: why it broke off, and when it is asked for again.
                let is_void =
                    |block: &Block| matches!(block.kind, Kind::Reply(_) | Kind::Thinking { .. });
                let told = self.blocks.split_off(start.min(self.blocks.len()));
                self.blocks.extend(told.into_iter().filter(|block| !is_void(block)));
                self.reply = Some(self.blocks.len());
            }
        }
    }

    fn end_thinking(&mut self) {
        if let Some(block) = self.blocks.last_mut()
            && let Kind::Thinking { is_open, since, took, .. } = &mut block.kind
            && *is_open
        {
            *is_open = false;
            let milliseconds = u64::try_from(self.at - *since).unwrap_or(0);
            *took = Some(Duration::from_millis(milliseconds));
            block.touch();
        }
    }

    /// A reply is complete: what was streamed is replaced where it is not the same.
    fn finished(&mut self, reply: &Reply) {
        let start = self.reply.take().unwrap_or(self.blocks.len());
        let streamed: String = self.blocks[start.min(self.blocks.len())..]
            .iter()
            .filter_map(|block| match &block.kind {
                Kind::Reply(markdown) => Some(markdown.text()),
                _ => None,
            })
            .collect();
        self.end_thinking();
        let is_same = !streamed.is_empty() && streamed.trim() == clean(&reply.text()).trim();
        let is_silent = streamed.is_empty() && reply.text().trim().is_empty();
        let has_thought = self.blocks.len() > start || reply.thinking().is_empty();
        if is_same || (is_silent && has_thought) {
            for block in &mut self.blocks[start..] {
                if let Kind::Reply(markdown) = &mut block.kind {
                    markdown.finish();
                }
            }
            return;
        }
        self.blocks.truncate(start);
        for part in &reply.parts {
            match part {
                Part::Text { text } if !text.trim().is_empty() => {
                    let markdown = Markdown::complete(clean(text));
                    self.push(Kind::Reply(Box::new(markdown)));
                }
                Part::Thinking { text, .. } if !text.trim().is_empty() => {
                    let (since, took) = (self.at, Some(Duration::ZERO));
                    self.push(Kind::Thinking { text: clean(text), is_open: false, since, took });
                }
                Part::Text { .. } | Part::Thinking { .. } | Part::Call(_) => {}
            }
        }
    }

    fn ended(&mut self, outcome: &Outcome) {
        self.end_thinking();
        if let Some(start) = self.reply.take() {
            for block in self.blocks.iter_mut().skip(start) {
                if let Kind::Reply(markdown) = &mut block.kind {
                    markdown.finish();
                }
            }
        }
        match outcome {
            // A hook that stopped a prompt has been told of in a notice.
            Outcome::Answered { .. } | Outcome::Blocked { .. } => {}
            Outcome::Finished(finish) => {
                let text = format!("**{}**: {}", clean(&finish.status), clean(&finish.summary));
                let next = finish.next_steps.as_deref().map(clean);
                let text = match next {
                    Some(next) => format!("{text}\n\nNext: {next}"),
                    None => text,
                };
                self.push(Kind::Reply(Box::new(Markdown::complete(text))));
            }
            Outcome::Limited { limit } => {
                let hint = "raise it in the configuration or by a flag, then go on";
                self.notice(Level::Error, &format!("stopped: {limit} reached"), Some(hint));
            }
            Outcome::Stuck { why } => {
                self.notice(
                    Level::Error,
                    &format!("stopped: the model goes in circles: {why}"),
                    None,
                );
            }
            Outcome::Cancelled => {
                self.push(Kind::Mark("interrupted".to_owned()));
            }
            Outcome::Failed { error, hint } => self.notice(Level::Error, error, hint.as_deref()),
        }
    }
}
