//! Agents that work in the background of a session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, join_all, select_all};
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

/// Characters of a result in a list of tasks.
const PREVIEW_CHARS: usize = 200;

#[derive(Default)]
pub(crate) struct SpawnedTasks {
    tasks: Mutex<Vec<SpawnedTask>>,
    work: Mutex<JoinSet<()>>,
}

#[derive(Clone)]
struct SpawnedTask {
    id: String,
    agent: String,
    started: Instant,
    state: watch::Receiver<TaskState>,
    abort: AbortHandle,
}

#[derive(Clone)]
enum TaskState {
    Running,
    Ended { status: &'static str, words: String, time: Duration },
}

/// The limits of the tasks of one tool.
#[derive(Clone)]
pub(crate) struct SpawnLimits {
    pub(crate) places: Arc<Semaphore>,
    pub(crate) timeout: Duration,
}

/// The length of results in a text about tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    Preview,
    Whole,
}

impl SpawnedTasks {
    /// Starts work, which waits for a free place. Returns the id of its task.
    pub(crate) fn start(
        &self,
        agent: &str,
        work: BoxFuture<'static, Result<String, String>>,
        limits: SpawnLimits,
    ) -> String {
        let id = format!("{:08x}", fastrand::u32(..));
        let (sender, state) = watch::channel(TaskState::Running);
        let started = Instant::now();
        let run = async move {
            let Ok(_place) = limits.places.acquire_owned().await else { return };
            let (status, words) = match tokio::time::timeout(limits.timeout, work).await {
                Ok(Ok(words)) => ("completed", words),
                Ok(Err(why)) => ("failed", format!("ERROR: {why}")),
                Err(_) => {
                    let seconds = limits.timeout.as_secs_f64();
                    ("timeout", format!("TIMEOUT: Timed out after {seconds}s"))
                }
            };
            let time = started.elapsed();
            sender.send_replace(TaskState::Ended { status, words, time });
        };
        let mut set = self.work();
        while set.try_join_next().is_some() {}
        let abort = set.spawn(run);
        let task = SpawnedTask { id: id.clone(), agent: agent.to_owned(), started, state, abort };
        self.tasks().push(task);
        id
    }

    /// Waits until all named tasks have ended.
    pub(crate) async fn ended(&self, ids: &[String]) {
        join_all(self.named(Some(ids)).into_iter().map(SpawnedTask::ended)).await;
    }

    /// Waits until one of the named tasks has ended. Returns false if there are none.
    pub(crate) async fn any_ended(&self, ids: &[String]) -> bool {
        let waits = self.named(Some(ids)).into_iter().map(|task| Box::pin(task.ended()));
        let waits: Vec<_> = waits.collect();
        if waits.is_empty() {
            return false;
        }
        select_all(waits).await;
        true
    }

    /// Ends a task. Returns false if it is not known or has ended.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        let running = self.named(Some(&[id.to_owned()])).into_iter().find(SpawnedTask::is_running);
        running.is_some_and(|task| {
            task.abort.abort();
            let is_other = |other: &SpawnedTask| other.id != id;
            self.tasks().retain(is_other);
            true
        })
    }

    /// Describes the named tasks, or all.
    pub(crate) fn text(&self, ids: Option<&[String]>, detail: Detail) -> String {
        let tasks = self.named(ids);
        if tasks.is_empty() {
            return String::from("No spawned tasks.");
        }
        let lines = tasks.iter().map(|task| format!("\n  {}", task.line(detail)));
        std::iter::once(String::from("Spawned Tasks:")).chain(lines).collect()
    }

    /// Ends all tasks.
    pub(crate) async fn stop(&self) {
        let mut work = std::mem::take(&mut *self.work());
        work.shutdown().await;
    }

    fn named(&self, ids: Option<&[String]>) -> Vec<SpawnedTask> {
        let is_named = |task: &&SpawnedTask| ids.is_none_or(|ids| ids.contains(&task.id));
        self.tasks().iter().filter(is_named).cloned().collect()
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<SpawnedTask>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpawnedTask {
    fn is_running(&self) -> bool {
        matches!(*self.state.borrow(), TaskState::Running)
    }

    async fn ended(mut self) {
        // The sender goes without a state if the task was aborted.
        let _ = self.state.wait_for(|state| matches!(state, TaskState::Ended { .. })).await;
    }

    fn line(&self, detail: Detail) -> String {
        let (status, words, time) = match &*self.state.borrow() {
            TaskState::Running => ("running", String::new(), self.started.elapsed()),
            TaskState::Ended { status, words, time } => (*status, words.clone(), *time),
        };
        let words: String = match detail {
            Detail::Preview => words.chars().take(PREVIEW_CHARS).collect(),
            Detail::Whole => words,
        };
        let result = if words.is_empty() { words } else { format!(" -> {words}") };
        let Self { id, agent, .. } = self;
        format!("{id} [{agent}] {status} ({:.1}s){result}", time.as_secs_f64())
    }
}
