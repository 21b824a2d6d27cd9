//! `chat`: answers one prompt.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::conversation::Conversation;
use args::{ChatArgs, InputFormat, OutputFormat};
use assemble::answer_schema::AnswerSchema;
use assemble::answering_model::AnsweringModel;
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::output::style::Palette;
use assemble::prompt_source::{self, PromptSource};
use assemble::role::OpenRole;
use assemble::run_context::RunContext;
use assemble::session_choice::{self, ChosenSession, SessionStorage};
use assemble::setup::{self, BackgroundServices, Reload, Setup};
use assemble::{named_file, output};
use contract::event::Input;
use contract::id::{SessionId, Timestamp};
use contract::policy::Mode;
use contract::skill::Skill;
use line_ui::json::Json;
use line_ui::plain::{Options, Plain};
use line_ui::stream_json::StreamJson;
use line_ui::tee::{LeveledLog, LogLevel, Tee};
use line_ui::turn;
use line_ui::verdict::Verdict;
use plugins::commands::SESSION;
use serde_json::Value;
use server::attach::{self, Attached};
use server::host::Reachable;
use sessions::conversation_log::ConversationLog;
use sessions::snapshots::SessionSnapshots;

use crate::frontends::slash::{self, Expansion, Once};
use crate::frontends::tui::{Requests, TurnState};
use crate::frontends::{self, View, program};

/// Time without standard input after which a hint says that it is awaited.
const SILENCE: Duration = Duration::from_secs(2);

pub(super) struct OpenConversation {
    pub(super) conversation: Conversation,
    pub(super) answering: Arc<AnsweringModel>,
    pub(super) background: BackgroundServices,
    pub(super) snapshots: Option<Arc<SessionSnapshots>>,
    pub(super) role: Option<Arc<OpenRole>>,
    pub(super) id: SessionId,
    pub(super) storage: SessionStorage,
    /// The server of another program that has the session.
    pub(super) joined: Option<Reachable>,
    pub(super) mode: Mode,
}

impl OpenConversation {
    /// Opens a conversation, after `prepare` could change its parts.
    pub(super) async fn open<T>(
        assembly: &Assembly,
        args: &ChatArgs,
        answering: Arc<AnsweringModel>,
        prepare: impl FnOnce(&mut Setup, &mut ChosenSession) -> T,
    ) -> Result<(Self, T), Problem> {
        let root = assembly.root()?.to_owned();
        let mut setup = Setup::new(assembly, args, &root, &answering).await?;
        let mut chosen = session_choice::choose(assembly, &root, args.no_save)?;
        let prepared = prepare(&mut setup, &mut chosen);
        let (id, storage) = (chosen.id.clone(), chosen.storage);
        let (background, role) = (setup.background.clone(), setup.role.clone());
        let (joined, mut mode) = (chosen.server.take(), None);
        let attached = if let Some(server) = &joined {
            let last = chosen.history.last().map(|event| event.seq).unwrap_or_default();
            mode = attach::mode(server, &id).await;
            Some(attach::attach(server.clone(), id.clone(), last))
        } else {
            None
        };
        let mode = mode.unwrap_or_else(|| assembly.mode());
        let opening = setup::beginning(assembly, &root, chosen);
        let snapshots = opening.snapshots.clone();
        let conversation = match attached {
            Some(Attached { events, inputs, task }) => Conversation { events, inputs, task },
            None => setup.open(assembly, &root, Some(&answering), opening)?,
        };
        let opened = Self {
            conversation,
            answering,
            background,
            snapshots,
            role,
            id,
            storage,
            joined,
            mode,
        };
        Ok((opened, prepared))
    }

    /// Takes it apart for a front end that lasts: the conversation, and the answers to its requests.
    pub(super) fn into_parts(
        self,
        assembly: Arc<Assembly>,
        watch: Arc<Reload>,
        has_begun: bool,
    ) -> (Conversation, Requests) {
        let state = TurnState { mode: self.mode, has_begun, ..TurnState::default() };
        let requests = Requests {
            assembly,
            answering: self.answering,
            watch,
            background: self.background,
            snapshots: self.snapshots,
            id: self.id,
            storage: self.storage,
            joined: self.joined,
            state: Mutex::new(state),
        };
        (self.conversation, requests)
    }

