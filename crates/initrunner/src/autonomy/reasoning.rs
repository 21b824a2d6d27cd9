//! The prompts by which a role plans, works and reflects in an autonomous run.

use crate::evals;
use crate::host::RoleRunner;
use crate::role::{Pattern, Role};
use crate::task::{RunScope, TaskEnd, TaskStatus};

const CONTINUATION: &str = "Continue with the task. Review your progress, then take the next step. \
                            When everything is done, or you cannot continue, call finish_task with a \
                            summary.";
const PLAIN_CONTINUATION: &str = "Continue. Call finish_task with a summary when you are done.";

const MAKE_LIST: &str = "Before you begin, make a todo list of the steps with batch_add_todos, with \
                         priorities and dependencies. Then work through it.";
const FOLLOW_LIST: &str = "Call get_next_todo, do that item, and set its status with update_todo. \
                           When no item is left, call finish_task with a summary.";

const PLANNING: &str = "PHASE 1 - PLANNING\nOnly plan: do not work on the task yet. Add the steps \
                        with batch_add_todos, with priorities and dependencies, then call \
                        finalize_plan.";
const GO_ON_PLANNING: &str = "PHASE 1 - PLANNING\nThe plan is not final. Complete the todo list, \
                              then call finalize_plan.";
const EXECUTION: &str = "PHASE 2 - EXECUTION\nThe plan is final. ";

/// Errors of the judge in a row that switch it off.
const MAX_JUDGE_ERRORS: usize = 2;

pub(super) struct Reasoning<'a> {
    role: &'a Role,
    task: &'a str,
    judge: Option<&'a dyn RoleRunner>,
    /// Errors of the judge in a row.
    judge_errors: usize,
    pub(super) judge_error: Option<String>,
    reflections: usize,
}

impl<'a> Reasoning<'a> {
    pub(super) fn new(role: &'a Role, task: &'a str, judge: Option<&'a dyn RoleRunner>) -> Self {
        Self { role, task, judge, judge_errors: 0, judge_error: None, reflections: 0 }
    }

    pub(super) fn first_prompt(&self) -> String {
        let task = self.task;
        match self.role.reasoning.pattern {
            Pattern::TodoDriven if self.role.reasoning.has_auto_plan => {
                format!("{MAKE_LIST}\n\nTask: {task}")
            }
            Pattern::PlanExecute => format!("{PLANNING}\n\nTask: {task}"),
            Pattern::React | Pattern::TodoDriven => task.to_owned(),
        }
    }

    /// The prompt of an iteration after the first, without the limits of the run.
    pub(super) fn continuation(&self, scope: &RunScope) -> String {
        let settings = self.role.autonomy.as_ref();
        let written = settings.and_then(|settings| settings.continuation_prompt.as_deref());
        let usual = if settings.is_some() { CONTINUATION } else { PLAIN_CONTINUATION };
        let own = written.map_or_else(String::new, |written| format!("{written}\n\n"));
        let text = match self.role.reasoning.pattern {
            Pattern::React => written.unwrap_or(usual).to_owned(),
            Pattern::TodoDriven => own + FOLLOW_LIST,
            Pattern::PlanExecute if scope.with_task(|task| task.is_plan_final) => {
                own + EXECUTION + FOLLOW_LIST
            }
            Pattern::PlanExecute => GO_ON_PLANNING.to_owned(),
        };
        format!("{text}\n\nCURRENT STATUS:\n{}", scope.with_task(|task| task.list.to_string()))
    }

    pub(super) fn is_reflecting(&self) -> bool {
        self.reflections > 0
    }

    /// The prompt of the next reflection on a completed task, if there is one.
    pub(super) async fn reflection(&mut self, end: &TaskEnd) -> Option<String> {
        let planned = &self.role.reasoning.reflections;
        let dimension = planned.get(self.reflections)?;
        if end.status != TaskStatus::Completed {
            return None;
        }
        self.reflections += 1;
        let verdict = self.verdict(&end.summary).await;
        let (number, count) = (self.reflections, planned.len());
        Some(format!(
            "REFLECTION ({number}/{count}) -- {}:\n{}\n\nYour summary was:\n{}\n\n{verdict}Change \
             what is not good enough and call finish_task with a new summary; if nothing needs a \
             change, say so.",
            dimension.name, dimension.prompt, end.summary
        ))
    }

    /// The paragraph on the success criteria in a reflection.
    async fn verdict(&mut self, summary: &str) -> String {
        let criteria = &self.role.reasoning.criteria;
        let Some(judge) = self.judge else { return String::new() };
        if criteria.is_empty() || self.judge_errors >= MAX_JUDGE_ERRORS {
            return String::new();
        }
        let reply = judge.ask(None, &evals::judge_prompt(self.task, summary, criteria)).await;
        let failed = match reply {
            Ok(reply) => evals::failed_criteria(&reply, criteria),
            Err(error) => {
                self.judge_errors += 1;
                self.judge_error = Some(error);
                return String::new();
            }
        };
        self.judge_errors = 0;
        if failed.is_empty() {
            return String::from("[VERIFIED] A judge found that all criteria are met.\n\n");
        }
        format!("A judge found criteria that are not met:\n{}\n\n", failed.join("\n"))
    }
}
