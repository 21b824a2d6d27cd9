//! `chat`: answers one prompt.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent::conversation::{Beginning, Conversation};
use agent::registry::Registry;
use agent::settings::{Execution, Parts, Settings};
use contract::event::{Input, Level};
use contract::id::Timestamp;
use contract::log::Log;
use contract::provider::Delivery;
use serde_json::Value;
use sessions::conversation_log::ConversationLog;

use crate::args::{ChatArgs, OutputFormat};
use crate::assemble::{self, Mind};
use crate::exit::{Exit, Outcome, Problem};
use crate::frontends::json::Json;
use crate::frontends::plain::{Options, Plain};
use crate::frontends::stream_json::StreamJson;
use crate::frontends::tee::{LogLevel, Tee};
use crate::frontends::{self, View};
use crate::output;
use crate::permissions;
use crate::prompt_source::{self, PromptSource};
use crate::session_choice::{self, Chosen};
use crate::world::World;

/// How long standard input may say nothing before the person is told that we wait for it.
const SILENCE: Duration = Duration::from_secs(2);

/// Answers a prompt.
pub(crate) async fn run(world: &World, args: &ChatArgs) -> Outcome {
    check_target(args)?;
    let prompt = prompt(world, args).await?;
    let root = world.root()?.to_owned();
    let mind = assemble::mind(world).await?;
    let setup = Setup::new(world, args, &root, &mind)?;
    let chosen = session_choice::choose(world, &root, args.no_save)?;
    let log = log(world, args)?;
    let before = args.markdown_output.is_some().then(|| chosen.history.clone());
    let conversation = setup.open(world, chosen, &root, &mind)?;
    let mut view = view(world, world.global.verbose, prompt.as_json());
    let mut tee = Tee::new(view.as_mut(), log, before, level(world));
    let verdict = frontends::run(conversation, Input::Prompt(prompt.content), &mut tee)
        .await
        .map_err(|error| anyhow::Error::from(error).context("cannot show the answer"))?;
    if let Some(path) = &args.markdown_output {
        let text = tee.markdown(args.markdown_title.as_deref());
        if let Err(problem) = super::session::write_to(path, &text) {
            // The answer is out; nothing may follow it on standard output.
            output::error(&problem.message());
            return Ok(Exit::Failed);
        }
    }
    Ok(verdict.exit())
}

/// Refuses a place for the Markdown that cannot work, before anything is spent.
fn check_target(args: &ChatArgs) -> Result<(), Problem> {
    let Some(path) = args.markdown_output.as_deref().filter(|path| *path != Path::new("-")) else {
        return Ok(());
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if path.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(Problem::misuse(format!("`-o {}` is no place for a file", path.display()))
            .hint("name a file in a folder that exists"));
    }
    Ok(())
}

/// The parts that `chat` and `demo` share.
pub(crate) struct Setup {
    registry: Registry,
    settings: Settings,
}

impl Setup {
    /// Tools and settings for a mind.
    pub(crate) fn new(
        world: &World,
        args: &ChatArgs,
        root: &Path,
        mind: &Mind,
    ) -> Result<Self, Problem> {
        let skills = assemble::skills(world, root);
        let tools = if args.no_tools || !mind.profile.supports_tools {
            Vec::new()
        } else {
            assemble::tools(world, root, skills.clone())
        };
        let registry = assemble::registry(tools);
        let system = assemble::system(world, root, mind, &registry, &skills);
        let mut settings = assemble::settings(world, root, Some(mind), system);
        if args.no_stream {
            settings.request.delivery = Delivery::Whole;
        }
        if args.dry_run {
            settings.execution = Execution::Dry;
        }
        if args.require_finish || world.config().behavior.require_finish {
            if registry.get("Finish").is_none() {
                return Err(Problem::misuse(
                    "`--require-finish` needs the Finish tool, which is off",
                ));
            }
            settings.required_finish = Some("Finish".to_owned());
        }
        Ok(Self { registry, settings })
    }

    /// Opens the conversation in the session that was chosen.
    pub(crate) fn open(
        self,
        world: &World,
        chosen: Chosen,
        root: &Path,
        mind: &Mind,
    ) -> Result<Conversation, Problem> {
        let parts = Parts {
            provider: Some(Arc::clone(&mind.provider)),
            registry: self.registry,
            policy: permissions::policy(world, root)?,
            confinement: assemble::confinement(world, root)?,
            log: chosen.log as Arc<dyn Log>,
        };
        let beginning =
            Beginning { session: chosen.id, history: chosen.history, notices: chosen.notices };
        Ok(Conversation::open(parts, self.settings, beginning))
    }
}

async fn prompt(world: &World, args: &ChatArgs) -> Result<PromptSource, Problem> {
    let files = prompt_source::read_files(&args.prompt_file, &world.environment.cwd)?;
    let stdin = if world.environment.terminal.stdin { None } else { Some(piped().await?) };
    PromptSource::new(&files, stdin.as_deref(), &args.prompt).ok_or_else(|| {
        Problem::misuse("No prompt provided")
            .hint("`brynhild chat PROMPT`, `--prompt-file PATH`, or pipe text in")
    })
}

/// Standard input, with a word to the person where it is slow to end.
async fn piped() -> Result<String, Problem> {
    let mut reading = tokio::task::spawn_blocking(prompt_source::read_stdin);
    let finished = tokio::select! {
        read = &mut reading => read,
        () = tokio::time::sleep(SILENCE) => {
            output::hint("waiting for standard input to end; `< /dev/null` leaves it out");
            reading.await
        }
    };
    finished.map_err(|error| Problem::failed(error.to_string()))?
}

/// The view for the form that was asked for.
pub(crate) fn view(world: &World, verbose: bool, prompt: Value) -> Box<dyn View> {
    match world.format() {
        OutputFormat::Json => Box::new(Json::new(prompt)),
        OutputFormat::StreamJson => Box::new(StreamJson::new()),
        OutputFormat::Text => {
            let behavior = &world.config().behavior;
            let terminal = world.environment.terminal;
            Box::new(Plain::new(Options {
                is_terminal: terminal.stdout,
                can_ask: terminal.stdin && terminal.stderr,
                verbose: verbose || behavior.verbose,
                show_thinking: behavior.show_thinking,
                show_cost: behavior.show_cost,
                colored: world.is_colored(),
                width: frontends::plain::terminal_width(),
            }))
        }
    }
}

/// The conversation log, unless it is off. That it cannot be written does not stop the work.
fn log(world: &World, args: &ChatArgs) -> Result<Option<ConversationLog>, Problem> {
    let logging = &world.config().logging;
    if args.no_log || !logging.enabled {
        return Ok(None);
    }
    let named = args.log_file.as_ref().or(world.config().log_file.as_ref());
    if let Some(path) = named {
        let log = ConversationLog::append_to(path.clone(), world.log_settings().zone)
            .map_err(|error| Problem::misuse(error.to_string()))?;
        return Ok(Some(log));
    }
    match ConversationLog::create(&world.log_settings(), Timestamp::now()) {
        Ok(log) => Ok(Some(log)),
        Err(error) => {
            output::warning(&format!("no conversation log: {error}"));
            Ok(None)
        }
    }
}

/// How much the conversation log holds.
fn level(world: &World) -> LogLevel {
    match world.config().logging.level.as_str() {
        "debug" => LogLevel::Everything,
        "warning" => LogLevel::Notices(Level::Warning),
        "error" => LogLevel::Notices(Level::Error),
        _ => LogLevel::Notices(Level::Info),
    }
}