    /// Sends one input, shows the work that follows, and closes everything.
    pub(super) async fn run(self, input: Input, view: &mut dyn View) -> io::Result<Verdict> {
        let shown = frontends::run(self.conversation, input, view).await;
        self.background.close().await;
        shown
    }
}

pub(crate) async fn run(assembly: &Assembly, args: &ChatArgs) -> Outcome {
    check_target(args)?;
    let schema = args.output_schema.as_deref();
    let schema = schema.map(|path| AnswerSchema::read(assembly, path)).transpose()?;
    if args.input_format == Some(InputFormat::StreamJson) {
        return with_program(assembly, args, schema).await;
    }
    let Some(TypedPrompt { mut prompt, skill, is_command }) = typed_prompt(assembly, args).await?
    else {
        return Ok(Exit::Done);
    };
    let answering = Arc::new(assemble::answering_model::answering(assembly).await?);
    let (opened, before) = OpenConversation::open(assembly, args, answering, |setup, chosen| {
        if let Some(schema) = &schema {
            setup.add_hook(Arc::clone(schema) as _);
        }
        if let Some(skill) = skill {
            setup.grants.activate(&skill.name);
        }
        let is_wanted = args.markdown_output.is_some() && chosen.storage == SessionStorage::Unsaved;
        is_wanted.then(|| chosen.history.clone())
    })
    .await?;
    let id = opened.id.clone();
    if is_command {
        prompt.content = prompt.content.replace(SESSION, id.as_str());
    }
    if let Some(schema) = &schema {
        prompt.content = schema.added_to(&prompt.content);
    }
    warn_of_missing_theme(assembly);
    let log = log(assembly, args)?;
    let mut view = own_view(assembly, args, &opened, prompt.as_json());
    let mut tee = Tee { view: view.as_mut(), log, kept: before, approvals: None };
    let shown = opened.run(Input::Prompt { text: prompt.content }, &mut tee).await;
    let verdict =
        shown.map_err(|error| anyhow::Error::from(error).context("cannot show the answer"))?;
    if let Some(path) = &args.markdown_output {
        let place = (path.as_path(), args.markdown_title.as_deref());
        if let Err(problem) =
            frontends::export::export_conversation(assembly, &id, tee.kept.as_deref(), place)
        {
            // The answer is out; nothing may follow it on standard output.
            output::error(&problem.message());
            return Ok(Exit::Failed);
        }
    }
    match &schema {
        Some(schema) => Ok(structured(assembly, schema, &verdict)?),
        None => Ok(verdict.exit()),
    }
}

/// Converses with a program, which sends inputs as lines of standard input.
async fn with_program(
    assembly: &Assembly,
    args: &ChatArgs,
    schema: Option<Arc<AnswerSchema>>,
) -> Outcome {
    if assembly.format() != OutputFormat::StreamJson {
        let what = "`--input-format stream-json` needs `--output-format stream-json`";
        return Err(Problem::misuse(what));
    }
    let answering = Arc::new(assemble::answering_model::answering(assembly).await?);
    let (mut opened, watch) = OpenConversation::open(assembly, args, answering, |setup, _| {
        if let Some(schema) = &schema {
            setup.add_hook(Arc::clone(schema) as _);
        }
        setup.watch(assembly)
    })
    .await?;
    let id = opened.id.clone();
    let prompt = async |typed: String| {
        let text = match slash::once_expanded(assembly, &typed).await? {
            Expansion::AsIs => typed,
            Expansion::Prompt { text, skill } => {
                if let Some(skill) = skill {
                    watch.present().await.grants.activate(&skill.name);
                }
                text.replace(SESSION, id.as_str())
            }
            Expansion::Show(_) | Expansion::Control(_) => {
                let what = format!("`{typed}` is a command for people");
                return Err(Problem::misuse(what).hint("the other inputs do the same"));
            }
        };
        Ok(schema.as_ref().map_or(text.clone(), |schema| schema.added_to(&text)))
    };
    let mut view = StreamJson::default();
    let log = log(assembly, args)?;
    let mut tee = Tee { view: &mut view, log, kept: None, approvals: None };
    let Conversation { events, inputs, .. } = &mut opened.conversation;
    let ends = turn::Conversation { events, inputs };
    let exit = program::converse(ends, &id, prompt, &mut tee).await;
    frontends::part(opened.conversation, &mut tee, exit.is_err()).await;
    opened.background.close().await;
    exit.map_err(|error| anyhow::Error::from(error).context("cannot show the events").into())
}

