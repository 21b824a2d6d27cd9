//! The program as the helper: it restricts itself and becomes the command, or watches
//! over the command as its supervisor. Runs with one thread, no variables, and nothing but a plan.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode};

use contract::sandbox::{CHANNEL_IN, CHANNEL_OUT};
use fork::{Fork, fork};
use nix::sys::signal::SigSet;
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd, ioctl_fionbio};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, ioctl_tiocsctty, kill_process, set_child_subreaper,
    set_parent_process_death_signal, setsid, wait,
};

use crate::plan::Plan;
use crate::{home, proxy, self_restrict};

/// The code with which the helper ends when it could not do its work.
const FAILED: u8 = 125;

/// Descriptors that are only passing through stay at or above this number.
const ABOVE: RawFd = 10;

/// The names under which descriptors are handed to the helper.
pub(crate) const PLAN: &str = "plan";
pub(crate) const STATUS: &str = "status";
pub(crate) const LIFELINE: &str = "lifeline";
pub(crate) const READY: &str = "ready";
pub(crate) const CHANNEL_READER: &str = "in";
pub(crate) const CHANNEL_WRITER: &str = "out";
pub(crate) const PROXY: &str = "proxy";

/// The bytes that the supervisor reads after its plan: one for itself and one for its command.
pub(crate) const GO: [u8; 2] = *b"go";

/// Becomes the command.
pub(crate) const BECOME: &str = "become";
/// Watches over a child of its own that becomes the command.
pub(crate) const WATCH: &str = "watch";

/// Understands `become` and `watch`, each followed by descriptors (see [`Handed`]).
pub(crate) fn main(args: &[OsString]) -> ExitCode {
    let words: Vec<&str> = args.iter().filter_map(|word| word.to_str()).collect();
    // Otherwise it is named after the link by which it was started.
    let _ = rustix::thread::set_name(c"brynhild");
    let result = match words.split_first() {
        Some((&BECOME, handed)) => Handed::parse(handed).map(|handed| run(&handed)),
        Some((&WATCH, handed)) => Handed::parse(handed).map(|handed| watch(&handed)),
        _ => None,
    };
    result.and_then(Result::ok).unwrap_or(ExitCode::from(FAILED))
}

/// The descriptors that the helper was started with, as words like `plan=7`.
#[derive(Debug, PartialEq, Eq)]
struct Handed {
    /// Says what to do.
    plan: RawFd,
    /// Hears how it went.
    status: RawFd,
    /// Ends when the program that started this does.
    lifeline: Option<RawFd>,
    /// Says when the plan is there.
    ready: Option<RawFd>,
    /// Where the command reads and writes besides its streams.
    channel: Option<[RawFd; 2]>,
    /// Takes the socket on which the command finds its proxy.
    proxy: Option<RawFd>,
}

impl Handed {
    fn parse(words: &[&str]) -> Option<Self> {
        let numbers = words.iter().map(|word| {
            let (name, number) = word.split_once('=')?;
            Some((name, number.parse().ok()?))
        });
        let numbers: BTreeMap<&str, RawFd> = numbers.collect::<Option<_>>()?;
        let of = |name: &str| numbers.get(name).copied();
        Some(Self {
            plan: of(PLAN)?,
            status: of(STATUS)?,
            lifeline: of(LIFELINE),
            ready: of(READY),
            channel: of(CHANNEL_READER)
                .zip(of(CHANNEL_WRITER))
                .map(|(reader, writer)| [reader, writer]),
            proxy: of(PROXY),
        })
    }

    /// The descriptors for the command alone.
    fn passed(&self) -> Vec<RawFd> {
        let channel = self.channel.into_iter().flatten();
        [self.plan, self.status].into_iter().chain(channel).collect()
    }
}

