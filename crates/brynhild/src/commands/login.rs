//! `login`, `logout` and the first start: choose a provider, store its key, choose a model.

use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::prompt_source::read_stdin;
use assemble::provider_choice::{self, Candidate, Choice, Key};
use assemble::run_context::RunContext;
use assemble::{model_list, output};
use contract::secret::Secret;
use plugin_kit::config_edit;
use serde_json::{Value, json};
use setup::key_store::KeyStore;
use setup::screen::Screen;
use setup::wizard::{self, Answer, Offer, OfferState};

use super::asynchronously;

pub(super) enum Start {
    Ready(Box<RunContext>),
    Demo(Box<Assembly>),
    Quit,
}

/// Opens the setup screen if no provider is set up and a user can be asked.
pub(super) fn first_start(run: RunContext) -> Result<Start, Problem> {
    let assembly = Assembly::new(run);
    let can_ask = assembly.can_ask() && !assembly.wants_json();
    if !can_ask || asynchronously(async { Ok(is_set_up(&assembly).await) })? {
        return Ok(Start::Ready(Box::new(assembly.into_run())));
    }
    output::hint("no model is set up yet");
    set_up(assembly)
}

/// Returns true if a provider can answer, or a plugin may bring one.
async fn is_set_up(assembly: &Assembly) -> bool {
    assembly.role.is_some()
        || assembly.global.provider.is_some()
        || assembly.is_configured(&["providers", "default"])
        || provider_choice::expected(assembly).is_some()
        || provider_choice::has_plugins(assembly)
        || provider_choice::choose(assembly).await.is_ok()
}

/// `login`: stores the key of a provider, or opens the setup screen if none is named.
pub(super) fn login(assembly: &Assembly, name: Option<&str>) -> Outcome {
    let Some(name) = name else {
        if !assembly.can_ask() {
            return Err(Problem::misuse("no provider was named").hint(
                "`brynhild login PROVIDER < FILE` reads the key from standard input; `brynhild api \
                 providers` lists the providers",
            ));
        }
        return match set_up(assembly.clone())? {
            Start::Ready(_) => Ok(Exit::Done),
            Start::Demo(_) => asynchronously(super::demo::run(assembly)),
            Start::Quit => Ok(Exit::Misuse),
        };
    };
    let candidate = provider_choice::named(assembly, name)?;
    let variable = variable(&candidate)?;
    let key = if assembly.environment.terminal.stdin {
        wizard::ask_key(&mut Screen, &candidate.vendor().label)?
    } else {
        Some(Secret::new(read_stdin()?))
    };
    let key = key.ok_or_else(|| Problem::misuse("no key was given"))?;
    let store = KeyStore::new(assembly.config_dir()?);
    store.store(&variable, &key).map_err(|error| Problem::misuse(error.to_string()))?;
    if assembly.environment.variable(&variable).is_some() {
        output::warning(&format!("the environment variable {variable} is set and is used instead"));
    }
    let path = store.path().display();
    let data = json!({"provider": name, "variable": variable, "file": store.path()});
    assembly.report(&data, format_args!("The key of {name} is stored in {path}."))
}

/// `logout`: removes the stored key of a provider, or the only stored key.
pub(super) fn logout(assembly: &Assembly, name: Option<&str>) -> Outcome {
    let store = KeyStore::new(assembly.config_dir()?);
    let variable = if let Some(name) = name {
        variable(&provider_choice::named(assembly, name)?)?
    } else {
        let keys = store.read().map_err(|error| Problem::misuse(error.to_string()))?;
        let mut names = keys.into_keys();
        match (names.next(), names.next()) {
            (Some(only), None) => only,
            (None, _) => return Err(Problem::failed("no key is stored")),
            (Some(_), Some(_)) => {
                return Err(Problem::misuse("several keys are stored")
                    .hint("`brynhild logout PROVIDER` removes one of them"));
            }
        }
    };
    if !store.remove(&variable).map_err(|error| Problem::failed(error.to_string()))? {
        return Err(Problem::failed(format!("no key is stored for {variable}"))
            .hint("`brynhild doctor` shows where keys come from"));
    }
    let data = json!({"variable": variable, "removed": true});
    assembly.report(&data, format_args!("The stored key for {variable} is removed."))
}

