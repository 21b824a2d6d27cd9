//! Long conversations and large sessions: what a round costs over thousands of them, what memory
//! does meanwhile, and what resuming and searching take against the size of what is on disk.
//! Draws the figures of the documentation.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use contract::event::{CallOutcome, CompactionStrategy, Event, EventKind, Outcome};
use contract::id::{CallId, Seq, SessionId, Timestamp};
use contract::log::Log;
use contract::message::{Part, Reply as Words, StopReason, ToolCall, Usage};
use contract::tool::ToolOutput;
use serde_json::json;
use sessions::store::Store;
use testkit::{ModelServer, Reply};

use crate::job::{Cost, Rig};
use crate::limits::{self, THOUGHT};
use crate::plot::{Axis, Plot, Scale, Series};
use crate::report::{Aim, Report, Row, Unit, median, milliseconds};

/// Rounds of which each is timed.
const ROUNDS: usize = 2_000;
/// Rounds over which memory is watched.
const MANY: usize = 10_000;
/// Sizes of sessions, in megabytes.
const SIZES: [u64; 4] = [1, 10, 100, 1_000];
/// How often each size is resumed and searched.
const RUNS: usize = 5;

/// Words that stand everywhere: together, near each other and never together, and words that stand
/// in every record and in no text.
const COMMON: [&[&str]; 5] =
    [&["parse"], &["value", "index", "token"], &["cargo", "needle"], &["input_tokens"], &["id"]];

/// Measures all of it.
pub(crate) fn measure(report: &mut Report) {
    rounds(report);
    memory(report);
    let mut figures = Vec::new();
    for size in SIZES {
        figures.push((size, session(report, size, Shape::Shortened)));
    }
    let unshortened = session(report, SIZES[3], Shape::Whole);
    draw_sessions(&figures, (SIZES[3], unshortened));
}

/// What a round takes, early and late.
fn rounds(report: &mut Report) {
    let Watched { times, sizes, .. } = conversation(ROUNDS, None);
    let times: Vec<f64> = times.into_iter().map(milliseconds).collect();
    let records = Rig::new();
    for from in [20, ROUNDS - 110] {
        let figure = median(times[from..from + 100].to_vec());
        let size = sizes[from + 50];
        let bare = limits::rounds(100, Some(&records.path("records")), size);
        let what = format!("rounds {from} to {} ({} KB each)", from + 100, size / 1000);
        let row = row(&what, Unit::Milliseconds, figure, Aim::Nothing);
        report.add(Row { limit: Some(milliseconds(median(bare))), ..row });
    }
    let middle = times
        .chunks(20)
        .zip(1_u32..)
        .map(|(times, number)| (f64::from(number * 20), median(times.to_vec())));
    let series = Series { name: "median of 20 rounds".into(), points: middle.collect() };
    Plot {
        title: format!("What a round costs, over {ROUNDS} rounds (session synced)"),
        x: Axis { label: "round", scale: Scale::Linear },
        y: Axis { label: "ms from reply to next request", scale: Scale::Linear },
        series: vec![series],
    }
    .save("rounds.svg");
}

/// Whether memory grows while the history is kept short.
fn memory(report: &mut Report) {
    let watched = conversation(MANY, Some(20_000)).memory;
    let part = |range: &[(f64, f64)]| median(range.iter().map(|(_, size)| *size).collect());
    let early = part(&watched[watched.len() / 10..watched.len() / 5]);
    let late = part(&watched[watched.len() * 9 / 10..]);
    report.add(row(
        &format!("memory after 1,000 to 2,000 of {MANY} rounds"),
        Unit::Megabytes,
        early,
        Aim::Nothing,
    ));
    report.add(row(
        &format!("memory in the last 1,000 of {MANY} rounds"),
        Unit::Megabytes,
        late,
        Aim::Figure(early + 1.0),
    ));
    Plot {
        title: format!("Memory over {MANY} rounds, the history shortened on the way"),
        x: Axis { label: "round", scale: Scale::Linear },
        y: Axis { label: "resident MB", scale: Scale::Linear },
        series: vec![Series { name: "resident memory".into(), points: watched }],
    }
    .save("memory.svg");
}

struct Watched {
    times: Vec<Duration>,
    /// Bytes of the requests.
    sizes: Vec<usize>,
    memory: Vec<(f64, f64)>,
}

#[derive(Default)]
struct Seen {
    replied: Option<Instant>,
    times: Vec<Duration>,
    sizes: Vec<usize>,
    memory: Vec<(f64, f64)>,
    process: Option<u32>,
    count: usize,
}

