//! `trust` and `untrust`: shows the files of a project that could run or redirect something, and stores
//! the user's decision.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use args::TrustArgs;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::project_root::project_root;
use assemble::run_context::RunContext;
use assemble::{output, trust_store};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use trust::review::{Detail, QUESTION, Review};
use trust::store::{Decision, Record, Store};
use tui::question;

const CHANGED: &str = "the files of this project changed while you were asked";

pub(crate) async fn run(run: &RunContext, args: &TrustArgs) -> Outcome {
    if !run.global.plugin_dir.is_empty() {
        let text = "`--plugin-dir` needs no trust: naming a directory trusts it for that run";
        return Err(Problem::misuse(text));
    }
    let store = trust_store::open(run.config_dir()?);
    if args.list {
        return list(run, &store);
    }
    loop {
        if let Some(exit) = decided_once(run, args, &store).await? {
            return Ok(exit);
        }
    }
}

/// Shows the dialog and stores the decision; none if the files changed in between.
async fn decided_once(
    run: &RunContext,
    args: &TrustArgs,
    store: &Store,
) -> Result<Option<Exit>, Problem> {
    let root = root(run, args.path.as_deref())?;
    let review = review(store, &root, held_back(run, &root))?;
    if !review.needs_decision() {
        let root = root.display().to_string();
        let text = format!("{root} has no files that need trust");
        return run.report(&json!({"path": root, "files": []}), text).map(Some);
    }
    let decision = decide(run, args, &review).await?;
    if decision == Some(Decision::Trusted) && !review.is_current() {
        if run.global.yes {
            let text = format!("{CHANGED}; nothing is trusted");
            return Err(
                Problem::new(Exit::PermissionNeeded, text).hint("run `brynhild trust` again")
            );
        }
        output::warning(CHANGED);
        return Ok(None);
    }
    if let Some(decision) = decision.filter(|decision| *decision != Decision::Declined) {
        review.decide(decision).map_err(Problem::misuse)?;
    }
    report_decision(run, &root, &review, decision).map(Some)
}

/// The files at `root`, with a warning if earlier decisions cannot be read.
fn review(store: &Store, root: &Path, held_back: Vec<String>) -> Result<Review, Problem> {
    records(store)?;
    Review::new(store, root, held_back).map_err(Problem::misuse)
}

/// The user's decision; none if the user cannot be asked.
async fn decide(
    run: &RunContext,
    args: &TrustArgs,
    review: &Review,
) -> Result<Option<Decision>, Problem> {
    if args.text_only {
        return Ok(Some(Decision::TextOnly));
    }
    if !run.global.yes && !run.wants_json() && run.can_ask() {
        return asked(review, detail(run)).await.map(Some);
    }
    if !run.wants_json() {
        question::show(&review.words(detail(run)))?;
    }
    Ok(run.global.yes.then_some(Decision::Trusted))
}

pub(super) fn detail(run: &RunContext) -> Detail {
    if run.config().behavior.verbose { Detail::Hashes } else { Detail::Paths }
}

async fn asked(review: &Review, detail: Detail) -> Result<Decision, Problem> {
    // Before the question is shown, so that it can be interrupted.
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        decision = answered(review, detail) => Ok(decision?),
        _ = interrupt.recv() => {
            Err(Problem::new(Exit::Interrupted, "interrupted; nothing was trusted"))
        }
    }
}

async fn answered(review: &Review, detail: Detail) -> io::Result<Decision> {
    question::show(&review.words(detail))?;
    let answer = question::line(QUESTION).await?.unwrap_or_default();
    Ok(Decision::from_answer(&answer))
}

fn report_decision(
    run: &RunContext,
    root: &Path,
    review: &Review,
    decision: Option<Decision>,
) -> Outcome {
    let exit = match decision {
        Some(Decision::Trusted | Decision::TextOnly) => Exit::Done,
        Some(Decision::Declined | Decision::Withdrawn) | None => Exit::PermissionNeeded,
    };
    if run.wants_json() {
        let mut object = review.to_json();
        object["decision"] = json!(decision);
        output::json(&object)?;
        return Ok(exit);
    }
    let root = root.display();
    let text = match decision {
        Some(Decision::Trusted) => {
            format!("Trusted: {root}. You are asked again when one of these files changes.")
        }
        Some(Decision::TextOnly) => format!("Text only: nothing in {root} runs."),
        Some(Decision::Declined | Decision::Withdrawn) => {
            format!("Not trusted: nothing in {root} runs.")
        }
        None => {
            let problem = Problem::new(
                Exit::PermissionNeeded,
                "there is no terminal to ask on, so nothing is trusted",
            );
            return Err(problem.hint("read the list above, then pass `--yes` or `--text-only`"));
        }
    };
    output::text(text)?;
    Ok(exit)
}

