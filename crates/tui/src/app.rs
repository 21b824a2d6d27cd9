//! The state of the interface, and the one function that changes it: a message goes in, effects come
//! out. Nothing here waits, reads or writes; time comes in with messages.

mod actions;
mod draw;
mod events;
mod keys;
#[cfg(test)]
mod tests;
mod welcome;

use std::time::{Duration, Instant};

use contract::event::{Input, Level};
use ratatui_core::layout::{Position, Rect};

use crate::composer::Composer;
use crate::host::{Answer, FileChange, Item, Leave, Request, Stop};
use crate::input::{self, Input as TerminalInput};
use crate::key::Key;
use crate::keymap::{Action, KeyOverrides, Keymap};
use crate::layers::approval::Ask;
use crate::layers::{Deed, Flow, Layer};
use crate::message::{Effect, Message};
use crate::picture::Pictures;
use crate::status::{SPINNER_FRAME, Status};
use crate::text::{clean, one_line};
use crate::theme::{Background, Depth, Theme, background_of_report};
use crate::transcript::{Kind, Transcript, View};
use crate::user_command::UserCommands;

const DRAFT_DELAY: Duration = Duration::from_millis(600);
/// A second interrupt within this time ends the program.
const INTERRUPT_WINDOW: Duration = Duration::from_secs(2);
/// One that comes sooner after the one that stopped the model is the same.
const SAME_PRESS: Duration = Duration::from_millis(300);

/// When the user wanted an end, and of what.
#[derive(Clone, Copy)]
struct Interruption {
    at: Instant,
    was_busy: bool,
}

/// Settings of the interface.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Settings {
    /// Colors; none where the background decides.
    pub theme: Option<Theme>,
    /// How many colors there are.
    pub depth: Depth,
    /// Keys that do something else.
    pub keys: KeyOverrides,
    pub is_vim: bool,
    pub has_mouse: bool,
    /// True if reasoning is open.
    pub shows_thinking: bool,
    /// True if the user is notified when a long run ends or asks.
    pub notifies: bool,
    /// A run that takes longer is long.
    pub long_run: Duration,
    /// How the terminal shows pictures.
    pub pictures: Pictures,
    /// The user's template of the status line, with placeholders in braces.
    pub status_line: Option<String>,
    /// The version of the program.
    pub version: &'static str,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: None,
            depth: Depth::Sixteen,
            keys: KeyOverrides::new(),
            is_vim: false,
            has_mouse: false,
            shows_thinking: false,
            notifies: true,
            long_run: Duration::from_secs(10),
            pictures: Pictures::None,
            status_line: None,
            version: "",
        }
    }
}

/// Where keys go while no layer is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Focus {
    Writing,
    Browsing,
}

/// How the calls that wait for an answer are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Together,
    OneByOne,
}

/// The interface.
pub struct App {
    settings: Settings,
    keymap: Keymap,
    theme: Theme,
    themes: Vec<Theme>,
    /// Problems of other themes, shown when the user wants to choose one.
    theme_problems: Vec<String>,
    /// Counts changes of the theme.
    edition: u64,
    transcript: Transcript,
    view: View,
    composer: Composer,
    commands: Vec<Item>,
    /// Messages that wait to be sent.
    queue: Vec<String>,
    asks: Vec<Ask>,
    pace: Pace,
    /// The key that answered a question last, and when.
    answered_by: Option<(Key, Instant)>,
    layers: Vec<Box<dyn Layer>>,
    status: Status,
    focus: Focus,
    /// The keys of a sequence that has begun.
    chord: Vec<Key>,
    /// The page of what can follow them that is shown.
    chord_page: usize,
    now: Instant,
    size: (u16, u16),
    /// Something to say in the status line until a key is pressed.
    note: String,
    interrupted: Option<Interruption>,
    /// When Esc was pressed last while there was nothing to close or stop.
    escaped: Option<Instant>,
    user_commands: UserCommands,
    draft_due: Option<Instant>,
    saved_draft: String,
    /// True if the conversation can take input.
    is_connected: bool,
    /// True if the terminal has the focus; none if it does not tell.
    is_focused: Option<bool>,
    has_mouse: bool,
    /// Pictures that the terminal has, by their blocks, with where they are drawn.
    pictures: Vec<(usize, Position)>,
    /// Where the conversation was drawn.
    body: Rect,
    /// Requests of the beginning that are not answered yet.
    unanswered: Vec<Request>,
    /// Requests about a conversation that is not open yet.
    held: Vec<Effect>,
    /// Events of the conversation since the last tick.
    events: usize,
    is_dirty: bool,
}

