//! Approvals that outlive a session, stored in the configuration directory and never in the
//! workspace. Changes are audited.

use std::path::Path;

use approvals::listing::ListedRule;
use approvals::remembered::{self, RememberedRules};
use contract::policy::Approvals;

use crate::audit;
use crate::exit::Problem;
use crate::run_context::RunContext;

/// Opens the file of remembered rules. Changes are recorded for audits.
pub fn open(config_dir: &Path) -> RememberedRules {
    RememberedRules::new(config_dir, |config_dir, what, rule, project| {
        audit::open(config_dir).note(what, rule, project)
    })
}

/// Revokes a rule for this session and in the file. Returns a report.
pub fn revoke(
    run: &RunContext,
    policy: Option<&dyn Approvals>,
    rule: &str,
) -> Result<String, Problem> {
    let rules = run.loaded.config_dir.as_deref().map(open);
    let revoked = remembered::revoke(rules.as_ref(), policy, rule).map_err(Problem::misuse)?;
    revoked.ok_or_else(|| {
        Problem::misuse(format!("nothing that was allowed is `{rule}`"))
            .hint("`/permissions` lists the permissions that can be removed")
    })
}

/// All permission rules, with those of the session.
pub fn listed(run: &RunContext, session: &[String]) -> Result<Vec<ListedRule>, Problem> {
    let rules = &run.config().permissions;
    let configured = [("allow", &*rules.allow), ("ask", &*rules.ask), ("deny", &*rules.deny)];
    let remembered = run.loaded.config_dir.as_deref().map(|dir| open(dir).read()).transpose();
    let remembered = remembered.map_err(Problem::misuse)?.unwrap_or_default();
    Ok(ListedRule::all(configured, remembered, session))
}