fn run(handed: &Handed) -> io::Result<ExitCode> {
    let mut status = File::from(reopen(handed.status, OpenOptions::new().write(true))?);
    // A failed write means that whoever started this is gone: the command must not run.
    let failed = |words| format!("E{words}");
    let prepared = read_plan(handed).map_err(failed).and_then(|plan| {
        plan.expected.check().map_err(|words| format!("M{words}"))?;
        prepare(plan, handed, &status).map_err(failed)
    });
    match prepared {
        Ok(mut command) => {
            if status.write_all(b"R").is_ok() {
                let error = command.exec();
                let number = error.raw_os_error().unwrap_or(0);
                let _ = write!(status, "{number}");
            }
        }
        Err(message) => {
            let _ = status.write_all(message.as_bytes());
        }
    }
    Ok(ExitCode::from(FAILED))
}

fn read_plan(handed: &Handed) -> Result<Plan, String> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("cannot be tied to its parent: {error}"))?;
    let bytes =
        fs::read(path_of(handed.plan)).map_err(|error| format!("cannot read its plan: {error}"))?;
    Plan::decode(&bytes).ok_or_else(|| "has an invalid plan".to_owned())
}

fn prepare(mut plan: Plan, handed: &Handed, status: &File) -> Result<Command, String> {
    if let Some(line) = handed.proxy {
        proxy::offer(line).map_err(|error| format!("cannot connect to its proxy: {error}"))?;
    }
    settle_descriptors(status, handed.channel)
        .map_err(|error| format!("cannot set up its files: {error}"))?;
    setsid().map_err(|error| format!("cannot start a session: {error}"))?;
    if handed.channel.is_some() {
        adopt_terminal();
    }
    std::env::set_current_dir(&plan.cwd)
        .map_err(|error| format!("cannot enter {}: {error}", plan.cwd.display()))?;
    self_restrict::raise(&plan)?;
    if let Some(directory) = &plan.home {
        home::settle(directory, &mut plan.env);
    }
    // The signal mask of the supervisor is not that of its command.
    SigSet::empty()
        .thread_set_mask()
        .map_err(|error| format!("cannot receive signals: {error}"))?;
    let mut command = command(Path::new(&plan.program));
    command.args(&plan.args).envs(&plan.env);
    Ok(command)
}

/// Makes the channel the terminal of this session, where it is one.
fn adopt_terminal() {
    if let Ok(line) = File::open(path_of(CHANNEL_IN))
        && rustix::termios::isatty(&line)
    {
        // A session takes the first terminal that its leader opens, so this may have happened.
        let _ = ioctl_tiocsctty(&line);
    }
}

/// Leaves nothing open but the standard streams, `status`, and the channel at its own numbers.
fn settle_descriptors(status: &File, channel: Option<[RawFd; 2]>) -> io::Result<()> {
    let mut kept = vec![status.as_raw_fd()];
    let mut ends: Vec<(OwnedFd, RawFd)> = Vec::new();
    if let Some([reader, writer]) = channel {
        ends.push((reopen(reader, OpenOptions::new().read(true))?, CHANNEL_IN));
        ends.push((reopen(writer, OpenOptions::new().write(true))?, CHANNEL_OUT));
    }
    kept.extend(ends.iter().map(|(end, _)| end.as_raw_fd()));
    close_all_but(&kept)?;
    for (end, number) in ends {
        let placed = fcntl_dupfd_cloexec(&end, number)?;
        fcntl_setfd(&placed, FdFlags::empty())?;
        if placed.into_raw_fd() != number {
            return Err(io::Error::other(format!("descriptor {number} is in use")));
        }
    }
    Ok(())
}

/// Opens what an inherited descriptor stands for once more, out of the way of the low numbers.
fn reopen(descriptor: RawFd, options: &OpenOptions) -> io::Result<OwnedFd> {
    Ok(fcntl_dupfd_cloexec(options.open(path_of(descriptor))?, ABOVE)?)
}