/// Has a conversation of many rounds, in a context of so many tokens.
fn conversation(rounds: usize, context: Option<usize>) -> Watched {
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let watching = Arc::clone(&seen);
    let server = ModelServer::respond_with(move |request| {
        if context.is_none() {
            std::thread::sleep(THOUGHT.saturating_sub(request.arrived.elapsed()));
        }
        let mut seen = watching.lock().unwrap_or_else(PoisonError::into_inner);
        seen.count += 1;
        if let Some(replied) = seen.replied {
            seen.times.push(request.arrived.saturating_duration_since(replied));
            seen.sizes.push(request.text.len());
        }
        if seen.count.is_multiple_of(50)
            && let Some(size) = seen.process.and_then(resident)
        {
            let round = f64::from(u32::try_from(seen.count).unwrap_or(0));
            seen.memory.push((round, size));
        }
        let reply = if request.text.contains("Write a summary of this conversation") {
            Reply::text("All is well so far.").usage(9_000, 20)
        } else if seen.count <= rounds {
            let used = u64::try_from(request.text.len() / 4).unwrap_or(0);
            let look = json!({"operation": "exists", "path": seen.count.to_string()});
            Reply::calls([("Inspect", look)]).usage(used, 20)
        } else {
            Reply::text("done")
        };
        seen.replied = Some(Instant::now());
        reply
    })
    .forget_requests()
    .unparsed();
    let rig = Rig::with_model(&server);
    let registry = context.map_or_else(String::new, |tokens| {
        format!(
            "models:\n  registry:\n    test-model:\n      descriptor: {{family: test}}\n      \
             bindings: {{test: {{model_id: test-model, max_context: {tokens}}}}}\n"
        )
    });
    rig.more(&format!("{registry}logging:\n  enabled: false\n"));
    let limit = (rounds * 2).to_string();
    let mut child = rig.brynhild(&["chat", "Look around", "--max-turns", &limit]).spawn();
    seen.lock().unwrap_or_else(PoisonError::into_inner).process = Some(child.id());
    let status = child.wait().expect("a child that nobody else waits for");
    assert!(status.success(), "the conversation ended with {status}");
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    let Seen { times, sizes, memory, .. } = std::mem::take(&mut *seen);
    Watched { times, sizes, memory }
}

/// Resident memory of a process, in megabytes.
fn resident(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// Whether the history of a session was shortened on its way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Shortened,
    Whole,
}

/// What a session of one size takes.
#[derive(Clone, Copy)]
struct Figures {
    resume: Cost,
    reading: Duration,
    search: Duration,
}

fn session(report: &mut Report, megabytes: u64, shape: Shape) -> Figures {
    let server = ModelServer::start([Reply::text("On it.")]).repeat_last().forget_requests();
    let rig = Rig::with_model(&server);
    rig.more("logging:\n  enabled: false\n");
    let directory = rig.config_directory().join("sessions");
    let events = generate(&directory, megabytes << 20, shape);
    let log = directory.join("large.jsonl");
    let resume = rig.brynhild(&["chat", "Go on", "--resume", "large"]);
    let find = rig.brynhild(&["session", "search", "needle77x"]);
    let mut slowest = Duration::ZERO;
    for words in COMMON {
        let find = rig.brynhild(&[&["session", "search"], words].concat());
        let times = (0..RUNS).map(|_| find.wall()).collect();
        slowest = slowest.max(median(times));
    }
    let (mut costs, mut readings, mut searches) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        readings.push(read(&log));
        costs.push(resume.cost());
        searches.push(find.wall());
    }
    let figures = Figures {
        resume: Cost {
            wall: median(costs.iter().map(|cost| cost.wall).collect()),
            cpu: median(costs.iter().map(|cost| cost.cpu).collect()),
            peak_megabytes: median(costs.iter().map(|cost| cost.peak_megabytes).collect()),
        },
        reading: median(readings),
        search: median(searches),
    };
    let name = match shape {
        Shape::Shortened => format!("{megabytes} MB, {events} events"),
        Shape::Whole => format!("{megabytes} MB, never shortened"),
    };
    let time = milliseconds(figures.resume.wall);
    let resumed =
        row(&format!("resume a session of {name}"), Unit::Milliseconds, time, Aim::Figure(2_000.0));
    report.add(Row { limit: Some(milliseconds(figures.reading)), ..resumed });
    let peak = figures.resume.peak_megabytes;
    report.add(row(
        &format!("peak memory of it: {name}"),
        Unit::Megabytes,
        peak,
        Aim::Figure(300.0),
    ));
    let search = milliseconds(figures.search);
    report.add(row(&format!("search in {name}"), Unit::Milliseconds, search, Aim::Figure(1_000.0)));
    let slowest = milliseconds(slowest);
    report.add(row(
        &format!("slowest search for common words in {name}"),
        Unit::Milliseconds,
        slowest,
        Aim::Figure(3_000.0),
    ));
    figures
}

fn row(what: &str, unit: Unit, figure: f64, aim: Aim) -> Row {
    Row { what: what.to_owned(), unit, figure, limit: None, aim }
}

/// The time it takes to read a file and nothing else.
fn read(path: &Path) -> Duration {
    let mut file = File::open(path).expect("the session's log");
    let mut buffer = vec![0; 1 << 18];
    let started = Instant::now();
    while file.read(&mut buffer).expect("a file that can be read") > 0 {}
    started.elapsed()
}

