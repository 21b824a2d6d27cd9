//! What a tool round costs early in a conversation and late in it: the time from the moment the
//! server has made up a reply to the first byte of the request that follows.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{ModelServer, Reply};

use crate::job::{Cost, Rig};
use crate::limits::{self, THOUGHT};
use crate::report::{Aim, Report, Row, Unit, median, milliseconds};

const ROUNDS: usize = 220;
const RUNS: usize = 7;
const EARLY: RangeInclusive<usize> = 5..=15;
const LATE: RangeInclusive<usize> = 195..=205;

/// The times of one kind of run.
#[derive(Default)]
struct Times {
    early: Vec<Duration>,
    late: Vec<Duration>,
}

impl Times {
    fn take(&mut self, rounds: &[Duration]) {
        self.early.extend_from_slice(&rounds[EARLY]);
        self.late.extend_from_slice(&rounds[LATE]);
    }

    fn report(self, report: &mut Report, kind: &str, limit: f64) {
        let (early, late) = (milliseconds(median(self.early)), milliseconds(median(self.late)));
        for (round, time) in [(10, early), (200, late)] {
            report.add(Row {
                what: format!("round {round}, {kind}"),
                unit: Unit::Milliseconds,
                figure: time,
                limit: Some(limit),
                aim: Aim::Figure(limit + 1.0),
            });
        }
        report.add(Row {
            what: format!("round 200 against round 10, {kind}"),
            unit: Unit::Times,
            figure: late / early,
            limit: None,
            aim: Aim::Figure(1.3),
        });
    }
}

/// Measures rounds with the session kept on disk and without.
pub(crate) fn measure(report: &mut Report) {
    let (mut kept, mut unkept) = (Times::default(), Times::default());
    let (mut synced, mut plain) = (Vec::new(), Vec::new());
    let mut peaks = Vec::new();
    let records = Rig::new();
    for _ in 0..RUNS {
        let (rounds, cost) = rounds(&[]);
        kept.take(&rounds);
        peaks.push(cost.peak_megabytes);
        synced.extend(limits::rounds(50, Some(&records.path("records")), limits::SIZE));
        unkept.take(&self::rounds(&["--no-save"]).0);
        plain.extend(limits::rounds(50, None, limits::SIZE));
    }
    kept.report(report, "session synced", milliseconds(median(synced)));
    unkept.report(report, "session not kept", milliseconds(median(plain)));
    report.add(Row {
        what: format!("{ROUNDS} rounds: peak memory"),
        unit: Unit::Megabytes,
        figure: median(peaks),
        limit: None,
        aim: Aim::Figure(30.0),
    });
}

/// Has a conversation; returns the time that each round took and what all of it cost.
fn rounds(flags: &[&str]) -> (Vec<Duration>, Cost) {
    let replied: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let times = Arc::clone(&replied);
    let server = ModelServer::respond_with(move |request| {
        std::thread::sleep(THOUGHT.saturating_sub(request.arrived.elapsed()));
        let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
        times.push(Instant::now());
        if times.len() <= ROUNDS {
            let look = json!({"operation": "exists", "path": times.len().to_string()});
            Reply::calls([("Inspect", look)])
        } else {
            Reply::text("done")
        }
    });
    let rig = Rig::with_model(&server);
    let job = rig.brynhild(&["chat", "Look around"]);
    let cost = flags.iter().fold(job, crate::job::Job::arg).cost();
    let replied = replied.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let requests = server.chats();
    assert_eq!(requests.len(), ROUNDS + 1, "a request a round and the last one");
    let next = requests.iter().skip(1).map(|request| request.arrived);
    let rounds = replied.iter().zip(next).map(|(sent, next)| next.duration_since(*sent));
    (rounds.collect(), cost)
}