impl App {
    /// An interface at `now`.
    pub fn new(settings: Settings, now: Instant) -> Self {
        let (keymap, problems) = Keymap::new(&settings.keys);
        let theme = settings.theme.clone();
        let theme = theme.unwrap_or_else(|| Theme::for_background(Background::Dark));
        let mut composer = Composer::default();
        composer.set_vim(settings.is_vim);
        let mut app = Self {
            keymap,
            theme: theme.limited(settings.depth),
            themes: Theme::built_in(),
            theme_problems: Vec::new(),
            edition: 0,
            transcript: Transcript::default(),
            view: View::default(),
            composer,
            commands: Vec::new(),
            queue: Vec::new(),
            asks: Vec::new(),
            pace: Pace::Together,
            answered_by: None,
            layers: Vec::new(),
            status: Status::new(settings.status_line.clone()),
            focus: Focus::Writing,
            chord: Vec::new(),
            chord_page: 0,
            now,
            size: (80, 24),
            note: String::new(),
            interrupted: None,
            escaped: None,
            user_commands: UserCommands::default(),
            draft_due: None,
            saved_draft: String::new(),
            is_connected: false,
            is_focused: None,
            has_mouse: settings.has_mouse,
            pictures: Vec::new(),
            body: Rect::ZERO,
            unanswered: vec![Request::History, Request::Draft, Request::Themes],
            held: Vec::new(),
            events: 0,
            is_dirty: true,
            settings,
        };
        for problem in problems {
            app.transcript.notice(Level::Warning, &problem, None);
        }
        app
    }

    /// Requests to the host at the beginning, as far as they are not answered yet.
    pub fn greetings(&self) -> Vec<Effect> {
        self.unanswered.iter().cloned().map(Effect::Ask).collect()
    }

    /// Sends words as if the user had, once the conversation takes them.
    pub fn say(&mut self, words: String) {
        self.queue.push(words);
        self.is_dirty = true;
    }