fn own_view(
    assembly: &Assembly,
    args: &ChatArgs,
    opened: &OpenConversation,
    prompt: Value,
) -> Box<dyn View> {
    match assembly.format() {
        OutputFormat::Text if args.output_schema.is_some() => Box::new(frontends::quiet(assembly)),
        // A dry run is about its calls.
        _ => view(assembly, assembly.global.verbose || args.dry_run, opened.storage, prompt),
    }
}

/// Prints the JSON of an answer, or why there is none.
fn structured(run: &RunContext, schema: &AnswerSchema, verdict: &Verdict) -> io::Result<Exit> {
    if verdict.exit() != Exit::Done {
        verdict.errors.iter().for_each(|error| output::error(error));
        return Ok(verdict.exit());
    }
    match schema.fitting(&verdict.response) {
        Ok(answer) if run.format() == OutputFormat::Text => output::line(output::quiet(&answer))?,
        Ok(_) => {}
        Err(reason) => {
            output::error(&format!("the answer does not fit the schema: {reason}"));
            output::hint("the model was asked twice; a larger model may do better");
            return Ok(Exit::Failed);
        }
    }
    Ok(Exit::Done)
}

/// Refuses a path for the Markdown that cannot work, before a model is asked.
fn check_target(args: &ChatArgs) -> Result<(), Problem> {
    let Some(path) = args.markdown_output.as_deref().filter(|path| *path != Path::new("-")) else {
        return Ok(());
    };
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    if path.is_dir() || directory.is_some_and(|directory| !directory.is_dir()) {
        return Err(Problem::misuse(format!(
            "`-o {}` is not a file in an existing directory",
            path.display()
        ))
        .hint("name a file in a directory that exists"));
    }
    Ok(())
}

pub(super) struct TypedPrompt {
    pub(super) prompt: PromptSource,
    pub(super) skill: Option<Skill>,
    /// True if the prompt is the text of a typed command.
    is_command: bool,
}

/// Reads the prompt; none if it was a command that is done.
pub(super) async fn typed_prompt(
    assembly: &Assembly,
    args: &ChatArgs,
) -> Result<Option<TypedPrompt>, Problem> {
    let files = prompt_source::read_files(assembly, &args.prompt_file)?;
    for image in &args.image {
        let path = assembly.environment.cwd.join(image);
        tools::image::check(&path).map_err(Problem::misuse)?;
    }
    let mut stdin = if assembly.environment.terminal.stdin { None } else { Some(piped().await?) };
    let mut words = args.prompt.clone();
    // A command is typed, or piped in if nothing was typed.
    let is_piped = words.iter().all(|word| word.trim().is_empty()) && files.is_empty();
    let line = if is_piped { stdin.clone().unwrap_or_default() } else { words.join(" ") };
    let (mut skill, mut is_command) = (None, false);
    match slash::once(assembly, &line).await? {
        Once::AsIs => {}
        Once::Done => return Ok(None),
        Once::Prompt { text, skill: activated } => {
            (skill, is_command) = (activated, true);
            if is_piped {
                stdin = Some(text);
            } else {
                words = vec![text];
            }
        }
    }
    words.extend(args.image.iter().map(|image| format!("@\"{}\"", image.display())));
    let prompt = PromptSource::new(&files, stdin.as_deref(), &words).ok_or_else(no_prompt)?;
    Ok(Some(TypedPrompt { prompt, skill, is_command }))
}

