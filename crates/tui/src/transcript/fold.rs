//! Events into blocks. Every text is made safe here, once.

use std::time::Duration;

use contract::event::{
    Direction, Event, EventKind, Level, MessageOrigin, NoticeTopic, Outcome, Piece, Subconversation,
};
use contract::id::CallId;
use contract::message::{Part, Reply};

use super::tool::Tool;
use super::{Block, Kind, Transcript};
use crate::markdown::Markdown;
use crate::text::{clean, counted, one_line, prose};
use crate::user_command;

impl Transcript {
    /// Folds an event in: here, or in the conversation that a call of this one holds.
    pub(crate) fn take(&mut self, event: &Event) {
        self.at = event.at.0.as_millisecond();
        match &event.within {
            None => self.take_own(&event.kind),
            Some(within) => {
                self.take_within(within, &event.kind);
            }
        }
    }

    /// Folds in an event of a conversation that a call holds. Returns true if the call is known.
    fn take_within(&mut self, within: &Subconversation, what: &EventKind) -> bool {
        if let Some(at) = self.running.get(&within.call).copied() {
            let now = self.at;
            if let Some(block) = self.blocks.get_mut(at)
                && let Kind::Tool(tool) = &mut block.kind
            {
                let inner = tool.inner_with_agent(&one_line(&within.agent));
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

    fn take_own(&mut self, what: &EventKind) {
        match what {
            EventKind::TurnStarted { prompt } => {
                self.reply = None;
                self.push(Kind::Prompt(prose(prompt)));
            }
            EventKind::Injected { origin, text } => self.injected(origin, text),
            EventKind::RequestSent { .. } => self.reply = Some(self.blocks.len()),
            EventKind::ReplyDelta { piece } => self.piece(piece),
            EventKind::ReplyFinished { reply, .. } => self.finished(reply),
            EventKind::Notice { level, text, hint, topic: Some(NoticeTopic::Retry) } => {
                self.retried(*level, text, hint.as_deref());
            }
            EventKind::Notice { level, text, hint, .. } => {
                self.notice(*level, text, hint.as_deref());
            }
            EventKind::Compacted { summary, dropped, kept, .. } => {
                let text = if summary.is_some() {
                    let count = usize::try_from(*dropped).unwrap_or(usize::MAX);
                    let dropped = counted(count, "message", "messages");
                    format!("Conversation compacted: {dropped} summarized, {kept} kept")
                } else {
                    "Conversation cleared".to_owned()
                };
                self.push(Kind::Mark(text));
                if let Some(summary) = summary {
                    let title = "Summary given to the model".to_owned();
                    self.push(Kind::Injected { title, text: clean(summary) });
                }
            }
            EventKind::FilesRestored { direction, count, .. } => {
                let files = if *count == 1 { "file" } else { "files" };
                self.push(Kind::Mark(match direction {
                    Direction::Undo => format!("{count} {files} restored"),
                    Direction::Redo => format!("Redone: {count} {files}"),
                }));
            }
            EventKind::TurnFinished { outcome, .. } => self.ended(outcome),
            _ => self.take_call(what),
        }
    }

    fn take_call(&mut self, what: &EventKind) {
        match what {
            EventKind::ToolCalled { call } => {
                self.end_thinking();
                let source = self.sources.get(&call.name).cloned();
                let tool = Tool::called(&call.name, &call.args, source);
                let at = self.push(Kind::Tool(Box::new(tool)));
                self.running.insert(call.id.clone(), at);
            }
            EventKind::ToolJudged { call, source, args, actions, ruling } => {
                self.with_tool(call, |tool| {
                    if let Some(source) = source {
                        tool.source = Some(one_line(source));
                    }
                    tool.judged(args, actions, ruling);
                });
            }
            EventKind::Asked { call, .. } => self.with_tool(call, Tool::asked),
            EventKind::Answered { call, answer, rules, .. } => {
                self.with_tool(call, |tool| tool.answered(answer, rules));
            }
            EventKind::ToolProgress { call, text } => {
                self.with_tool(call, |tool| tool.progressed(text));
            }
            EventKind::ToolFinished { call, outcome, output, duration_ms, .. } => {
                self.with_tool(call, |tool| tool.ended(*outcome, output, *duration_ms));
                self.running.remove(call);
            }
            _ => {}
        }
    }

    pub(crate) fn notice(&mut self, level: Level, text: &str, hint: Option<&str>) {
        let (text, hint) = (clean(text), hint.map(clean));
        self.push(Kind::Notice { level, text, hint, is_retry: false });
    }

    /// Shows a repeated request: in place of the notice before it if all but numbers is equal.
    fn retried(&mut self, level: Level, text: &str, hint: Option<&str>) {
        let bare = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
        let (text, hint) = (clean(text), hint.map(clean));
        if let Some(block) = self.blocks.last_mut()
            && let Kind::Notice { text: before, is_retry: true, .. } = &block.kind
            && bare(before) == bare(&text)
        {
            block.kind = Kind::Notice { level, text, hint, is_retry: true };
            block.touch();
            return;
        }
        self.push(Kind::Notice { level, text, hint, is_retry: true });
    }

    fn injected(&mut self, origin: &MessageOrigin, text: &str) {
        let text = prose(text);
        if *origin == MessageOrigin::User {
            self.push(Kind::Prompt(text));
        } else if !user_command::is_result(origin) {
            let title = format!("Message from {} to the model", one_line(origin.as_str()));
            self.push(Kind::Injected { title, text });
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
                match self.arriving().map(|block| &mut block.kind) {
                    Some(Kind::Reply(markdown)) => {
                        for part in markdown.extend(&prose(text)) {
                            self.push(Kind::Reply(Box::new(part)));
                        }
                    }
                    _ if text.trim().is_empty() => {}
                    _ => self.reply(&prose(text), Markdown::default()),
                }
            }
            Piece::Thinking { text } => {
                if let Some(block) = self.arriving()
                    && let Kind::Thinking { text: so_far, is_open: true, .. } = &mut block.kind
                {
                    so_far.push_str(&prose(text));
                    block.touch();
                } else {
                    let since = self.at;
                    let text = prose(text);
                    self.push(Kind::Thinking { text, is_open: true, since, took: None });
                }
            }
            Piece::Call { .. } => self.end_thinking(),
            Piece::Restart => {
                let notices = self.void(start);
                self.blocks.extend(notices);
                self.reply = Some(self.blocks.len());
            }
        }
    }

    /// Adds what the model said, in parts where it is long.
    fn reply(&mut self, text: &str, mut first: Markdown) {
        let rest = first.extend(text);
        for part in std::iter::once(first).chain(rest) {
            self.push(Kind::Reply(Box::new(part)));
        }
    }

    /// Takes away the blocks that have arrived of a reply. Gives back the notices among them: why
    /// it broke off, and when it is requested again.
    fn void(&mut self, start: usize) -> Vec<Block> {
        let is_void = |block: &Block| matches!(block.kind, Kind::Reply(_) | Kind::Thinking { .. });
        let mut notices = self.blocks.split_off(start.min(self.blocks.len()));
        notices.retain(|block| !is_void(block));
        notices
    }

    /// The part of a reply that is arriving; what others say meanwhile stands below it.
    fn arriving(&mut self) -> Option<&mut Block> {
        let start = self.reply?;
        let is_part = |block: &&mut Block| {
            matches!(block.kind, Kind::Reply(_) | Kind::Thinking { .. } | Kind::Tool(_))
        };
        self.blocks.get_mut(start..)?.iter_mut().rev().find(is_part)
    }

    /// Shows all that has arrived, since nothing more did for a while.
    pub(crate) fn catch_up(&mut self) {
        if let Some(Kind::Reply(markdown)) = self.arriving().map(|block| &mut block.kind) {
            markdown.catch_up();
        }
    }

    fn end_thinking(&mut self) {
        let now = self.at;
        if let Some(block) = self.arriving()
            && let Kind::Thinking { is_open, since, took, .. } = &mut block.kind
            && *is_open
        {
            *is_open = false;
            let milliseconds = u64::try_from(now - *since).unwrap_or(0);
            *took = Some(Duration::from_millis(milliseconds));
            block.touch();
        }
    }

    /// A reply is complete: what was streamed is replaced where it is not the same.
    fn finished(&mut self, reply: &Reply) {
        self.end_thinking();
        let start = self.reply.take().unwrap_or(self.blocks.len());
        let streamed: String = self.blocks[start.min(self.blocks.len())..]
            .iter()
            .filter_map(|block| match &block.kind {
                Kind::Reply(markdown) => Some(markdown.text()),
                _ => None,
            })
            .collect();
        let said = prose(&reply.text());
        let is_same = !streamed.is_empty() && streamed.trim() == said.trim();
        let is_silent = streamed.is_empty() && said.trim().is_empty();
        let has_thought = self.blocks.len() > start || reply.thinking().is_empty();
        if is_same || (is_silent && has_thought) {
            for block in &mut self.blocks[start..] {
                if let Kind::Reply(markdown) = &mut block.kind {
                    markdown.finish();
                }
            }
            return;
        }
        let notices = self.void(start);
        for part in &reply.parts {
            match part {
                Part::Text { text } if !text.trim().is_empty() => {
                    self.reply(&prose(text), Markdown::complete(String::new()));
                }
                Part::Thinking { text, .. } if !text.trim().is_empty() => {
                    let (since, took) = (self.at, Some(Duration::ZERO));
                    self.push(Kind::Thinking { text: prose(text), is_open: false, since, took });
                }
                Part::Text { .. } | Part::Thinking { .. } | Part::Call(_) => {}
            }
        }
        self.blocks.extend(notices);
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
            // A hook that stopped a prompt has its notice already.
            Outcome::Answered { .. } | Outcome::Blocked { .. } => {}
            Outcome::Finished(finish) => {
                let text = format!("**{}**: {}", finish.status.as_str(), clean(&finish.summary));
                let next = finish.next_steps.as_deref().map(clean);
                let text = match next {
                    Some(next) => format!("{text}\n\nNext: {next}"),
                    None => text,
                };
                self.reply(&text, Markdown::complete(String::new()));
            }
            Outcome::Limited { limit, told, .. } => {
                // Sessions of earlier versions have it in the other field.
                let told = if told.is_empty() { limit } else { told };
                let text = format!("Stopped at a limit: {}", clean(told));
                self.notice(
                    Level::Error,
                    &text,
                    Some("type `continue` to keep going, or raise the limit"),
                );
            }
            Outcome::Stuck { why } => {
                self.notice(
                    Level::Error,
                    &format!("Stopped: the model repeats itself: {why}"),
                    None,
                );
            }
            Outcome::Cancelled => {
                self.push(Kind::Mark("Interrupted".to_owned()));
            }
            Outcome::Failed { error, hint } => self.notice(Level::Error, error, hint.as_deref()),
        }
    }
}
