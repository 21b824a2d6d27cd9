//! How long a step takes to stop: from the signal to the end of the program, which closes the
//! session on the way.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use testkit::{ModelServer, Reply};

use crate::job::Rig;
use crate::report::{Aim, Report, Row, Unit, median, milliseconds};

const RUNS: usize = 11;

/// Makes the reply in which a user interrupts.
type Make = fn() -> Reply;

/// Measures it in the states in which a user interrupts.
pub(crate) fn measure(report: &mut Report) {
    let states: [(&str, Make); 4] = [
        ("before a reply", || Reply::text("never").withhold()),
        ("within a reply", || Reply::text("a long answer").stall_at(60)),
        ("within a command", || {
            Reply::calls([("Bash", json!({"command": "touch ran; sleep 100"}))])
        }),
        ("within one that ignores signals", || {
            let command = "trap '' INT TERM; touch ran; while :; do sleep 100; done";
            Reply::calls([("Bash", json!({"command": command}))])
        }),
    ];
    for (state, reply) in states {
        let times = (0..RUNS).map(|_| interrupted(reply())).collect();
        report.add(Row {
            what: format!("from an interrupt to the end, {state}"),
            unit: Unit::Milliseconds,
            figure: milliseconds(median(times)),
            limit: None,
            aim: Aim::Figure(200.0),
        });
    }
}

fn interrupted(reply: Reply) -> Duration {
    let server = ModelServer::start([reply]).repeat_last();
    let rig = Rig::with_model(&server);
    let job = rig.brynhild(&["chat", "Go", "--yes", "--dangerously-skip-sandbox"]);
    let mut child = job.spawn();
    server.wait_for_requests(1);
    // Long enough for a command to run.
    std::thread::sleep(Duration::from_millis(300));
    let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
    let started = Instant::now();
    kill_process(process, Signal::INT).expect("a process that runs");
    child.wait().expect("a child that nobody else waits for");
    started.elapsed()
}
