//! The program's other life: it raises the walls around itself and becomes the command, or watches
//! over the command as its warden. Runs with one thread, no variables, and nothing but a plan.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal, setsid, wait, waitpid,
};

use crate::plan::Plan;
use crate::walls;

/// The code with which the helper ends when it could not do its work.
const FAILED: u8 = 125;

/// Becomes the command.
pub(crate) const BECOME: &str = "become";
/// Watches over a second helper that becomes the command.
pub(crate) const WATCH: &str = "watch";

/// Understands `become PLAN STATUS` and `watch PLAN STATUS LIFELINE`, all descriptor numbers.
pub(crate) fn main(args: &[OsString]) -> ExitCode {
    let words: Vec<&str> = args.iter().filter_map(|word| word.to_str()).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<RawFd>().ok());
    match (words.first(), number(1), number(2), number(3)) {
        (Some(&BECOME), Some(plan), Some(status), None) => run(plan, status),
        (Some(&WATCH), Some(plan), Some(status), Some(lifeline)) => {
            watch(plan, status, lifeline).unwrap_or(ExitCode::from(FAILED))
        }
        _ => ExitCode::from(FAILED),
    }
}

fn run(plan: RawFd, status: RawFd) -> ExitCode {
    let Ok(mut status) = OpenOptions::new().write(true).open(path_of(status)) else {
        return ExitCode::from(FAILED);
    };
    // A failed write means that whoever started this is gone: the command must not run.
    match prepare(plan, &status) {
        Ok(mut command) => {
            if status.write_all(b"R").is_ok() {
                let error = command.exec();
                let number = error.raw_os_error().unwrap_or(0);
                let _ = write!(status, "{number}");
            }
        }
        Err(words) => {
            let _ = write!(status, "E{words}");
        }
    }
    ExitCode::from(FAILED)
}

fn prepare(plan: RawFd, status: &File) -> Result<Command, String> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("cannot be tied to its parent: {error}"))?;
    let bytes =
        fs::read(path_of(plan)).map_err(|error| format!("cannot read its plan: {error}"))?;
    let plan = Plan::decode(&bytes).ok_or("has a plan that makes no sense")?;
    close_all_but(&[status.as_raw_fd()]).map_err(|error| format!("cannot close files: {error}"))?;
    let _ = setsid();
    std::env::set_current_dir(&plan.cwd)
        .map_err(|error| format!("cannot enter {}: {error}", plan.cwd.display()))?;
    walls::raise(&plan)?;
    let mut command = command(Path::new(&plan.program));
    command.args(&plan.args).envs(&plan.env);
    Ok(command)
}

/// Stays outside of the walls, ends when the command ends or the lifeline is cut, and takes
/// everything below it along.
fn watch(plan: RawFd, status: RawFd, lifeline: RawFd) -> io::Result<ExitCode> {
    let lifeline = File::open(path_of(lifeline))?;
    close_all_but(&[plan, status, lifeline.as_raw_fd()])?;
    let _ = setsid();
    set_child_subreaper(Some(getpid()))?;
    let child = command(Path::new("/proc/self/exe"))
        .arg(crate::HELPER_COMMAND)
        .args([BECOME, &plan.to_string(), &status.to_string()])
        .spawn()?;
    let _ = nix::unistd::close(status);
    let _ = nix::unistd::close(plan);
    let_go_of_streams()?;
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let id = id.ok_or_else(|| io::Error::other("a child without an id"))?;
    let ended = pidfd_open(id, PidfdFlags::empty())?;
    loop {
        let mut wanted = [
            PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(lifeline.as_fd(), PollFlags::IN),
        ];
        match poll(&mut wanted, None) {
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(ExitCode::from(end_everything(id)))
}

/// Kills and reaps until nothing is left; returns what `command` ended with.
fn end_everything(command: Pid) -> u8 {
    let mut code = 128 + 9;
    // The command may have ended by itself, which is not to be mistaken for the kill below.
    if let Ok(Some((_, status))) = waitpid(Some(command), WaitOptions::NOHANG) {
        code = code_of(status.as_raw());
    }
    loop {
        for child in children() {
            let _ = kill_process(child, Signal::KILL);
        }
        match wait(WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return code,
        }
    }
}

fn code_of(raw: i32) -> u8 {
    let status = std::process::ExitStatus::from_raw(raw);
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(9));
    u8::try_from(code).unwrap_or(FAILED)
}

fn children() -> Vec<Pid> {
    let own = getpid().as_raw_pid();
    let listed = fs::read_to_string(format!("/proc/self/task/{own}/children"));
    let ids: Vec<i32> = match listed {
        Ok(text) => text.split_whitespace().filter_map(|word| word.parse().ok()).collect(),
        Err(_) => search_children(own),
    };
    ids.into_iter().filter_map(Pid::from_raw).collect()
}

/// The same by looking at every process, for kernels that do not list children.
fn search_children(own: i32) -> Vec<i32> {
    let parent = |id: i32| {
        let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (_, rest) = text.rsplit_once(')')?;
        rest.split_whitespace().nth(1)?.parse::<i32>().ok()
    };
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&id| parent(id) == Some(own))
        .collect()
}

fn let_go_of_streams() -> io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

fn close_all_but(kept: &[RawFd]) -> io::Result<()> {
    let open: Vec<RawFd> = fs::read_dir("/proc/self/fd")?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    for descriptor in open.into_iter().filter(|number| *number > 2) {
        if !kept.contains(&descriptor) {
            // The listing's own descriptor is closed already.
            let _ = nix::unistd::close(descriptor);
        }
    }
    Ok(())
}

fn path_of(descriptor: RawFd) -> String {
    format!("/proc/self/fd/{descriptor}")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the helper becomes the command that the sandbox was asked to start"
)]
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_find_children_agree() {
        let mut child = command(Path::new("sleep")).arg("60").spawn().unwrap();
        let id = i32::try_from(child.id()).unwrap();
        let found = search_children(getpid().as_raw_pid());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.contains(&id));
    }

    #[test]
    fn a_signal_becomes_a_code_as_in_a_shell() {
        assert_eq!(code_of(3 << 8), 3);
        assert_eq!(code_of(9), 137);
    }

    #[test]
    fn nonsense_is_a_failure() {
        let failed = format!("{:?}", ExitCode::from(FAILED));
        assert_eq!(format!("{:?}", main(&[])), failed);
        assert_eq!(format!("{:?}", main(&[OsString::from("become")])), failed);
    }
}