/// Writes a session of so many bytes; returns how many events it has.
fn generate(directory: &Path, bytes: u64, shape: Shape) -> u64 {
    let store = Store::new(directory);
    let id = SessionId::parse("large").expect("a name");
    let log = store.create(&id).expect("a session");
    let mut state = 1;
    let mut seq = 0;
    let mut round = 0_u64;
    loop {
        let mut whats = Vec::new();
        if seq == 0 {
            whats.push(EventKind::SessionStarted { cwd: "/".into(), format: 1, forked_from: None });
        }
        for _ in 0..100 {
            round += 1;
            whats.extend(a_round(round, &mut state));
        }
        if shape == Shape::Shortened && round.is_multiple_of(500) {
            whats.push(EventKind::Compacted {
                summary: Some("All is well so far.".into()),
                strategy: CompactionStrategy::Summarize,
                dropped: 1_000,
                range: None,
                kept: 20,
                usage: Usage::default(),
                lasting: None,
            });
        }
        let at = Timestamp::now();
        let events: Vec<Event> = (seq + 1..)
            .zip(whats)
            .map(|(seq, what)| Event {
                seq: Seq(seq),
                session: id.clone(),
                at,
                within: None,
                kind: what,
            })
            .collect();
        seq += events.len() as u64;
        log.append(&events).expect("room on the disk");
        if fs::metadata(&log.path).expect("the session's log").len() >= bytes {
            return seq;
        }
    }
}

/// A turn with one call: seven events, about a kilobyte each.
fn a_round(number: u64, state: &mut u64) -> Vec<EventKind> {
    let call = ToolCall {
        id: CallId(format!("call-{number}")),
        name: "Bash".into(),
        args: json!({"command": format!("cargo test {}", words(state, 60))}),
        opaque: None,
    };
    let output = ToolOutput::success(words(state, 140));
    let reply = |parts, stop| EventKind::ReplyFinished {
        reply: Words { parts, stop },
        usage: Usage { input_tokens: 1_000, output_tokens: 50, ..Usage::default() },
    };
    vec![
        EventKind::TurnStarted { prompt: format!("needle{number}x {}", words(state, 100)) },
        reply(
            vec![Part::Text { text: words(state, 60) }, Part::Call(call.clone())],
            StopReason::ToolUse,
        ),
        EventKind::ToolCalled { call: call.clone() },
        EventKind::ToolFinished {
            call: call.id,
            name: call.name,
            outcome: CallOutcome::Ran,
            content: output.for_model(),
            output,
            duration_ms: 12,
        },
        reply(vec![Part::Text { text: words(state, 120) }], StopReason::EndTurn),
        EventKind::TurnFinished {
            outcome: Outcome::Answered { stop_reason: StopReason::EndTurn },
            usage: Usage::default(),
        },
    ]
}

/// Words that read like those of a program: some often, most rarely.
fn words(state: &mut u64, count: usize) -> String {
    const STEMS: [&str; 24] = [
        "parse", "value", "index", "token", "file", "error", "test", "build", "cache", "round",
        "write", "read", "model", "reply", "event", "record", "search", "block", "line", "path",
        "option", "result", "string", "number",
    ];
    let mut text = String::new();
    for _ in 0..count {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
        let number = usize::try_from(*state >> 40).unwrap_or(0);
        text.push_str(STEMS[number % STEMS.len()]);
        if number % 5 == 0 {
            text.push('_');
            text.push_str(STEMS[number / 7 % STEMS.len()]);
            text.push_str(&(number / 97 % 2_000).to_string());
        }
        text.push(if number % 11 == 0 { '\n' } else { ' ' });
    }
    text
}

fn draw_sessions(figures: &[(u64, Figures)], whole: (u64, Figures)) {
    let size = |megabytes: u64| f64::from(u32::try_from(megabytes).unwrap_or(0));
    let series = |name: &str, figure: &dyn Fn(&Figures) -> f64| Series {
        name: name.to_owned(),
        points: figures.iter().map(|(mb, it)| (size(*mb), figure(it))).collect(),
    };
    let alone = |name: &str, figure: f64| Series {
        name: name.to_owned(),
        points: vec![(size(whole.0), figure)],
    };
    let sizes = || Axis { label: "size of the session, MB", scale: Scale::Powers };
    Plot {
        title: "Resuming and searching against the size of a session".into(),
        x: sizes(),
        y: Axis { label: "ms", scale: Scale::Powers },
        series: vec![
            series("resume", &|it| milliseconds(it.resume.wall)),
            series("search", &|it| milliseconds(it.search)),
            series("reading the file alone", &|it| milliseconds(it.reading)),
            alone("resume, never shortened", milliseconds(whole.1.resume.wall)),
        ],
    }
    .save("session_time.svg");
    Plot {
        title: "Peak memory of resuming against the size of a session".into(),
        x: sizes(),
        y: Axis { label: "peak MB", scale: Scale::Linear },
        series: vec![
            series("resume", &|it| it.resume.peak_megabytes),
            alone("resume, never shortened", whole.1.resume.peak_megabytes),
        ],
    }
    .save("session_memory.svg");
}
