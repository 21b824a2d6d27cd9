//! The loop: waits for whatever comes first, has the interface take note of it, does what it asks
//! for, and draws: at once after a key, else at most sixty times a second, and never for nothing.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use contract::event::{Event, Input};
use futures::future::LocalBoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc;

use crate::app::App;
use crate::host::{Answer, Host, Inquiry, Leave, Request, Stop};
use crate::message::{Effect, Message};
use crate::screen::{Screen, TerminalSignal};

/// The shortest time between two frames that nobody waits for.
const FRAME: Duration = Duration::from_millis(16);
const LEAVE_TIMEOUT: Duration = Duration::from_millis(500);
const MAX_BATCH: usize = 64;

/// The conversation that is shown.
pub struct Link<'a> {
    /// Events of the conversation.
    pub events: &'a mut mpsc::Receiver<Arc<Event>>,
    /// Inputs into it.
    pub inputs: &'a mpsc::Sender<Input>,
}

/// Runs the interface until it is left. Dropping the future loses nothing that was typed.
pub async fn run(
    app: &mut App,
    screen: &mut Screen,
    host: &dyn Host,
    mut link: Option<Link<'_>>,
    first: Vec<Effect>,
) -> io::Result<Leave> {
    let mut session = Running {
        host,
        asked: FuturesUnordered::new(),
        commands: Rc::default(),
        held: VecDeque::new(),
        inquiry: host.inquiry(),
        outbox: VecDeque::new(),
        next_frame: Instant::now(),
        is_urgent: true,
    };
    let (width, height) = screen.refit()?;
    let mut effects = app.update(Message::Resized { width, height });
    effects.extend(first);
    let mut batch: Vec<Arc<Event>> = Vec::with_capacity(MAX_BATCH);
    loop {
        let leave = session.perform(effects, app, screen).await?;
        // Also before it ends: an event of the user may have to be recorded.
        session.post(link.as_ref());
        if let Some(leave) = leave {
            return Ok(leave);
        }
        // A terminal that takes nothing is gone.
        if session.draw(app, screen).is_err() {
            return Ok(Leave::Stopped(Stop::HungUp));
        }
        let message = session.next(app, screen, &mut link, &mut batch).await?;
        effects = Vec::new();
        app.clock(Instant::now());
        if let Some(message) = message {
            effects.extend(app.update(message));
        }
        for event in batch.drain(..) {
            host.observe(&event);
            effects.extend(app.update(Message::Event(event)));
        }
        // Where events come without a pause, time passes all the same.
        let now = Instant::now();
        if app.deadline().is_some_and(|due| due <= now) {
            effects.extend(app.update(Message::Tick(now)));
        }
        // All that was typed meanwhile is on the same frame.
        while let Ok((input, at)) = screen.arrivals.try_recv() {
            session.is_urgent = true;
            effects.extend(app.update(Message::Terminal(input, at)));
        }
    }
}

struct Running<'a> {
    host: &'a dyn Host,
    asked: FuturesUnordered<LocalBoxFuture<'a, Answer>>,
    /// Commands that the host has not answered yet.
    commands: Rc<Cell<usize>>,
    /// Prompts that were sent after those commands, and must not overtake them.
    held: VecDeque<Input>,
    /// The next inquiry of the host.
    inquiry: LocalBoxFuture<'a, Inquiry>,
    outbox: VecDeque<Input>,
    next_frame: Instant,
    /// True if somebody waits for the next frame.
    is_urgent: bool,
}