/// Stays unrestricted, ends when the command ends or the lifeline is cut, and takes
/// everything below it along.
fn watch(handed: &Handed) -> io::Result<ExitCode> {
    let open =
        |number: Option<RawFd>| File::open(path_of(number.ok_or(io::ErrorKind::InvalidInput)?));
    let (lifeline, ready) = (open(handed.lifeline)?, open(handed.ready)?);
    ioctl_fionbio(&lifeline, true)?;
    let passed = handed.passed();
    let kept = [passed.as_slice(), &[lifeline.as_raw_fd(), ready.as_raw_fd()]].concat();
    close_all_but(&kept)?;
    let _ = setsid();
    set_child_subreaper(Some(getpid()))?;
    let mut signals = SigSet::empty();
    signals.add(nix::sys::signal::SIGCHLD);
    // Only the end of its command or of the program ends a supervisor.
    SigSet::all().thread_block()?;
    let ends = SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK)?;
    // This process has one thread, so that its copy can do all that it can itself; to start the
    // program anew would take the kernel a millisecond or two.
    let id = match fork()? {
        Fork::Child if is_told_to_go(&ready) => return run(handed),
        Fork::Child => return Ok(ExitCode::from(FAILED)),
        Fork::Parent(id) => Pid::from_raw(id),
    };
    let id = id.ok_or_else(|| io::Error::other("a child without an id"))?;
    for descriptor in passed {
        let _ = nix::unistd::close(descriptor);
    }
    let_go_of_streams()?;
    let mut charges = Charges::new();
    if !is_told_to_go(&ready) {
        charges.end();
        return Ok(ExitCode::from(FAILED));
    }
    Ok(ExitCode::from(attend(id, &mut charges, &ends, &lifeline)))
}

/// Waits until the plan is there; it never is where the program at the other end has ended.
fn is_told_to_go(mut ready: &File) -> bool {
    ready.read_exact(&mut [0]).is_ok()
}

/// Reaps what ends below, until `command` does or the lifeline is cut; then ends all the rest.
/// Returns the exit code of the command.
fn attend(command: Pid, charges: &mut Charges, ends: &SignalFd, lifeline: &File) -> u8 {
    let mut code = None;
    while code.is_none() {
        let mut wanted = [
            PollFd::from_borrowed_fd(ends.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(lifeline.as_fd(), PollFlags::IN),
        ];
        match poll(&mut wanted, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // Who cannot wait cannot watch: a limit on descriptors forbids this too.
            Err(_) => break,
        }
        let is_cut = !wanted[1].revents().is_empty();
        while let Ok(Some(_)) = ends.read_signal() {}
        // The command may have ended by itself, which is not to be mistaken for the kill below.
        while let Ok(Some((child, status))) = wait(WaitOptions::NOHANG) {
            if child == command {
                code = Some(code_of(status.as_raw()));
            }
        }
        if is_cut {
            break;
        }
    }
    charges.end();
    code.unwrap_or(128 + 9)
}

/// The processes below this one. The kernel's list of them is open from the start, so that no limit
/// on descriptors can hide them.
struct Charges {
    list: Option<File>,
}

impl Charges {
    fn new() -> Self {
        let own = getpid().as_raw_pid();
        Self { list: File::open(format!("/proc/self/task/{own}/children")).ok() }
    }

    /// Kills and reaps until nothing is left.
    fn end(&mut self) {
        loop {
            for child in self.listed() {
                let _ = kill_process(child, Signal::KILL);
            }
            match wait(WaitOptions::empty()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    fn listed(&mut self) -> Vec<Pid> {
        let mut text = String::new();
        if let Some(list) = &mut self.list {
            let _ = list.rewind().and(list.read_to_string(&mut text));
        }
        let ids = text.split_whitespace().filter_map(|word| word.parse().ok());
        ids.filter_map(Pid::from_raw).collect()
    }
}

fn code_of(raw: i32) -> u8 {
    let status = std::process::ExitStatus::from_raw(raw);
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(9));
    u8::try_from(code).unwrap_or(FAILED)
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
    fn a_signal_becomes_a_code_as_in_a_shell() {
        assert_eq!(code_of(3 << 8), 3);
        assert_eq!(code_of(9), 137);
    }

    #[test]
    fn invalid_plan_is_a_failure() {
        let failed = format!("{:?}", ExitCode::from(FAILED));
        assert_eq!(format!("{:?}", main(&[])), failed);
        assert_eq!(format!("{:?}", main(&[OsString::from("become")])), failed);
        assert_eq!(Handed::parse(&["plan=1", "status"]), None);
        assert_eq!(Handed::parse(&["plan=1", "status=x"]), None);
    }
}