/// The root that the program would use in a directory.
fn root(run: &RunContext, path: Option<&Path>) -> Result<PathBuf, Problem> {
    let Some(path) = path else {
        return Ok(run.root()?.to_owned());
    };
    let start = run.environment.cwd.join(path);
    let start = start
        .canonicalize()
        .map_err(|error| Problem::misuse(format!("cannot find {}: {error}", path.display())))?;
    let home = run.environment.home.as_deref();
    project_root(&start, home, &BTreeMap::new()).map_err(|none| Problem::misuse(none.to_string()))
}

/// The stored decisions, with a warning if some cannot be read.
fn records(store: &Store) -> Result<Vec<Record>, Problem> {
    let (records, problem) = store.read().map_err(Problem::misuse)?;
    if let Some(problem) = problem {
        output::warning(&problem);
    }
    Ok(records)
}

fn held_back(run: &RunContext, root: &Path) -> Vec<String> {
    match RunContext::untrusted_at(run.global.clone(), root) {
        Ok(there) => there.loaded.untrusted.into_iter().map(|held| held.setting).collect(),
        Err(problem) => vec![format!("(cannot be read: {})", problem.message())],
    }
}

fn list(run: &RunContext, store: &Store) -> Outcome {
    let records = records(store)?;
    let data = |record: &Record| {
        let Record { path, decision, hash, at } = record;
        let state = store.state(record);
        json!({"path": path, "decision": decision, "hash": hash, "at": at, "state": state})
    };
    let data: Vec<Value> = records.iter().map(data).collect();
    if records.is_empty() {
        return run.report(&data, "Nothing was decided about any project.");
    }
    let row = |record: &Record| {
        let path = record.path.display().to_string();
        [record.decision.word(), store.state(record), &record.day(), &path].map(str::to_owned)
    };
    run.report(&data, output::table(records.iter().map(row)))
}

pub(crate) fn untrust(run: &RunContext, path: Option<&Path>) -> Outcome {
    let store = trust_store::open(run.config_dir()?);
    // The decision about a deleted directory can still be withdrawn.
    let root = match (root(run, path), path) {
        (Ok(root), _) => root,
        (Err(_), Some(path)) => run.environment.cwd.join(path),
        (Err(problem), None) => return Err(problem),
    };
    let shown = root.display();
    match store.withdraw(&root).map_err(Problem::misuse)? {
        Some(_) => {
            output::text(format_args!("No longer trusted: {shown}"))?;
            Ok(Exit::Done)
        }
        None => Err(Problem::misuse(format!("nothing was decided about {shown}"))
            .hint("`brynhild trust --list` shows all decisions")),
    }
}

/// Fails if trust is required and missing.
pub(crate) fn required(run: RunContext) -> Result<RunContext, Problem> {
    check_required(&run)?;
    Ok(run)
}

fn check_required(run: &RunContext) -> Result<(), Problem> {
    if let Some(problem) = run.trust.problem() {
        output::warning(problem);
    }
    if !run.global.require_trust {
        return Ok(());
    }
    run.trust.missing().map_or(Ok(()), |text| {
        Err(Problem::new(Exit::PermissionNeeded, text)
            .hint("run `brynhild trust` to see the files and decide"))
    })
}

/// Fails if trust is required and missing; otherwise warns once about files that are ignored.
pub(crate) fn check_and_warn(run: &RunContext) -> Result<(), Problem> {
    check_required(run)?;
    if let Some(warning) = run.trust.warning() {
        output::warning(&warning);
    }
    Ok(())
}

/// Like [`check_and_warn`], but asks the user at the terminal if the decision is open.
pub(crate) fn settled(run: RunContext) -> Result<RunContext, Problem> {
    if is_asked(&run) {
        let detail = detail(&run);
        super::asynchronously(decided(run, async |review: &Review| asked(review, detail).await))
    } else {
        check_and_warn(&run)?;
        Ok(run)
    }
}

/// Returns true if the user is to be asked.
pub(crate) fn is_asked(run: &RunContext) -> bool {
    let is_text = run.format() == args::OutputFormat::Text;
    let is_open = run.trust.is_open() && !run.global.print;
    let asks = is_text && run.can_ask() && is_open;
    asks && !run.global.require_trust && run.config_dir().is_ok()
}

/// Asks with `ask` and stores the answer. Asks again if a file changed in between: the user trusts
/// the bytes that were shown, and no others run.
pub(crate) async fn decided(
    mut run: RunContext,
    mut ask: impl AsyncFnMut(&Review) -> Result<Decision, Problem>,
) -> Result<RunContext, Problem> {
    let store = trust_store::open(run.config_dir()?);
    let root = run.root()?.to_owned();
    loop {
        let held_back = run.loaded.untrusted.iter().map(|held| held.setting.clone()).collect();
        let review = review(&store, &root, held_back)?;
        let decision = ask(&review).await?;
        if let Err(problem) = review.decide(decision) {
            output::warning(&problem);
            return Ok(run);
        }
        if decision != Decision::Trusted {
            output::hint("`brynhild trust` asks again");
            return Ok(run);
        }
        run = run.anew()?;
        if !run.trust.is_open() {
            return Ok(run);
        }
        output::warning(CHANGED);
    }
}
