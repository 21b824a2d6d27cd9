//! The task of a run: its todo list and its end.

mod run_scope;
mod spawned_tasks;
mod todo_list;

pub use run_scope::RunScope;
pub(crate) use run_scope::RunState;
pub(crate) use spawned_tasks::{Detail, SpawnLimits};
use todo_list::TodoList;

#[derive(Default)]
pub(crate) struct Task {
    pub(crate) list: TodoList,
    /// True if `finalize_plan` was called.
    pub(crate) is_plan_final: bool,
    pub(crate) finished: Option<TaskEnd>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskEnd {
    pub(crate) status: TaskStatus,
    pub(crate) summary: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskStatus {
    Completed,
    Blocked,
    Failed,
}

impl TaskStatus {
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        match name {
            "" | "completed" => Ok(Self::Completed),
            "blocked" => Ok(Self::Blocked),
            "failed" => Ok(Self::Failed),
            _ => Err(format!("Invalid status '{name}'")),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
        }
    }
}

impl Task {
    /// The end that `finish_task` stated, or completion if every todo item is done.
    pub(crate) fn end(&self) -> Option<TaskEnd> {
        let done = || TaskEnd {
            status: TaskStatus::Completed,
            summary: String::from("All todo items are done."),
        };
        self.finished.clone().or_else(|| self.list.is_done().then(done))
    }
}
