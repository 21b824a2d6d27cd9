//! Tests of background commands, with real processes.

use contract::jobs::Jobs as _;

use super::*;
use crate::bash::Bash;
use crate::tests::fixture::Project;

struct Session {
    project: Project,
    jobs: Arc<Jobs>,
    bash: Bash,
    tool: JobsTool,
}

impl Session {
    fn new() -> Self {
        let (project, jobs) = (Project::new(), Arc::<Jobs>::default());
        let bash = Bash::new(&project.settings(Arc::clone(&jobs)));
        let tool = JobsTool::new(Arc::clone(&jobs));
        Self { project, jobs, bash, tool }
    }

    async fn start(&self, command: &str) -> ToolOutput {
        self.project.run(&self.bash, json!({"command": command, "background": true})).await
    }

    async fn jobs(&self, args: Value) -> ToolOutput {
        self.project.run(&self.tool, args).await
    }
}

#[tokio::test]
async fn a_background_command_is_listed_tailed_and_stopped() {
    let session = Session::new();
    let output = session.start("seq 100; exec sleep 1000").await;
    assert!(output.output.starts_with("job 1 is running in the background\n"), "{output:?}");
    assert_eq!(output.facts["job"], 1);
    let started = EventKind::JobStarted { job: 1, command: "seq 100; exec sleep 1000".to_owned() };
    assert_eq!(session.jobs.next_event().await, started);
    let list = session.jobs(json!({"action": "list"})).await.output;
    assert_eq!(list, "job 1  running  seq 100; exec sleep 1000");
    let tail = session.jobs(json!({"action": "tail", "job": 1, "lines": 2})).await.output;
    assert_eq!(tail, "99\n100\n[job 1 is running]");
    let stopped = session.jobs(json!({"action": "stop", "job": 1})).await.output;
    assert_eq!(stopped, "job 1 was stopped");
    let finished = EventKind::JobFinished { job: 1, outcome: "stopped".to_owned() };
    assert_eq!(session.jobs.next_event().await, finished);
    let again = session.jobs(json!({"action": "stop", "job": 1})).await;
    assert_eq!(again.error.as_deref(), Some("job 1 has ended"));
    assert!(session.jobs(json!({"action": "tail", "job": 7})).await.error.is_some());
}

#[tokio::test]
async fn background_command_that_ends_at_once_reports_its_exit() {
    let session = Session::new();
    let output = session.start("echo Could not resolve host: a.example; exit 3").await;
    let error = output.error.unwrap();
    assert!(error.starts_with("job 1 has ended: exit code 3\n"), "{error}");
    assert!(error.contains("The sandbox blocked a.example"), "{error}");
    let output = session.start("echo done").await;
    assert_eq!(output.output, "job 2 has ended: exit code 0\ndone");
}

#[tokio::test]
async fn the_end_of_a_session_stops_all_commands() {
    let session = Session::new();
    session.start("exec sleep 1000").await;
    session.start("exec sleep 1000").await;
    let events = session.jobs.end().await;
    let ended = events.iter().filter(|what| matches!(what, EventKind::JobFinished { .. })).count();
    assert_eq!((events.len(), ended), (4, 2));
    assert!(!session.jobs.list().contains("running"));
    session.start("true").await;
    assert!(session.jobs.list().contains("job 3"));
}

#[tokio::test]
async fn background_output_is_bounded() {
    let session = Session::new();
    session.start("seq 200000").await;
    let job = session.jobs.job(1).unwrap();
    assert!(job.output.lock().unwrap().len() <= SPOOL);
    let mut ended = job.ended.subscribe();
    drop(ended.wait_for(Option::is_some).await);
    assert!(job.tail(1).ends_with("200000"));
}
