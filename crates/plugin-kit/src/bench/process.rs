//! The processes of a plugin, read from `/proc`: which program runs, and how much memory it has.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The pause between two looks at the processes.
const INTERVAL: Duration = Duration::from_millis(1);
/// The program that sets up the sandbox.
const SANDBOX_PROGRAM: &str = "bwrap";

/// A process below this one.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginProcess {
    pub program: PathBuf,
    pub megabytes: f64,
}

/// Watches the processes below this one while a call runs.
pub struct ProcessWatch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Option<PluginProcess>>,
}

impl ProcessWatch {
    pub fn start() -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        let watch = move || {
            let mut largest: Option<PluginProcess> = None;
            while !is_over.load(Ordering::Relaxed) {
                let seen = plugin_process(None).into_iter();
                largest = largest
                    .into_iter()
                    .chain(seen)
                    .max_by(|one, other| one.megabytes.total_cmp(&other.megabytes));
                std::thread::sleep(INTERVAL);
            }
            largest
        };
        Ok(Self { stop, thread: std::thread::Builder::new().spawn(watch)? })
    }

    /// Stops, and returns the process with the most memory.
    pub fn finish(self) -> Option<PluginProcess> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().ok().flatten()
    }
}

/// The outermost process below this one that is neither `other` nor a part of the sandbox.
pub(super) fn plugin_process(other: Option<u32>) -> Option<PluginProcess> {
    let own = fs::read_link("/proc/self/exe").ok()?;
    let mut waiting = children(std::process::id());
    while let Some(id) = waiting.pop() {
        if other == Some(id) {
            continue;
        }
        // A process that has ended has no program.
        let Ok(program) = fs::read_link(format!("/proc/{id}/exe")) else { continue };
        if program == own || program.ends_with(SANDBOX_PROGRAM) {
            waiting.extend(children(id));
            continue;
        }
        return Some(PluginProcess { program, megabytes: memory(id)? });
    }
    None
}

/// The resident memory of a process in megabytes.
pub(super) fn memory(id: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

fn children(id: u32) -> Vec<u32> {
    let tasks = fs::read_dir(Path::new("/proc").join(id.to_string()).join("task"));
    let mut children = Vec::new();
    for task in tasks.into_iter().flatten().flatten() {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        children.extend(text.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    }
    children
}
