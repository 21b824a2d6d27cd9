//! `demo`: a whole task with the built-in model, through the real loop, tools, policy and sandbox.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use args::{ChatArgs, Global};
use assemble::assembly::Assembly;
use assemble::exit::{Outcome, Problem};
use assemble::output;
use assemble::run_context::RunContext;
use contract::event::Input;
use plugin_kit::workspace::fresh_directory;
use providers::script::BUNDLED;
use serde_json::Value;

use super::chat::{self, OpenConversation};
use super::interactive;

/// Plays the bundled scenario on a fresh copy of its project.
pub(crate) async fn run(assembly: &Assembly) -> Outcome {
    let demo = &BUNDLED[0];
    check_python(assembly)?;
    let directory = fresh_directory(&assembly.environment.temp)?;
    for (name, text) in demo.files {
        fs::write(directory.join(name), text)?;
    }
    let outcome = Box::pin(play(assembly, &directory, demo.name, demo.prompt)).await;
    fs::remove_dir_all(&directory)?;
    outcome
}

async fn play(assembly: &Assembly, directory: &Path, model: &str, prompt: &str) -> Outcome {
    let global = Global {
        provider: Some("script".to_owned()),
        model: Some(model.to_owned()),
        // The project is a temporary copy, so nothing needs to be asked.
        yes: true,
        ..assembly.global.clone()
    };
    let mut run = RunContext::read_at(global, directory)?;
    if interactive::is_wanted(&run) {
        run.loaded.config.session.auto_save = false;
        run.loaded.config.logging.enabled = false;
        let words = Some(prompt.to_owned());
        let exit = Box::pin(interactive::run(Assembly::new(run), words)).await?;
        output::hint("`brynhild login` sets up a model of your own");
        return Ok(exit);
    }
    let assembly = Assembly::new(run);
    output::hint(&format!(
        "a scripted model works on a copy of a small project in {}",
        directory.display()
    ));
    let args = ChatArgs { no_save: true, no_log: true, ..ChatArgs::default() };
    let answering = Arc::new(assemble::answering_model::answering(&assembly).await?);
    let (opened, ()) = OpenConversation::open(&assembly, &args, answering, |_, _| ()).await?;
    let mut view = chat::view(&assembly, true, opened.storage, Value::Null);
    Ok(opened.run(Input::Prompt { text: prompt.to_owned() }, view.as_mut()).await?.exit())
}

/// Fails without Python, in which the project's tests are written.
fn check_python(run: &RunContext) -> Result<(), Problem> {
    let path = run.environment.variable("PATH").unwrap_or_default();
    if std::env::split_paths(path).any(|directory| directory.join("python3").is_file()) {
        return Ok(());
    }
    Err(Problem::misuse("the demo works on a project in Python, and there is no `python3` in PATH")
        .hint("install Python 3, or go straight to `brynhild chat PROMPT` with a model"))
}
