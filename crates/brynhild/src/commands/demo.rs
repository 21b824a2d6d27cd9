//! `demo`: a whole task with the built-in model, through the real loop, tools, policy and sandbox.

use std::fs;
use std::path::{Path, PathBuf};

use contract::event::Input;
use providers::script::BUNDLED;
use serde_json::Value;

use super::chat::{self, Setup};
use crate::args::{ChatArgs, Global};
use crate::assemble;
use crate::exit::{Outcome, Problem};
use crate::frontends;
use crate::output;
use crate::session_choice;
use crate::world::World;

/// Plays the bundled scenario on a fresh copy of its project.
pub(crate) async fn run(world: &World) -> Outcome {
    let demo = &BUNDLED[0];
    let folder = fresh_folder(&world.environment.temp)?;
    for (name, text) in demo.files {
        fs::write(folder.join(name), text)?;
    }
    let outcome = play(world, &folder, demo.name, demo.prompt).await;
    fs::remove_dir_all(&folder)?;
    outcome
}

async fn play(world: &World, folder: &Path, model: &str, prompt: &str) -> Outcome {
    let global = Global {
        provider: Some("script".to_owned()),
        model: Some(model.to_owned()),
        // Its project is a copy that goes away again, so nothing needs to be asked.
        yes: true,
        ..world.global.clone()
    };
    let world = World::read_at(global, folder)?;
    output::hint(&format!(
        "a scripted model works on a copy of a small project in {}",
        folder.display()
    ));
    let args = ChatArgs { no_save: true, no_log: true, ..ChatArgs::default() };
    let mind = assemble::mind(&world).await?;
    let setup = Setup::new(&world, &args, folder, &mind)?;
    let chosen = session_choice::choose(&world, folder, args.no_save)?;
    let conversation = setup.open(&world, chosen, folder, &mind)?;
    let mut view = chat::view(&world, true, Value::Null);
    let input = Input::Prompt(prompt.to_owned());
    let verdict = frontends::run(conversation, input, view.as_mut()).await?;
    Ok(verdict.exit())
}

/// A folder of our own that nobody else could have prepared.
fn fresh_folder(temp: &Path) -> Result<PathBuf, Problem> {
    let temp = temp.canonicalize()?;
    for number in 0..1000_u32 {
        let folder = temp.join(format!("brynhild-demo-{}-{number}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(Problem::failed(format!(
                    "cannot create {}: {error}",
                    folder.display()
                )));
            }
        }
    }
    Err(Problem::failed(format!("no free name for a folder in {}", temp.display())))
}
