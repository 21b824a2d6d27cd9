//! `test`: runs the cases of a suite with a role, and checks what the role did.

use std::path::PathBuf;

use args::TestArgs;
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::{output, role};
use contract::id::Timestamp;
use files::private::{self, Durability};
use futures::{StreamExt as _, TryStreamExt as _};
use initrunner::evals::{self, Assertion, Case, CaseResult, Suite};
use initrunner::host::{RoleRun, RoleRunner as _};

use super::role_runner::Runner;

/// The role and the suite that the arguments name. A suite may name its role, or lie beside it.
pub(super) fn files(args: &TestArgs) -> Result<(PathBuf, PathBuf), Problem> {
    if let Some(suite) = &args.suite {
        return Ok((args.role.clone(), suite.clone()));
    }
    if !Suite::is_suite(&args.role) {
        return Err(Problem::misuse("no suite is named").hint("`brynhild test ROLE -s SUITE.yaml`"));
    }
    let suite = Suite::read(&args.role).map_err(Problem::misuse)?;
    let beside = args.role.parent().unwrap_or(std::path::Path::new(""));
    Ok((beside.join(suite.role.unwrap_or_default()), args.role.clone()))
}

pub(super) async fn run(assembly: &Assembly, args: &TestArgs) -> Outcome {
    let (_, file) = files(args)?;
    let mut suite = Suite::read(&assembly.environment.cwd.join(file)).map_err(Problem::misuse)?;
    if let Some(tag) = &args.tag {
        suite.cases.retain(|case| case.tags.contains(tag));
    }
    if suite.cases.is_empty() {
        return Err(Problem::misuse("no case has this tag"));
    }
    let runner = if args.dry_run {
        role::rehearse(assembly).await?;
        None
    } else {
        Some(Runner::new(assembly))
    };
    let work: Vec<_> = suite.cases.iter().map(|case| tried(runner.as_ref(), case)).collect();
    let results: Vec<CaseResult> =
        futures::stream::iter(work).buffered(args.jobs.max(1)).try_collect().await?;
    let report = evals::report(&suite.name, &Timestamp::now().to_string(), &results);
    if let Some(path) = &args.output {
        let text = serde_json::to_string_pretty(&report)? + "\n";
        private::replace(
            &assembly.environment.cwd.join(path),
            text.as_bytes(),
            Durability::Synced,
        )?;
    }
    let is_passed = results.iter().all(CaseResult::passed);
    assembly.report(&report, table(&results, assembly.global.verbose))?;
    Ok(if is_passed { Exit::Done } else { Exit::Failed })
}

async fn tried(runner: Option<&Runner<'_>>, case: &Case) -> Result<CaseResult, Problem> {
    let run = match runner {
        Some(runner) => {
            let mut conversation = runner.open_chosen().await?;
            let run = conversation.run(&case.prompt).await;
            conversation.close().await;
            run
        }
        None => simulated(case),
    };
    let mut checked = Vec::new();
    for assertion in &case.assertions {
        let judged = judged(runner, assertion, case, &run).await;
        checked.push(assertion.check(&run, judged.as_deref()));
    }
    Ok(CaseResult { name: case.name.clone(), run, checked })
}

fn simulated(case: &Case) -> RoleRun {
    let output = case.expected_output.clone().unwrap_or_else(|| evals::SIMULATED.to_owned());
    RoleRun { output, is_dry: true, ..RoleRun::default() }
}

/// The reply of a judge, where an assertion needs one. A judge of another provider is not asked: the
/// role's own model judges.
async fn judged(
    runner: Option<&Runner<'_>>,
    assertion: &Assertion,
    case: &Case,
    run: &RoleRun,
) -> Option<String> {
    let Assertion::LlmJudge { criteria, model } = assertion else { return None };
    let prompt = evals::judge_prompt(&case.prompt, &run.output, criteria);
    match runner?.ask(model.as_deref(), &prompt).await {
        Ok(reply) => Some(reply),
        Err(why) => {
            output::warning(&format!("the judge of {} did not answer: {why}", case.name));
            None
        }
    }
}

fn table(results: &[CaseResult], is_verbose: bool) -> String {
    let mut rows = vec![["Case", "Status", "Duration", "Tokens"].map(str::to_owned)];
    for result in results {
        let status = if result.passed() { "PASS" } else { "FAIL" };
        let run = &result.run;
        rows.push([
            result.name.clone(),
            status.to_owned(),
            format!("{}ms", run.duration_ms),
            (run.input_tokens + run.output_tokens).to_string(),
        ]);
    }
    let mut text = output::table(rows);
    let mut say = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    for result in results.iter().filter(|it| is_verbose || !it.passed()) {
        let failed = result.checked.iter().filter(|it| is_verbose || !it.passed);
        let messages = failed.map(|it| it.message.clone()).chain(result.run.error.clone());
        messages.for_each(|message| say(format!("  {}: {message}", result.name)));
    }
    let passed = results.iter().filter(|it| it.passed()).count();
    say(format!("{passed}/{} passed", results.len()));
    text
}