    /// Runs an action as if its key was pressed.
    pub fn perform(&mut self, action: Action) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.act(action, &mut effects);
        self.is_dirty = true;
        effects
    }

    /// Tells the user something.
    pub fn tell(&mut self, level: Level, text: &str, hint: Option<&str>) {
        self.transcript.notice(level, text, hint);
        self.is_dirty = true;
    }

    /// The key that reaches an action, in words.
    pub fn key_of(&self, action: Action) -> String {
        self.keymap.hint(action)
    }

    /// The colors in use.
    pub fn theme(&self) -> &Theme {
        &self.theme
    }

    /// Folds in what happened in the session before.
    pub fn replay<'a>(&mut self, history: impl IntoIterator<Item = &'a contract::event::Event>) {
        for event in history {
            self.transcript.take(event);
            self.status.take(event, self.now);
        }
        self.status.end();
        self.status.end_jobs();
        self.view.follow();
        self.is_dirty = true;
    }

    /// Begins with another conversation; what is being written stays, and what waited for the one
    /// before goes to no other.
    pub fn reset(&mut self) {
        self.put_back();
        self.transcript.clear();
        self.pictures.clear();
        self.view = View::default();
        self.status.reset();
        self.asks.clear();
        self.layers.clear();
        self.held.clear();
        self.is_connected = false;
        self.is_dirty = true;
    }

    /// The conversation can take input from here on. Sends what was written meanwhile.
    pub fn connect(&mut self, model: &str, mode: contract::policy::Mode) -> Vec<Effect> {
        self.is_connected = true;
        self.status.model = one_line(model);
        self.status.mode = mode;
        self.is_dirty = true;
        let mut effects = std::mem::take(&mut self.held);
        effects.extend(self.flush_queue());
        effects
    }

    /// Takes note of the time at which what follows happens.
    pub fn clock(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// Takes note of something that happened.
    pub fn update(&mut self, message: Message) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.is_dirty = true;
        match message {
            Message::Terminal(input, at) => {
                self.now = self.now.max(at);
                self.terminal(input, at, &mut effects);
            }
            Message::Resized { width, height } => {
                self.size = (width, height);
                self.forget_pictures();
            }
            Message::Event(event) => {
                self.events += 1;
                self.event(&event, &mut effects);
            }
            Message::Closed => effects.push(Effect::Leave(Leave::Ended)),
            Message::Answer(answer) => self.answer(answer, &mut effects),
            Message::Inquired(inquiry) => self.inquire(inquiry, &mut effects),
            Message::Reported(level, text) => {
                if !text.trim().is_empty() {
                    self.transcript.notice(level, &text, None);
                }
            }
            Message::Edited(result) => {
                self.forget_pictures();
                match result {
                    Ok(text) => {
                        self.composer.buffer.set(text.trim_end_matches('\n'));
                        self.text_changed();
                    }
                    Err(problem) => self.transcript.notice(Level::Error, &problem, None),
                }
            }
            Message::Stop(stop) => self.depart(Leave::Stopped(stop), &mut effects),
            Message::Tick(now) => self.tick(now, &mut effects),
        }
        let is_asking = self.layers.iter().any(|layer| layer.is_question());
        self.status.set_asking(is_asking, self.now);
        self.status.set_opening(!self.is_connected, self.now);
        if !self.is_connected {
            let is_early = |it: &mut Effect| matches!(it, Effect::Ask(request) if request.needs_conversation());
            self.held.extend(effects.extract_if(.., is_early));
        }
        effects
    }

    /// Takes note that the terminal shows no picture any more, where it was drawn on the screen.
    fn forget_pictures(&mut self) {
        if matches!(self.settings.pictures, Pictures::Iterm | Pictures::Sixel) {
            self.pictures.clear();
        }
    }

    fn tick(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        self.now = self.now.max(now);
        for layer in &mut self.layers {
            layer.tick(self.now);
        }
        if std::mem::take(&mut self.events) == 0 {
            self.transcript.catch_up();
        }
        if self.draft_due.is_some_and(|due| due <= self.now) {
            self.save_draft(effects);
        }
    }

    /// When time alone changes something; none while nothing moves.
    pub fn deadline(&self) -> Option<Instant> {
        let moves = self.status.is_busy() || !self.is_connected;
        let spinner = moves.then(|| self.now + SPINNER_FRAME);
        let layers = self.layers.iter().filter_map(|layer| layer.deadline());
        layers.chain(spinner).chain(self.draft_due).min()
    }

    /// Returns true if there is anything to draw.
    pub fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    fn terminal(&mut self, input: TerminalInput, at: Instant, effects: &mut Vec<Effect>) {
        match input {
            TerminalInput::Key(key) => self.key(key, at, effects),
            TerminalInput::Paste(text) => {
                let flow = self.layers.last_mut().map(|layer| layer.paste(&text, at));
                if flow.is_none_or(|flow| flow == Flow::Pass) {
                    self.focus = Focus::Writing;
                    self.composer.paste(&text);
                    self.text_changed();
                    self.request_completions(effects);
                }
            }
            TerminalInput::Mouse(mouse) => self.mouse(mouse, effects),
            TerminalInput::Closed => {
                self.depart(Leave::Stopped(Stop::HungUp), effects);
            }
            TerminalInput::Stalled => {
                input::STALLED.clone_into(&mut self.note);
            }
            TerminalInput::Focus(is_focused) => self.is_focused = Some(is_focused),
            TerminalInput::Report(report) => {
                if self.settings.theme.is_none()
                    && let Some(background) = background_of_report(&report)
                {
                    let usual = Theme::for_background(background);
                    let own = self.themes.iter().find(|theme| theme.name == usual.name).cloned();
                    self.use_theme(&own.unwrap_or(usual));
                }
                if self.settings.pictures == Pictures::None
                    && let Some(pictures) = Pictures::of_report(&report)
                {
                    self.settings.pictures = pictures;
                }
            }
        }
    }

    /// Adds a theme to those that can be chosen; in place of the one that had its name.
    fn offer_theme(&mut self, theme: Theme) {
        if theme.name == self.theme.name {
            self.use_theme(&theme);
        }
        match self.themes.iter_mut().find(|it| it.name == theme.name) {
            Some(same) => *same = theme,
            None => self.themes.push(theme),
        }
    }

    fn use_theme(&mut self, theme: &Theme) {
        self.theme = theme.clone().limited(self.settings.depth);
        self.edition += 1;
    }

    /// Takes note that the text is another.
    fn text_changed(&mut self) {
        self.draft_due.get_or_insert(self.now + DRAFT_DELAY);
    }

    fn save_draft(&mut self, effects: &mut Vec<Effect>) {
        self.draft_due = None;
        let buffer = &self.composer.buffer;
        let mut waiting: Vec<String> =
            self.queue.iter().map(|text| buffer.draft_of(text)).collect();
        waiting.push(buffer.draft());
        let text = waiting.join("\n\n").trim_matches('\n').to_owned();
        if text != self.saved_draft {
            self.saved_draft.clone_from(&text);
            effects.push(Effect::Ask(Request::SaveDraft(text)));
        }
    }

    /// Sends what the host made of a command.
    fn pass_on(&mut self, input: Input, effects: &mut Vec<Effect>) {
        match &input {
            Input::Prompt { .. } | Input::Call(_) | Input::Compact { .. } => {
                self.status.begin(self.now);
            }
            Input::Mode { mode } => self.status.mode = *mode,
            _ => {}
        }
        effects.push(Effect::send(input));
    }

    fn answer(&mut self, answer: Answer, effects: &mut Vec<Effect>) {
        let mut deeds = Vec::new();
        let is_taken = self.layers.iter_mut().rev().any(|it| it.answer(&answer, &mut deeds));
        for deed in deeds {
            self.deed(deed, effects);
        }
        if is_taken {
            return;
        }
        match answer {
            Answer::Done | Answer::Preview { .. } | Answer::Items(..) | Answer::Models { .. } => {}
            Answer::Several(answers) => {
                for answer in answers {
                    self.answer(answer, effects);
                }
            }
            Answer::Show(text) => {
                self.transcript.push(Kind::Output(clean(&text)));
                self.view.follow();
            }
            Answer::Changes(changes) => {
                let clean = |it: FileChange| FileChange {
                    description: clean(&it.description),
                    counts: it.counts,
                    path: one_line(&it.path),
                    unified: clean(&it.unified),
                };
                let changes = changes.into_iter().map(clean).collect();
                self.transcript.push(Kind::Changes(changes));
                self.view.follow();
            }
            Answer::Tell { level, text, hint } => {
                self.transcript.notice(level, &text, hint.as_deref());
                self.view.follow();
            }
            Answer::Write { text, note } => {
                self.deed(Deed::Write(text), effects);
                self.note = note;
            }
            Answer::Send(input) => self.pass_on(*input, effects),
            Answer::Leave(leave) => self.leave(leave, effects),
            Answer::Commands(commands) => {
                self.composer.completion.commands = commands.clone();
                self.commands = commands;
                self.composer.completion.refresh(&self.composer.buffer);
                self.request_completions(effects);
            }
            Answer::Arguments { command, items } => self.composer.take_arguments(command, items),
            Answer::Start(action) => self.act(action, effects),
            Answer::Theme(name) => self.deed(Deed::Theme { name, is_final: true }, effects),
            Answer::Files { files, is_cut } => {
                self.composer.completion.set_files(&files, is_cut);
                self.composer.completion.refresh(&self.composer.buffer);
            }
            Answer::Themes(themes, problems) => {
                self.unanswered.retain(|it| *it != Request::Themes);
                self.theme_problems = problems;
                for theme in themes {
                    self.offer_theme(theme);
                }
            }
            Answer::History(entries) => {
                self.unanswered.retain(|it| *it != Request::History);
                self.composer.load_history(entries);
            }
            Answer::Draft(text) => {
                self.unanswered.retain(|it| *it != Request::Draft);
                if self.composer.buffer.is_empty() && !text.is_empty() {
                    self.composer.buffer.restore(&text);
                    self.saved_draft = text;
                }
            }
            Answer::Facts(facts) => {
                self.transcript.set_sources(facts.sources.iter().cloned());
                self.status.facts = facts;
            }
            Answer::Effort(effort) => self.status.effort = effort,
        }
    }
}
