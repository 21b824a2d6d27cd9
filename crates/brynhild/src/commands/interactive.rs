//! Without a command, on a terminal: a conversation on the whole screen. Input is accepted at once;
//! plugins, servers and the session are opened in the background.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use ::trust::review::{Review, TITLE};
use ::trust::store::Decision;
use args::{ChatArgs, Global, OutputFormat};
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::run_context::RunContext;
use assemble::session_choice::{self, SessionStorage};
use assemble::setup::Reload;
use assemble::{output, role, themes};
use contract::event::{Event, Level};
use contract::id::SessionId;
use contract::policy::Mode;
use line_ui::tee::BackgroundLog;
use server::host::Wanted;
use server::share::Sharing;
use tokio_util::task::AbortOnDropHandle;
use tui::host::{Leave, Request, Stop};
use tui::keymap::Action;
use tui::message::Effect;
use tui::picture::Pictures;
use tui::theme::{Theme, background_of_variable};
use tui::{App, Link, Screen, ScreenOptions, Settings};

use super::chat::{self, OpenConversation};
use super::{repl, serve, trust};
use crate::frontends::tui::{
    ConversationHost, Inquiries, RequestOrder, StartupHost, TurnState, interface_store,
};

/// Returns true if the whole screen is wanted and can be used.
pub(crate) fn is_wanted(run: &RunContext) -> bool {
    let terminal = run.environment.terminal;
    let is_text = run.format() == OutputFormat::Text;
    terminal.stdin && terminal.stdout && run.can_redraw() && is_text && !run.global.plain
}

/// Converses until the user leaves, with `words` as the first prompt.
pub(crate) async fn run(mut assembly: Assembly, words: Option<String>) -> Outcome {
    // Without a value, `--resume` opens the list of sessions.
    let unnamed = assembly.global.resume.take_if(|id| id.is_empty());
    let opening = unnamed.map(|_| Action::Sessions);
    let settings = settings(&assembly);
    let screen_options = screen_options(&assembly, &settings);
    let mut app = App::new(settings, Instant::now());
    let mut screen = Screen::take(screen_options)?;
    output::report_to(Box::new(screen.reporter()));
    let asked = tui::inquiries::take_screen()
        .ok_or_else(|| Problem::failed("the screen is taken already"))?;
    let inquiries = Inquiries::new(asked);
    screen.draw(|frame| app.draw(frame))?;
    let assembly = Box::pin(settled(assembly, (&mut app, &mut screen))).await?;
    for warning in &assembly.loaded.warnings {
        app.tell(Level::Warning, &warning.to_string(), None);
    }
    if let Some(text) = themes::missing_theme(&assembly) {
        let hint = format!("{} lists those that there are", app.key_of(Action::Themes));
        app.tell(Level::Warning, &text, Some(&hint));
    }
    if let Some(words) = words {
        app.say(words);
    }
    let mut sharing = None;
    let talked = talk(assembly, (&mut app, &mut screen), (&inquiries, &mut sharing), opening).await;
    if let Some(sharing) = sharing {
        screen.pause();
        sharing.end().await;
    }
    let (exit, saved) = talked?;
    screen.pause();
    let is_stuck = screen.is_behind();
    drop(screen);
    if let Some(id) = saved.filter(|_| !is_stuck) {
        session_choice::offer_resuming(&id);
    }
    Ok(exit)
}

/// Asks for trust in the project's files if that is undecided.
async fn settled(
    assembly: Assembly,
    (app, screen): (&mut App, &mut Screen),
) -> Result<Assembly, Problem> {
    if !trust::is_asked(&assembly) {
        trust::check_and_warn(&assembly)?;
        return Ok(assembly);
    }
    let detail = trust::detail(&assembly);
    let ask = async |review: &Review| {
        let choices = [
            ("y", "Yes, its commands may run", true),
            ("t", "Text only, nothing runs", true),
            ("n", "No", false),
        ];
        let choice = tui::ask(screen, app, (TITLE, &review.words(detail)), &choices).await?;
        Ok(match choice {
            Some(0) => Decision::Trusted,
            Some(1) => Decision::TextOnly,
            Some(_) => Decision::Declined,
            None => {
                return Err(Problem::new(Exit::Interrupted, "interrupted; nothing was trusted"));
            }
        })
    };
    Ok(Assembly::new(trust::decided(assembly.into_run(), ask).await?))
}