pub(super) fn no_prompt() -> Problem {
    Problem::misuse("No prompt provided").hint(
        "`brynhild PROMPT`, `--prompt-file PATH`, or pipe text in; `brynhild demo` shows a whole task",
    )
}

/// Reads standard input, with a hint to the user if it is slow to end.
async fn piped() -> Result<String, Problem> {
    let mut reading = tokio::task::spawn_blocking(prompt_source::read_stdin);
    let finished = tokio::select! {
        read = &mut reading => read,
        () = tokio::time::sleep(SILENCE) => {
            output::hint("waiting for standard input; use `< /dev/null` to skip it");
            reading.await
        }
    };
    finished.map_err(|error| Problem::failed(error.to_string()))?
}

pub(crate) fn view(
    assembly: &Assembly,
    verbose: bool,
    storage: SessionStorage,
    prompt: Value,
) -> Box<dyn View> {
    match assembly.format() {
        OutputFormat::Json => Box::new(Json { prompt }),
        OutputFormat::StreamJson => Box::new(StreamJson::default()),
        OutputFormat::Text => {
            let behavior = &assembly.config().behavior;
            let terminal = assembly.environment.terminal;
            // The cost is part of the activity, or shown alone if only that is wanted.
            let shows_activity = terminal.stdout || verbose || behavior.verbose;
            let options = Options {
                is_terminal: terminal.stdout,
                questions: frontends::questions(assembly),
                approval_hint: ::mcp::approval_hint,
                // A screen reader would read redrawn text twice.
                can_redraw: assembly.can_redraw() && !assembly.global.plain,
                verbose: verbose || behavior.verbose,
                show_thinking: behavior.show_thinking,
                show_cost: assembly.global.show_cost || behavior.show_cost && shows_activity,
                is_saved: storage == SessionStorage::Saved,
                palette: assembly.palette(),
                error_palette: if terminal.stderr { assembly.palette() } else { Palette::plain() },
            };
            Box::new(Plain::new(options, frontends::layout::of(assembly)))
        }
    }
}

/// Warns if colors are wanted and the configured theme does not exist.
pub(crate) fn warn_of_missing_theme(assembly: &Assembly) {
    let missing = assemble::themes::missing_theme(assembly);
    if let Some(text) = missing.filter(|_| assembly.is_colored()) {
        output::warning(&text);
        output::hint("`dark`, `light`, `16-color` and `none` are always there");
    }
}

/// The conversation log, unless it is off. The work goes on if it cannot be written.
pub(crate) fn log(run: &RunContext, args: &ChatArgs) -> Result<Option<LeveledLog>, Problem> {
    let leveled = |mut log: ConversationLog| LeveledLog {
        record: Box::new(move |event| log.record(event).map_err(|error| error.to_string())),
        level: LogLevel::named(&run.config().logging.level),
    };
    Ok(plain_log(run, args)?.map(leveled))
}

fn plain_log(run: &RunContext, args: &ChatArgs) -> Result<Option<ConversationLog>, Problem> {
    let logging = &run.config().logging;
    if args.no_log || !logging.enabled {
        return Ok(None);
    }
    let named = args.log_file.as_ref().or(run.config().log_file.as_ref());
    if let Some(path) = named {
        let path = named_file::place(run, path)?;
        let log = ConversationLog::append_to(path, run.log_settings().zone)
            .map_err(|error| Problem::misuse(error.to_string()))?;
        return Ok(Some(log));
    }
    match ConversationLog::create(&run.log_settings(), Timestamp::now()) {
        Ok(log) => Ok(Some(log)),
        Err(error) => {
            output::warning(&format!("no conversation log: {error}"));
            Ok(None)
        }
    }
}