/// The environment variable that the key of a provider stands for.
fn variable(candidate: &Candidate) -> Result<String, Problem> {
    candidate.key_variable().ok_or_else(|| {
        Problem::misuse(format!("{} needs no key", candidate.name))
            .hint("`brynhild --provider NAME` uses it for a run")
    })
}

fn set_up(assembly: Assembly) -> Result<Start, Problem> {
    let candidates = provider_choice::candidates(&assembly);
    let mut offers = asynchronously(async { Ok(offers(&candidates).await) })?;
    wizard::sort(&mut offers);
    let offer = match wizard::choose_provider(&mut Screen, &offers)? {
        Answer::Demo => return Ok(Start::Demo(Box::new(assembly))),
        Answer::Quit => return Ok(Start::Quit),
        Answer::Provider(at) => &offers[at],
    };
    let mut run = assembly.into_run();
    if let OfferState::KeyNeeded(variable) = &offer.state {
        let Some(key) = wizard::ask_key(&mut Screen, &offer.label)? else {
            return Ok(Start::Quit);
        };
        let store = KeyStore::new(run.config_dir()?);
        store.store(variable, &key).map_err(|error| Problem::misuse(error.to_string()))?;
        output::hint(&format!("the key is stored in {}", store.path().display()));
        run = run.anew()?;
    }
    let assembly = Assembly::new(run);
    let candidate = provider_choice::named(&assembly, &offer.name)?;
    let choice = Choice::new(candidate, "");
    let mut settings = vec![(["providers", "default"], Value::from(offer.name.as_str()))];
    let default = assemble::answering_model::model(&assembly, &choice)?;
    let models = match asynchronously(model_list::listed(&assembly, &choice)) {
        Ok(models) => models.into_iter().map(|model| model.id).collect(),
        Err(problem) => {
            output::warning(&format!("cannot list its models: {}", problem.message()));
            Vec::new()
        }
    };
    let is_local = choice.candidate.vendor().local;
    let default = match models.first() {
        Some(first) if is_local && !models.contains(&default) => first,
        _ => &default,
    };
    let Some(model) = wizard::choose_model(&mut Screen, &models, default)? else {
        return Ok(Start::Quit);
    };
    if model != assemble::answering_model::model(&assembly, &choice)? {
        settings.push((["models", "default"], model.into()));
    }
    let run = assembly.into_run();
    write_settings(&run, &settings)?;
    Ok(Start::Ready(Box::new(run.anew()?)))
}

async fn offers(candidates: &[Candidate]) -> Vec<Offer> {
    let answering = candidates.iter().map(|candidate| async move {
        candidate.vendor().local && provider_choice::is_answering(candidate).await
    });
    let answering = futures::future::join_all(answering).await;
    let offer = |(candidate, answers): (&Candidate, bool)| {
        let state = match &candidate.key {
            Key::Found { place, .. } => OfferState::KeyFound(place.clone()),
            Key::Missing { variable } => OfferState::KeyNeeded(variable.clone()),
            Key::NotNeeded if answers => OfferState::Answering(candidate.shown_address()),
            Key::NotNeeded | Key::Broken { .. } => return None,
        };
        let (name, vendor) = (candidate.name.clone(), candidate.vendor());
        let label = if name == vendor.name { vendor.label.clone() } else { name.clone() };
        Some(Offer { name, label, state })
    };
    candidates.iter().zip(answering).filter_map(offer).collect()
}

fn write_settings(run: &RunContext, settings: &[([&str; 2], Value)]) -> Result<(), Problem> {
    let file = run.config_dir()?.join(setup::user_files::CONFIG);
    let file = file.canonicalize().unwrap_or(file);
    let cannot = |why| Problem::failed(format!("cannot write {}: {why}", file.display()));
    config_edit::write(&file, settings).map_err(cannot)?;
    output::hint(&format!("the choice is stored in {}", file.display()));
    Ok(())
}
