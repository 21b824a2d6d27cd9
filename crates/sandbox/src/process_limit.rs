//! Limits the number of processes of a command. The usual limit counts per user and does not bind
//! root, so root needs another.

use contract::sandbox::Limits;

use crate::Backend;

/// Numbers that the kernel does not give to processes again once it has come around.
const RESERVED: u64 = 300;

/// For people: what bounds a command on `backend` for the user who runs this.
pub(crate) fn describe(backend: Backend) -> Result<&'static str, &'static str> {
    if !rustix::process::geteuid().is_root() {
        Ok("the number of processes is bounded by the limit of the user")
    } else if backend == Backend::Bubblewrap && has_own_numbers() {
        Ok("only the system's highest process number limits the number of processes")
    } else {
        Err("the number of processes of root is not bounded")
    }
}

/// Lowers the highest process number of the namespace that this process is in.
pub(crate) fn bound_numbers(limits: &Limits) {
    if has_own_numbers() {
        let most = limits.processes.saturating_add(RESERVED);
        // The limit of the user holds for everybody but root, who can write here.
        let _ = std::fs::write("/proc/sys/kernel/pid_max", most.to_string());
    }
}

/// Returns true if each process namespace has its own maximum. Before Linux 6.14 the maximum is that
/// of the whole machine, which must not be changed.
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
    fn process_limit_needs_a_recent_kernel() {
        assert!(is_recent("6.14.0") && is_recent("6.18.44-fc") && is_recent("7.0-rc1"));
        for old in ["6.13.9", "5.15.0-91-generic", "6", "x.y", ""] {
            assert!(!is_recent(old), "{old}");
        }
    }
}
