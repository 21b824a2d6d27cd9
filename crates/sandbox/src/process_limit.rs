//! What bounds the number of processes of a command. The usual limit counts per user and does not
//! bind root, so root needs another.

use std::fs::File;

use contract::sandbox::Limits;

use crate::Rung;
use crate::control_group::{self, Group};

/// Numbers that the kernel does not give to processes again once it has come around.
const RESERVED: u64 = 300;

/// What bounds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The limit of the user, counted in a user namespace or over all that the user runs.
    User,
    /// The highest process number of the namespace.
    Numbers,
    /// A control group.
    Group,
    /// Nothing.
    Nothing,
}

/// What bounds a command on `rung`, for the user who runs this.
pub(crate) fn bound(rung: Rung) -> Bound {
    if !rustix::process::geteuid().is_root() {
        Bound::User
    } else if rung == Rung::Bubblewrap && has_own_numbers() {
        Bound::Numbers
    } else if control_group::is_usable() {
        Bound::Group
    } else {
        Bound::Nothing
    }
}

/// For people.
pub(crate) fn describe(rung: Rung) -> Result<&'static str, &'static str> {
    match bound(rung) {
        Bound::User if rung == Rung::Bubblewrap => {
            Ok("the number of processes is bounded by the limit of the user in the namespace")
        }
        Bound::User => {
            Ok("the number of processes is bounded by the limit of the user, over all that runs")
        }
        Bound::Numbers => {
            Ok("the number of processes is bounded by the highest number in the namespace")
        }
        Bound::Group => Ok("the number of processes is bounded by a control group"),
        Bound::Nothing => Err("the number of processes of root is not bounded"),
    }
}

/// A control group for a command on `rung`, with the file by which it enters, where nothing else
/// would bound it.
pub(crate) fn group(rung: Rung, limits: &Limits) -> Option<(Group, File)> {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root || (rung == Rung::Bubblewrap && has_own_numbers()) {
        return None;
    }
    let group = Group::new(limits).ok()?;
    let door = group.door().ok()?;
    Some((group, door))
}

/// Lowers the highest process number of the namespace that this process is in.
pub(crate) fn bound_numbers(limits: &Limits) {
    if has_own_numbers() {
        let most = limits.processes.saturating_add(RESERVED);
        // The limit of the user holds for everybody but root, who can write here.
        let _ = std::fs::write("/proc/sys/kernel/pid_max", most.to_string());
    }
}

/// Whether each process namespace has a highest number of its own. Before Linux 6.14 the number
/// is that of the whole machine, which must not be touched.
fn has_own_numbers() -> bool {
    let system = rustix::system::uname();
    system.release().to_str().is_ok_and(is_recent)
}

fn is_recent(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (6, 14),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_the_whole_machine_is_never_touched() {
        assert!(is_recent("6.14.0") && is_recent("6.18.44-fc") && is_recent("7.0-rc1"));
        for old in ["6.13.9", "5.15.0-91-generic", "6", "x.y", ""] {
            assert!(!is_recent(old), "{old}");
        }
    }
}