/// Runs one session after the other, with an action in the first. Returns the exit code and the saved session.
async fn talk(
    assembly: Assembly,
    (app, screen): (&mut App, &mut Screen),
    (inquiries, sharing): (&Inquiries, &mut Option<Sharing<Problem>>),
    mut opening: Option<Action>,
) -> Result<(Exit, Option<String>), Problem> {
    let mut assembly = Arc::new(assembly);
    let order = RequestOrder::default();
    let (mut before, mut notice): (Option<Global>, _) = (None, None);
    let mut first = app.greetings();
    first.push(Effect::Ask(Request::Commands));
    loop {
        let host = StartupHost { assembly: Arc::clone(&assembly), order: order.clone() };
        let requests = std::mem::take(&mut first);
        let mut own = Assembly::clone(&assembly);
        let mut opened = AbortOnDropHandle::new(tokio::spawn(async move {
            role::record::resume(&mut own)?;
            let opened = open(&own, None).await?;
            Ok::<_, Problem>((Arc::new(own), opened))
        }));
        let opened = tokio::select! {
            biased;
            left = tui::run(app, screen, &host, None, requests) => match exit_of(&left?) {
                Some(exit) => return Ok((exit, None)),
                // Without a session there is none to leave for another.
                None => continue,
            },
            opened = &mut opened => opened.map_err(|error| Problem::failed(error.to_string()))?,
        };
        let (own, opened) = match (opened, before.take()) {
            (Ok(opened), _) => opened,
            // The former settings still work.
            (Err(problem), Some(global)) => {
                app.tell(Level::Error, &problem.message(), problem.hint.as_deref());
                Arc::make_mut(&mut assembly).global = global;
                continue;
            }
            (Err(problem), None) => return Err(problem),
        };
        let effects = opening.take().map(|action| app.perform(action)).unwrap_or_default();
        let first = (effects, notice.take());
        let Departure { leave, session, id, mode } =
            show(&own, opened, (app, screen), (inquiries, &order), first).await?;
        if let Some(exit) = exit_of(&leave) {
            return Ok((exit, session));
        }
        before = Some(assembly.global.clone());
        let assembly = Arc::make_mut(&mut assembly);
        match leave {
            Leave::Model { provider, model } => {
                let global = &mut assembly.global;
                (global.provider, global.model) = (Some(provider), Some(model));
                repl::go_on_with(assembly, session);
            }
            Leave::Session(id) => repl::go_on_with(assembly, Some(id)),
            Leave::Fresh => repl::start_new(assembly),
            Leave::Serve(address) => match share(assembly, sharing, address, (&id, mode)).await {
                Ok(shared) => {
                    notice = Some(shared);
                    repl::go_on_with(assembly, Some(id.to_string()));
                }
                Err(problem) => {
                    let (text, hint) = (problem.message(), problem.hint);
                    notice = Some(Notice { level: Level::Error, text, hint });
                    repl::go_on_with(assembly, session);
                }
            },
            Leave::Quit | Leave::Stopped(_) | Leave::Ended => {}
        }
        app.reset();
    }
}

fn exit_of(leave: &Leave) -> Option<Exit> {
    match leave {
        Leave::Quit => Some(Exit::Done),
        Leave::Ended => Some(Exit::Failed),
        Leave::Stopped(Stop::Interrupted) => Some(Exit::Interrupted),
        Leave::Stopped(Stop::Quit) => Some(Exit::Quit),
        Leave::Stopped(Stop::Terminated) => Some(Exit::Terminated),
        Leave::Stopped(Stop::HungUp) => Some(Exit::HungUp),
        Leave::Model { .. } | Leave::Session(_) | Leave::Fresh | Leave::Serve(_) => None,
    }
}

/// A message for the beginning of a conversation.
struct Notice {
    level: Level,
    text: String,
    hint: Option<String>,
}

/// Has the server of this program open a session, in a mode. Starts the server if there is none.
async fn share(
    assembly: &Assembly,
    sharing: &mut Option<Sharing<Problem>>,
    address: Option<String>,
    (id, mode): (&SessionId, Mode),
) -> Result<Notice, Problem> {
    let sharing = match sharing {
        Some(sharing) => sharing,
        None => sharing.insert(serve::share(&assembly.global, address).await?),
    };
    let cwd = assembly.place().to_owned();
    let wanted = Wanted { session: Some(id.clone()), cwd, mode: Some(mode), ..Wanted::default() };
    sharing.open(wanted).await.map_err(serve::misused)?;
    let text = format!("This session is served at {}", sharing.place);
    let hint = format!("a browser logs in with {}", sharing.link());
    Ok(Notice { level: Level::Info, text, hint: Some(hint) })
}

/// A conversation with its history, and the files that are watched for it.
pub(super) type Opened = (OpenConversation, (Arc<Reload>, Vec<Event>));

