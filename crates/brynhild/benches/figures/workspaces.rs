//! The cost of a Bash call that writes one file, end to end, in workspaces of different sizes: the
//! time from the model's reply to the request that carries the result. It must not grow.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{ModelServer, Reply};

use crate::job::Rig;
use crate::report::{Aim, Report, Row, Unit, median, milliseconds};

/// Calls in one session; the first ones scan the workspace and are left out.
const CALLS: usize = 24;
const WARM_UP: usize = 4;

/// Starts the program where bubblewrap cannot be found.
const WITHOUT_BUBBLEWRAP: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/backends/landlock.sh");

type Fill = fn(&Path);

const WORKSPACES: [(&str, Fill); 6] = [
    ("10 files", |root| files(root, 1, 10)),
    ("20,000 files", |root| files(root, 200, 100)),
    ("100,000 files", |root| files(root, 1_000, 100)),
    ("20,000 directories", |root| files(root, 20_000, 1)),
    ("400 nested repositories", |root| repositories(root, 400)),
    ("200 files of 10 MB", |root| large(root, 200)),
];

/// Measures every workspace under every sandbox of this machine.
pub(crate) fn measure(report: &mut Report) {
    for sandbox in ["bubblewrap", "landlock"] {
        let mut smallest = None;
        for (name, fill) in WORKSPACES {
            let (time, first, disk) = call(sandbox, fill);
            let limit = *smallest.get_or_insert(time);
            let aim = if name == "10 files" { Aim::Figure(12.0) } else { Aim::Ratio(2.0) };
            let mut add = |what: String, unit, figure, limit, aim| {
                report.add(Row { what, unit, figure, limit, aim });
            };
            let what = format!("{sandbox}: a call that writes, {name}");
            add(what, Unit::Milliseconds, time, Some(limit), aim);
            let what = format!("{sandbox}: the first such call, {name}");
            add(what, Unit::Milliseconds, first, None, Aim::Nothing);
            let what = format!("{sandbox}: disk used by undo, {name}");
            add(what, Unit::Megabytes, disk, None, Aim::Nothing);
        }
    }
}

/// The median and the first time of a call in milliseconds, and the megabytes under the home
/// directory afterwards.
fn call(sandbox: &str, fill: Fill) -> (f64, f64, f64) {
    let sent: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let times = Arc::clone(&sent);
    let server = ModelServer::respond_with(move |_| {
        let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
        times.push(Instant::now());
        if times.len() <= CALLS {
            let command = format!("echo {} > written.txt", times.len());
            Reply::calls([("Bash", json!({"command": command}))])
        } else {
            Reply::text("done")
        }
    });
    let rig = Rig::with_model(&server);
    let root = rig.path("work");
    fs::create_dir(&root).expect("a directory");
    fill(&root);
    let shipped = env!("CARGO_BIN_EXE_brynhild");
    let program = if sandbox == "landlock" { WITHOUT_BUBBLEWRAP } else { shipped };
    let job = rig.job(program, &["chat", "--yes", "Write"]).env("SHIPPED", shipped);
    job.project(&root).hushed().run();
    let sent = sent.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let requests = server.chats();
    assert_eq!(requests.len(), CALLS + 1, "one request for each call and the last one");
    let next = requests.iter().skip(1).map(|request| request.arrived);
    let times: Vec<Duration> =
        sent.iter().zip(next).map(|(sent, next)| next.duration_since(*sent)).collect();
    let disk = size(&rig.config_directory());
    (milliseconds(median(times[WARM_UP..].to_vec())), milliseconds(times[0]), disk)
}

fn files(root: &Path, directories: usize, each: usize) {
    for directory in 0..directories {
        let directory = root.join(format!("directory-{directory}"));
        fs::create_dir_all(&directory).expect("a directory");
        for file in 0..each {
            let path = directory.join(format!("file-{file}.txt"));
            fs::write(&path, format!("{}\n", path.display()).repeat(10)).expect("a file");
        }
    }
}

fn repositories(root: &Path, count: usize) {
    for repository in 0..count {
        let git = root.join(format!("repository-{repository}/.git"));
        for directory in ["objects", "refs/heads", "hooks", "info"] {
            fs::create_dir_all(git.join(directory)).expect("a directory");
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
        fs::write(git.join("config"), "[core]\n\tbare = false\n").expect("a file");
        fs::write(git.join("hooks/pre-commit.sample"), "#!/bin/sh\n").expect("a file");
        fs::write(git.with_file_name("a.txt"), "a\n").expect("a file");
    }
}

/// Sparse files: large to read, small on the disk.
fn large(root: &Path, count: usize) {
    for file in 0..count {
        let file = fs::File::create(root.join(format!("large-{file}.bin"))).expect("a file");
        file.set_len(10 << 20).expect("a size");
    }
}

/// The size of all files below a directory, in megabytes.
fn size(directory: &Path) -> f64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0.0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(data) if data.is_dir() => size(&entry.path()),
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        Ok(data) => data.len() as f64 / 1e6,
        Err(_) => 0.0,
    });
    sizes.sum()
}
