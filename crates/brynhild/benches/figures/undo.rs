//! The time that undo adds to a command in a workspace of twenty thousand files: a look at the paths
//! that changed, before and after. For comparison, a bare look at the times of all files, twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::action::Action;
use contract::id::SessionId;
use contract::sandbox::Access;
use contract::snapshots::{Effect, Snapshots};
use files::changes::ChangeTracker;
use sessions::snapshots::{SessionSnapshots, Settings};
use tokio_util::sync::CancellationToken;

use crate::report::{Aim, Report, Row, Unit, median, milliseconds};

const DIRECTORIES: usize = 2_000;
const FILES: usize = 10;
const RUNS: usize = 15;

/// Measures it.
pub(crate) fn measure(report: &mut Report) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let root = directory.path().canonicalize().expect("its path").join("work");
    let paths = workspace(&root);
    let settings = Settings {
        directory: root.with_file_name("store"),
        root: root.clone(),
        tracker: Arc::new(ChangeTracker::new(root.clone())),
        others: Vec::new(),
        max_file: 16 << 20,
        max_total: 1 << 30,
        is_confined: true,
        linked_git: None,
    };
    let keeper = SessionSnapshots::new(settings, SessionId::parse("bench").expect("a name"));
    let first = around(&keeper, &root, || {});
    // What has changed a moment ago is read again; that is over when this is.
    std::thread::sleep(Duration::from_millis(100));
    let (mut times, mut limits) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        times.push(around(&keeper, &root, || {}));
        limits.push(bare(&paths));
    }
    let mut changing = Vec::new();
    for run in 0..RUNS {
        let path = root.join("changed.txt");
        let change = || fs::write(path, run.to_string()).expect("a file that can be written");
        changing.push(around(&keeper, &root, change));
    }
    let mut add = |what: &str, figure: Duration, limit: Option<Duration>, aim| {
        let (figure, limit) = (milliseconds(figure), limit.map(milliseconds));
        let what = what.to_owned();
        report.add(Row { what, unit: Unit::Milliseconds, figure, limit, aim });
    };
    let limit = Some(median(limits));
    add("undo: added to the first command, 20,000 files", first, None, Aim::Nothing);
    add("undo: added to a command that changes nothing", median(times), limit, Aim::Figure(30.0));
    add("undo: added to a command that changes a file", median(changing), limit, Aim::Nothing);
}

fn workspace(root: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for directory in 0..DIRECTORIES {
        let directory = root.join(format!("directory-{directory}"));
        fs::create_dir_all(&directory).expect("a directory");
        for file in 0..FILES {
            let path = directory.join(format!("file-{file}.txt"));
            fs::write(&path, format!("{}\n", path.display()).repeat(20)).expect("a file");
            paths.push(path);
        }
    }
    paths
}

/// The time that is added to a command.
fn around(keeper: &SessionSnapshots, root: &Path, command: impl FnOnce()) -> Duration {
    let action = Action::Run { command: "make".into(), cwd: root.to_owned() };
    let effect = Effect { actions: vec![action], access: Access::Workspace };
    let start = Instant::now();
    keeper.before(&[effect], &CancellationToken::new());
    let before = start.elapsed();
    command();
    let start = Instant::now();
    keeper.after();
    before + start.elapsed()
}

fn bare(paths: &[PathBuf]) -> Duration {
    let start = Instant::now();
    for path in paths.iter().chain(paths) {
        std::hint::black_box(path.symlink_metadata().expect("a file"));
    }
    start.elapsed()
}