/// Opens the session that the flags name, or one that is not saved and begins with `before`.
pub(super) async fn open(
    assembly: &Assembly,
    before: Option<Vec<Event>>,
) -> Result<Opened, Problem> {
    let answering = Arc::new(assemble::answering_model::answering(assembly).await?);
    assembly.services.has_late_tools.get_or_init(|| ());
    let args = ChatArgs { no_save: before.is_some(), ..ChatArgs::default() };
    OpenConversation::open(assembly, &args, answering, |setup, chosen| {
        setup.lift_round_limit(assembly);
        chosen.history.extend(before.into_iter().flatten());
        (setup.watch(assembly), chosen.history.clone())
    })
    .await
}

struct Departure {
    leave: Leave,
    /// The session that can be continued, if anything happened in it.
    session: Option<String>,
    id: SessionId,
    mode: Mode,
}

/// Shows a conversation until it is left, and closes it.
async fn show(
    assembly: &Arc<Assembly>,
    (opened, (watch, before)): Opened,
    (app, screen): (&mut App, &mut Screen),
    (inquiries, order): (&Inquiries, &RequestOrder),
    (effects, notice): (Vec<Effect>, Option<Notice>),
) -> Result<Departure, Problem> {
    let (storage, mode) = (opened.storage, opened.mode);
    let (mut conversation, requests) =
        opened.into_parts(Arc::clone(assembly), watch, !before.is_empty());
    let requests = Arc::new(requests);
    app.replay(&before);
    if let Some(Notice { level, text, hint }) = notice {
        app.tell(level, &text, hint.as_deref());
    }
    let mut first = app.connect(&requests.answering.model, mode);
    first.extend(app.greetings());
    first.extend([Request::Facts, Request::Commands].map(Effect::Ask));
    first.extend(effects);
    let log = chat::log(assembly, &ChatArgs::default())?.map(BackgroundLog::start);
    let unsaved = RefCell::new((storage == SessionStorage::Unsaved).then_some(before));
    let host = ConversationHost {
        requests: Arc::clone(&requests),
        log,
        unsaved,
        inquiries,
        order: order.clone(),
    };
    let link = Link { events: &mut conversation.events, inputs: &conversation.inputs };
    let leave = tui::run(app, screen, &host, Some(link), first).await;
    inquiries.give_up();
    if !leave.as_ref().is_ok_and(Leave::goes_on) {
        screen.pause();
    }
    for event in conversation.finish().await {
        host.record(&event);
    }
    if let Some(log) = host.log {
        log.close().await;
    }
    requests.background.close().await;
    let TurnState { mode, has_begun, .. } = requests.state().clone();
    let is_kept = storage != SessionStorage::Unsaved && has_begun;
    let (leave, id) = (leave?, requests.id.clone());
    Ok(Departure { leave, session: is_kept.then(|| id.to_string()), id, mode })
}

fn screen_options(run: &RunContext, settings: &Settings) -> ScreenOptions {
    let term = run.environment.variable("TERM").unwrap_or_default();
    ScreenOptions {
        mouse: settings.has_mouse,
        background: settings.theme.is_none(),
        abilities: settings.pictures == Pictures::None,
        links: run.config().ui.links && tui::takes_links(term),
    }
}

fn settings(assembly: &Assembly) -> Settings {
    let environment = &assembly.environment;
    let ui = &assembly.config().ui;
    let is_colored = assembly.is_colored();
    Settings {
        theme: theme(assembly, is_colored),
        depth: assembly.depth(),
        pictures: Pictures::of(|name| environment.variable(name)),
        keys: ui.bindings(),
        is_vim: ui.editing == config::settings::Editing::Vim,
        has_mouse: ui.mouse,
        // Collapsed to a line unless configured.
        shows_thinking: assembly.config().behavior.show_thinking
            && assembly.is_configured(&["behavior", "show_thinking"]),
        notifies: ui.notify,
        status_line: ui.status_line.clone(),
        version: env!("CARGO_PKG_VERSION"),
        ..Settings::default()
    }
}

/// The chosen colors; none if the terminal's background decides.
fn theme(assembly: &Assembly, is_colored: bool) -> Option<Theme> {
    let named = |name: &str| themes::theme(assembly, name);
    if !is_colored {
        return named("none");
    }
    if let Some(found) = interface_store(assembly).theme().and_then(|chosen| named(&chosen)) {
        return Some(found);
    }
    if assembly.is_configured(&["ui", "theme"])
        && let Some(found) = named(&assembly.config().ui.theme.0)
    {
        return Some(found);
    }
    let background = background_of_variable(assembly.environment.variable("COLORFGBG")?)?;
    Some(Theme::for_background(background))
}
