//! How long the program takes to start, and to send its first request: by itself, with many plugins,
//! and with many servers that nobody uses.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use testkit::{ModelServer, Reply};

use crate::floor::Role;
use crate::job::{Job, Rig};
use crate::report::{Aim, Report, Row, Unit, median, milliseconds};

const RUNS: usize = 61;
/// How many plugins there are, and how many milliseconds they may cost.
const PLUGINS: [(usize, Aim); 2] = [(50, Aim::Nothing), (500, Aim::Figure(20.0))];
const SERVERS: usize = 20;
const SERVER: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/server.py"));
/// What was written a moment ago is looked at anew in every run; this is longer than a moment.
const SETTLED: Duration = Duration::from_secs(4);

/// Measures all of it.
pub(crate) fn measure(report: &mut Report) {
    version(report);
    first_request(report);
    for (count, aim) in PLUGINS {
        plugins(report, count, aim);
    }
    servers(report);
}

/// The tools of many plugins in Python, against none.
fn plugins(report: &mut Report, count: usize, aim: Aim) {
    let (with, without) = (Rig::new(), Rig::new());
    for number in 0..count {
        plugin(&with.config_directory().join(format!("plugins/plugin-{number}")), number);
    }
    let job = |rig: &Rig| rig.brynhild(&["tools", "list"]).hushed();
    let more = more(&job(&with), &job(&without), Job::wall);
    report.add(Row {
        what: format!("start with {count} plugins (`tools list`): more than without"),
        unit: Unit::Milliseconds,
        figure: more,
        limit: None,
        aim,
    });
}

fn plugin(root: &Path, number: usize) {
    let manifest =
        format!("name: plugin-{number}\nversion: 1.0.0\ndescription: One of many\ntools: [tool]\n");
    let tool = format!(
        "from brynhild.tools.base import Tool as Base, ToolResult\n\n\nclass Tool(Base):\n    \
         name = \"tool_{number}\"\n    description = \"Gives back what it is told\"\n    \
         input_schema = {{\"type\": \"object\", \"properties\": {{\"text\": {{\"type\": \
         \"string\"}}}}}}\n\n    async def execute(self, input):\n        \
         return ToolResult(True, input[\"text\"])\n"
    );
    fs::create_dir_all(root.join("tools")).expect("a directory");
    fs::write(root.join("plugin.yaml"), manifest).expect("a file");
    fs::write(root.join("tools/tool.py"), tool).expect("a file");
}

/// Servers that are known from an earlier run and that no call asks for, against none.
fn servers(report: &mut Report) {
    let model = ModelServer::start([Reply::text("hello")]).repeat_last();
    let (with, without) = (Rig::with_model(&model), Rig::with_model(&model));
    let program = with.path("server.py");
    // Without the hidden characters that its tests are about: each would be told at every start.
    fs::write(&program, SERVER.replace(r"\u200b\U000e0041", "")).expect("a file");
    let sandbox = json!({"read": [with.path("")]});
    let entry = json!({"command": "python3", "args": [program], "sandbox": sandbox});
    let entries = (0..SERVERS).map(|number| (format!("server-{number}"), entry.clone()));
    let entries: Map<String, Value> = entries.collect();
    let document = json!({"mcpServers": entries}).to_string();
    fs::write(with.config_directory().join("mcp.json"), document).expect("a file");
    let job = |rig: &Rig| rig.brynhild(&["chat", "Say hello"]).hushed();
    let arrival = |job: &Job| {
        let time = arrival(&model, job);
        with.forget();
        without.forget();
        time
    };
    let more = more(&job(&with), &job(&without), arrival);
    report.add(Row {
        what: format!("first request with {SERVERS} MCP servers, none used: more than without"),
        unit: Unit::Milliseconds,
        figure: more,
        limit: None,
        aim: Aim::Figure(5.0),
    });
}

/// How many milliseconds one job takes more than another, in turns, once nothing is learned any more.
fn more(with: &Job, without: &Job, time: impl Fn(&Job) -> Duration) -> f64 {
    let started = Instant::now();
    while started.elapsed() < SETTLED {
        time(with);
        time(without);
    }
    let (mut figures, mut limits) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        figures.push(time(with));
        limits.push(time(without));
    }
    milliseconds(median(figures)) - milliseconds(median(limits))
}

/// How long it takes from the start of a job to its request at the server.
fn arrival(server: &ModelServer, job: &Job) -> Duration {
    let (started, _) = job.run();
    let last: Option<Instant> = server.chats().last().map(|request| request.arrived);
    last.expect("a request").duration_since(started)
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
    let (mut figures, mut limits) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        figures.push(arrival(&server, &ours));
        limits.push(arrival(&server, &limit));
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
