//! How long the program takes to start, and to send its first request.

use std::time::{Duration, Instant};

use testkit::{ModelServer, Reply};

use crate::floor::Role;
use crate::job::{Job, Rig};
use crate::report::{Aim, Report, Row, Unit, median, milliseconds};

const RUNS: usize = 61;

/// Measures both.
pub(crate) fn measure(report: &mut Report) {
    version(report);
    first_request(report);
}

fn version(report: &mut Report) {
    let rig = Rig::new();
    let ours = rig.brynhild(&["--version"]);
    let limit = rig.job("/bin/true", &[]);
    let (mut figures, mut limits) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        figures.push(ours.wall());
        limits.push(limit.wall());
    }
    report.add(Row {
        what: "start: `--version`, against `/bin/true`".into(),
        unit: Unit::Milliseconds,
        figure: milliseconds(median(figures)),
        limit: Some(milliseconds(median(limits))),
        aim: Aim::Figure(5.0),
    });
    report.add(peak("start", &ours, &limit));
}

fn first_request(report: &mut Report) {
    let server = ModelServer::start([Reply::text("hello")]).repeat_last();
    let rig = Rig::with_model(&server);
    let ours = rig.brynhild(&["chat", "Say hello"]);
    let address = server.address().to_string();
    let limit = rig.floor(Role::Ask).arg(address).arg(rig.path("record"));
    let arrival = |job: &Job| -> Duration {
        let (started, _) = job.run();
        let arrived = |request: &testkit::Recorded| request.arrived;
        let last: Option<Instant> = server.chats().last().map(arrived);
        last.expect("a request").duration_since(started)
    };
    let (mut figures, mut limits) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        figures.push(arrival(&ours));
        limits.push(arrival(&limit));
        rig.forget();
    }
    report.add(Row {
        what: "first request: start to first byte at the server".into(),
        unit: Unit::Milliseconds,
        figure: milliseconds(median(figures)),
        limit: Some(milliseconds(median(limits))),
        aim: Aim::Figure(15.0),
    });
    report.add(peak("first request", &ours, &limit));
}

fn peak(what: &str, ours: &Job, limit: &Job) -> Row {
    Row {
        what: format!("{what}: peak memory"),
        unit: Unit::Megabytes,
        figure: ours.cost().peak_megabytes,
        limit: Some(limit.cost().peak_megabytes),
        aim: Aim::Figure(30.0),
    }
}