impl Running<'_> {
    /// Waits for whatever comes first.
    async fn next(
        &mut self,
        app: &App,
        screen: &mut Screen,
        link: &mut Option<Link<'_>>,
        batch: &mut Vec<Arc<Event>>,
    ) -> io::Result<Option<Message>> {
        let frame = if screen.is_behind() {
            Some(Instant::now())
        } else {
            app.is_dirty().then_some(self.next_frame)
        };
        let wake = [frame, app.deadline()].into_iter().flatten().min();
        let Screen { arrivals, reports, .. } = screen;
        tokio::select! {
            biased;
            arrival = arrivals.recv() => {
                self.is_urgent = true;
                Ok(Some(match arrival {
                    Some((input, at)) => Message::Terminal(input, at),
                    None => Message::Stop(Stop::HungUp),
                }))
            }
            signal = screen.signals.next() => self.signal(signal, screen).map(Some),
            Some(answer) = self.asked.next(), if !self.asked.is_empty() => {
                self.is_urgent = true;
                Ok(Some(Message::Answer(answer)))
            }
            inquiry = &mut self.inquiry => {
                self.inquiry = self.host.inquiry();
                self.is_urgent = true;
                Ok(Some(Message::Inquired(inquiry)))
            }
            Some((level, text)) = reports.recv() => Ok(Some(Message::Reported(level, text))),
            count = events(link, batch) => Ok((count == 0).then_some(Message::Closed)),
            () = until(wake) => Ok(Some(Message::Tick(Instant::now()))),
        }
    }

    fn signal(&mut self, signal: TerminalSignal, screen: &mut Screen) -> io::Result<Message> {
        self.is_urgent = true;
        Ok(match signal {
            TerminalSignal::Stop(stop) => Message::Stop(stop),
            TerminalSignal::Resized => {
                let (width, height) = screen.refit()?;
                Message::Resized { width, height }
            }
            TerminalSignal::Suspend => {
                screen.suspend()?;
                Message::Tick(Instant::now())
            }
            TerminalSignal::Continued => {
                screen.pause();
                screen.resume()?;
                Message::Tick(Instant::now())
            }
        })
    }

    /// Does what the interface asks for; says where that ends it.
    async fn perform(
        &mut self,
        effects: Vec<Effect>,
        app: &mut App,
        screen: &mut Screen,
    ) -> io::Result<Option<Leave>> {
        let mut effects = VecDeque::from(effects);
        let mut leave = None;
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Send(input) => match *input {
                    prompt @ Input::Prompt { .. } if self.commands.get() > 0 => {
                        self.held.push_back(prompt);
                    }
                    input => self.outbox.push_back(input),
                },
                Effect::Ask(Request::Command(line)) => {
                    let (host, commands) = (self.host, Rc::clone(&self.commands));
                    commands.set(commands.get() + 1);
                    self.asked.push(Box::pin(async move {
                        let answer = host.answer(Request::Command(line)).await;
                        commands.set(commands.get() - 1);
                        answer
                    }));
                }
                Effect::Ask(request) => self.asked.push(Box::pin(self.host.answer(request))),
                Effect::Edit(text) => {
                    screen.pause();
                    let edited = self.host.edit(&text).await;
                    screen.resume()?;
                    self.is_urgent = true;
                    effects.extend(app.update(Message::Edited(edited)));
                }
                Effect::Copy(text) => {
                    screen.copy(&text)?;
                    self.asked.push(Box::pin(self.host.answer(Request::Copy(text))));
                }
                Effect::Notify(text) => screen.notify(&text)?,
                Effect::Mouse(is_caught) => screen.set_mouse(is_caught)?,
                Effect::Redraw => {
                    screen.refit()?;
                    screen.redraw()?;
                    self.is_urgent = true;
                }
                Effect::Suspend => {
                    screen.suspend()?;
                    effects.extend(app.update(Message::Tick(Instant::now())));
                }
                Effect::Leave(left) => leave = leave.or(Some(left)),
            }
        }
        if leave.is_some() {
            // A draft is to be saved, and a prompt remembered; slow requests are not waited for.
            let answered = async { while self.asked.next().await.is_some() {} };
            let _ = tokio::time::timeout(LEAVE_TIMEOUT, answered).await;
        }
        Ok(leave)
    }

    /// Sends what waits, as far as the conversation takes it.
    fn post(&mut self, link: Option<&Link<'_>>) {
        let Some(link) = link else { return };
        if self.commands.get() == 0 {
            self.outbox.append(&mut self.held);
        }
        while let Some(input) = self.outbox.pop_front() {
            match link.inputs.try_send(input) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(input)) => {
                    self.outbox.push_front(input);
                    return;
                }
                // The events tell when the conversation ends.
                Err(mpsc::error::TrySendError::Closed(_)) => return,
            }
        }
    }

    fn draw(&mut self, app: &mut App, screen: &mut Screen) -> io::Result<()> {
        // Whoever is slow gets no further frames before the last one, and holds up nothing else.
        if screen.is_behind() {
            screen.catch_up()?;
            if screen.is_behind() {
                return Ok(());
            }
        }
        let now = Instant::now();
        if !app.is_dirty() || !(self.is_urgent || now >= self.next_frame) {
            return Ok(());
        }
        draw_frame(app, screen)?;
        if let Some(shown) = app.pictures(|| screen.cell()) {
            if shown.needs_redraw {
                screen.redraw()?;
                draw_frame(app, screen)?;
            }
            screen.show(&shown.written)?;
        }
        self.is_urgent = false;
        self.next_frame = Instant::now() + FRAME;
        Ok(())
    }
}

async fn events(link: &mut Option<Link<'_>>, batch: &mut Vec<Arc<Event>>) -> usize {
    match link {
        Some(link) => link.events.recv_many(batch, MAX_BATCH).await,
        None => std::future::pending().await,
    }
}

async fn until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake.into()).await,
        None => std::future::pending().await,
    }
}

/// Draws a frame of the interface, with its links where the terminal takes them.
fn draw_frame(app: &mut App, screen: &mut Screen) -> io::Result<()> {
    let links = screen.links();
    screen.draw(|frame| {
        app.draw(frame);
        if let Some(links) = links {
            *links.lock().unwrap_or_else(PoisonError::into_inner) = app.links();
        }
    })
}
