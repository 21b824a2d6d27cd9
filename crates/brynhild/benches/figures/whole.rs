//! Whole runs of the program against the minimal program: processor time and peak memory of all
//! the processes of a run, and the time it takes.

use serde_json::{Value, json};
use testkit::wire::Format;
use testkit::{ModelServer, Reply};

use crate::floor::Role;
use crate::job::{Cost, Job, Rig};
use crate::report::{Aim, Report, Row, Unit, median, milliseconds};

const DELTA: &str = "word ";

/// What the model does in a run.
#[derive(Clone)]
enum Model {
    /// It says so many words, each in a delta and a packet of its own, or in packets of 16 KB.
    Says(usize, Packets),
    /// It runs `true` so often.
    Runs(usize),
}

#[derive(Clone, Copy)]
enum Packets {
    Small,
    Large,
}

/// A run to be measured.
struct Case {
    what: &'static str,
    model: Model,
    flags: &'static [&'static str],
    runs: usize,
    cpu_aim: Aim,
}

const UNCONFINED: &[&str] = &["--yes", "--dangerously-skip-sandbox"];

/// Measures all cases.
pub(crate) fn measure(report: &mut Report) {
    let case = |what, model, flags, runs| Case { what, model, flags, runs, cpu_aim: Aim::Nothing };
    let single = Model::Says(1, Packets::Small);
    let cases = [
        case("one prompt", single.clone(), &[], 21),
        case("20 rounds of `true`", Model::Runs(20), UNCONFINED, 7),
        case("20 rounds of `true`, confined", Model::Runs(20), &["--yes"], 7),
        case("200 rounds of `true`", Model::Runs(200), UNCONFINED, 3),
        case("20,000 deltas", Model::Says(20_000, Packets::Small), &[], 7),
        Case {
            cpu_aim: Aim::Figure(0.5),
            ..case("100,000 deltas", Model::Says(100_000, Packets::Small), &[], 5)
        },
        Case {
            cpu_aim: Aim::Figure(0.5),
            ..case("100,000 deltas, 16 KB packets", Model::Says(100_000, Packets::Large), &[], 5)
        },
    ];
    version(report);
    for case in &cases {
        case.measure(report);
    }
    resumed(report);
}

impl Case {
    fn measure(&self, report: &mut Report) {
        let server = self.model.server();
        let rig = Rig::with_model(&server);
        let job = self.flags.iter().fold(rig.brynhild(&["chat", "Go on"]), Job::arg);
        let rounds = match self.model {
            Model::Says(..) => 1,
            Model::Runs(count) => count + 1,
        };
        let floor = rig.floor(Role::Converse).arg(server.address().to_string());
        let floor = floor.arg(rounds.to_string());
        let (mut figures, mut limits) = (Vec::new(), Vec::new());
        for _ in 0..self.runs {
            figures.push(job.cost());
            limits.push(floor.cost());
            rig.forget();
        }
        add(report, self.what, (&figures, &limits), self.cpu_aim);
    }
}

impl Model {
    fn server(&self) -> ModelServer {
        match self {
            Self::Says(words, packets) => {
                let text = Reply::text(DELTA.repeat(*words)).delta_size(DELTA.len());
                let streamed = json!({"model": "test-model", "stream": true});
                let body = Format::OpenAiChat.body(&text, &streamed, 1);
                let packet = match packets {
                    Packets::Small => body.len() / words,
                    Packets::Large => 16 * 1024,
                };
                let reply = Reply::bytes(body).chunk_size(packet);
                ModelServer::start([reply]).repeat_last()
            }
            Self::Runs(count) => {
                let mut left = *count;
                let count = *count;
                ModelServer::respond_with(move |_| {
                    if left == 0 {
                        left = count;
                        return Reply::text("done");
                    }
                    left -= 1;
                    // The same call again and again would be taken for a circle.
                    let call: Value = json!({"command": format!("true {left}")});
                    Reply::calls([("Bash", call)])
                })
            }
        }
    }
}

fn version(report: &mut Report) {
    let rig = Rig::new();
    let (job, floor) = (rig.brynhild(&["--version"]), rig.floor(Role::Nothing));
    let (mut figures, mut limits) = (Vec::new(), Vec::new());
    for _ in 0..21 {
        figures.push(job.cost());
        limits.push(floor.cost());
    }
    add(report, "`--version`", (&figures, &limits), Aim::Nothing);
}

/// One prompt more in a session of 200 rounds.
fn resumed(report: &mut Report) {
    let work = Model::Runs(200).server();
    let rig = Rig::with_model(&work);
    UNCONFINED.iter().fold(rig.brynhild(&["chat", "Go on", "--session", "long"]), Job::arg).run();
    let server = Model::Says(1, Packets::Small).server();
    rig.use_model(&server);
    let job = rig.brynhild(&["chat", "Say hello", "--session", "long"]);
    let floor = rig.floor(Role::Converse).arg(server.address().to_string()).arg("1");
    let (mut figures, mut limits) = (Vec::new(), Vec::new());
    for _ in 0..11 {
        figures.push(job.cost());
        limits.push(floor.cost());
    }
    add(report, "one prompt after 200 rounds", (&figures, &limits), Aim::Nothing);
}

fn add(report: &mut Report, what: &str, (ours, floor): (&[Cost], &[Cost]), cpu_aim: Aim) {
    type Part = (&'static str, Unit, fn(&Cost) -> f64);
    let parts: [(Part, Aim); 3] = [
        (("wall", Unit::Milliseconds, |cost| milliseconds(cost.wall)), Aim::Nothing),
        (("CPU", Unit::Seconds, |cost| cost.cpu.as_secs_f64()), cpu_aim),
        (("peak memory", Unit::Megabytes, |cost| cost.peak_megabytes), Aim::Figure(30.0)),
    ];
    for ((part, unit, value), aim) in parts {
        let middle = |costs: &[Cost]| median(costs.iter().map(value).collect());
        report.add(Row {
            what: format!("{what}: {part}"),
            unit,
            figure: middle(ours),
            limit: Some(middle(floor)),
            aim,
        });
    }
}
