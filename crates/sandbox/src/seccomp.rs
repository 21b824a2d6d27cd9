//! The system calls a confined process may not make: a filter for the kernel, built once by the
//! program and handed to its helpers as text. What is not named here is allowed; restrictions around
//! files are built elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

/// The system calls that stay allowed.
#[expect(clippy::struct_excessive_bools, reason = "each is a door of its own")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Openings {
    /// Internet sockets.
    pub(crate) internet: bool,
    /// Sockets with a path or an abstract name; pairs are always possible.
    pub(crate) local: bool,
    /// System V and POSIX message queues, semaphores and shared memory.
    pub(crate) ipc: bool,
    /// Modes, owners, times and further attributes of files.
    pub(crate) attributes: bool,
    /// True if namespaces hide other processes. Without them no call may reach a process by its number,
    /// or label a file by its name.
    pub(crate) hidden: bool,
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Condition = (u8, SeccompCmpOp, u64);

/// The steps of a filter, and what it answers.
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_GREATER: u16 = 0x25;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
const ERRNO: u32 = 0x0005_0000;
const ALLOW: u32 = 0x7fff_0000;
/// So many calls are looked at one after the other.
const TOGETHER: usize = 8;

const SPECIAL_BITS: [u64; 2] = [0o4000, 0o2000];
const NEW_NAMESPACES: [u64; 7] =
    [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541C;
const O_CREAT: u64 = 0o100;
const O_TMPFILE_BIT: u64 = 0o20_000_000;
const FCHMODAT2: c_long = 452;
const OPEN_TREE_ATTR: c_long = 467;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const FILE_SETATTR: c_long = 469;
/// Requests that set the flags of a file, in the forms of both word sizes, and its further attributes.
const SET_FLAGS: [u64; 3] = [0x4008_6602, 0x4004_6602, 0x401C_5820];

/// Calls that change the machine, reach into other processes, or widen the kernel's surface.
#[rustfmt::skip]
const DENIED: &[c_long] = &[
    libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot,
    libc::SYS_move_mount, libc::SYS_open_tree, OPEN_TREE_ATTR, libc::SYS_fsopen,
    libc::SYS_fsconfig, libc::SYS_fsmount, libc::SYS_fspick, libc::SYS_mount_setattr,
    libc::SYS_unshare, libc::SYS_setns, libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_keyctl,
    libc::SYS_add_key, libc::SYS_request_key, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register, libc::SYS_userfaultfd, libc::SYS_ptrace,
    libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_process_madvise,
    libc::SYS_kcmp, libc::SYS_pidfd_getfd, libc::SYS_open_by_handle_at, libc::SYS_init_module,
    libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_kexec_load,
    libc::SYS_kexec_file_load, libc::SYS_reboot, libc::SYS_swapon, libc::SYS_swapoff,
    libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_clock_adjtime, libc::SYS_adjtimex,
    libc::SYS_acct, libc::SYS_quotactl, libc::SYS_quotactl_fd, libc::SYS_syslog,
    libc::SYS_sethostname, libc::SYS_setdomainname, libc::SYS_vhangup, libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl, libc::SYS_fanotify_init, libc::SYS_move_pages, libc::SYS_migrate_pages,
];

#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const DENIED_HERE: &[c_long] = &[
    libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt, libc::SYS_uselib, libc::SYS_ustat,
    libc::SYS_sysfs, libc::SYS__sysctl,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: &[c_long] = &[];

#[rustfmt::skip]
const SHARED: &[c_long] = &[
    libc::SYS_shmget, libc::SYS_shmat, libc::SYS_shmctl, libc::SYS_semget, libc::SYS_semctl,
    libc::SYS_semop, libc::SYS_semtimedop, libc::SYS_msgget, libc::SYS_msgsnd, libc::SYS_msgrcv,
    libc::SYS_msgctl, libc::SYS_mq_open, libc::SYS_mq_unlink,
];

/// Calls that change what is known of a file, not what is in it: no rule about files holds them back.
#[rustfmt::skip]
const ATTRIBUTES: &[c_long] = &[
    libc::SYS_fchmod, libc::SYS_fchmodat, FCHMODAT2, libc::SYS_fchown, libc::SYS_fchownat,
    libc::SYS_utimensat,
];
/// Calls that label files or set their flags, which programs do without where a file system has none.
#[rustfmt::skip]
const LABELS: &[c_long] = &[
    libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_fsetxattr, libc::SYS_removexattr,
    libc::SYS_lremovexattr, libc::SYS_fremovexattr, SETXATTRAT, REMOVEXATTRAT, FILE_SETATTR,
];
/// Calls that say when and where the process with a number runs; zero is the caller.
const SCHEDULING: &[c_long] = &[
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
];
/// The like of these for a process, a group or all of a user, with the number of the last kind.
const PRIORITIES: [(c_long, u64); 2] = [(libc::SYS_setpriority, 2), (libc::SYS_ioprio_set, 3)];
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const ATTRIBUTES_HERE: &[c_long] = &[
    libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const ATTRIBUTES_HERE: &[c_long] = &[];

/// Calls that are said to be missing, because every libc then takes an older one whose arguments
/// a filter can see.
const ABSENT: &[c_long] = &[libc::SYS_clone3, libc::SYS_openat2];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: (TargetArch, u32) = (TargetArch::x86_64, 0xC000_003E);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: (TargetArch, u32) = (TargetArch::aarch64, 0xC000_00B7);

/// The filter as text.
pub(crate) fn written(openings: Openings) -> Result<String, String> {
    static KNOWN: Mutex<BTreeMap<Openings, String>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = known.get(&openings) {
        return Ok(text.clone());
    }
    let text = write(&filter(openings)?);
    known.insert(openings, text.clone());
    Ok(text)
}

/// A filter from its text. `None` where the text is none.
pub(crate) fn read(text: &str) -> Option<BpfProgram> {
    let steps = text.split_whitespace().map(|step| {
        Some(sock_filter {
            code: u16::from_str_radix(step.get(..4)?, 16).ok()?,
            jt: u8::from_str_radix(step.get(4..6)?, 16).ok()?,
            jf: u8::from_str_radix(step.get(6..8)?, 16).ok()?,
            k: u32::from_str_radix(step.get(8..)?, 16).ok()?,
        })
    });
    steps.collect::<Option<BpfProgram>>().filter(|program| !program.is_empty())
}

fn write(filter: &[sock_filter]) -> String {
    let mut text = String::with_capacity(filter.len() * 17);
    for step in filter {
        let _ = write!(text, "{:04x}{:02x}{:02x}{:08x} ", step.code, step.jt, step.jf, step.k);
    }
    text
}

/// The filter. Whenever one is loaded the kernel goes through it once for every call there is, so that a
/// list which is looked at from its beginning costs a third of a millisecond at each start: this one is
/// parted by the numbers of calls.
fn filter(openings: Openings) -> Result<BpfProgram, String> {
    let mut filter = own_interface_only();
    let labels = if openings.hidden { &[] } else { LABELS };
    let absent = ABSENT.iter().map(|&call| (call, libc::ENOSYS));
    for (call, number) in absent.chain(labels.iter().map(|&call| (call, libc::EOPNOTSUPP))) {
        filter.push(step(JUMP_IF_EQUAL, 0, 1, word(call)?));
        filter.push(refuse(number));
    }
    let rules: Vec<_> = rules(openings)?.into_iter().collect();
    for part in rules.chunks(TOGETHER) {
        let last = part.last().map_or(Ok(0), |(call, _)| word(*call))?;
        let part = compile(part.iter().cloned().collect())?;
        // A part answers all of its calls; those beyond its last number are for the next.
        filter.push(step(JUMP_IF_GREATER, 0, 1, last));
        filter.push(step(JUMP, 0, 0, word(part.len())?));
        filter.extend(part);
    }
    filter.push(step(RETURN, 0, 0, ALLOW));
    Ok(filter)
}

/// Turns away calls through another processor interface than this program's own. Goes on with the number of
/// the call loaded.
fn own_interface_only() -> BpfProgram {
    const X32: u32 = 0x4000_0000;
    vec![
        step(LOAD, 0, 0, 4),
        step(JUMP_IF_EQUAL, 1, 0, ARCHITECTURE.1),
        refuse(libc::EPERM),
        step(LOAD, 0, 0, 0),
        step(JUMP_IF_AT_LEAST, 0, 1, X32),
        refuse(libc::ENOSYS),
    ]
}

fn step(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn refuse(number: i32) -> sock_filter {
    step(RETURN, 0, 0, ERRNO | number.unsigned_abs())
}

fn word(number: impl TryInto<u32>) -> Result<u32, String> {
    number.try_into().map_err(|_| "a number in the system call filter is too large".to_owned())
}

fn compile(rules: Rules) -> Result<BpfProgram, String> {
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refused, ARCHITECTURE.0)
        .and_then(BpfProgram::try_from)
        .map_err(|error| format!("the system call filter cannot be built: {error}"))
}

/// The bits of a socket's kind; the others are flags.
const SOCKET_KINDS: u64 = 0xf;

fn rules(openings: Openings) -> Result<Rules, String> {
    let mut rules: Rules =
        DENIED.iter().chain(DENIED_HERE).map(|&call| (call, Vec::new())).collect();
    if !openings.ipc {
        rules.extend(SHARED.iter().map(|&call| (call, Vec::new())));
    }
    let clone = NEW_NAMESPACES.map(|bit| vec![has(0, bit)]);
    add(&mut rules, libc::SYS_clone, &clone)?;
    let terminal = [TIOCSTI, TIOCLINUX].map(|request| vec![(1, SeccompCmpOp::Eq, request)]);
    add(&mut rules, libc::SYS_ioctl, &terminal)?;
    // Limits of another process: one that is low enough ends it, where no namespace hides it.
    add(&mut rules, libc::SYS_prlimit64, &[vec![(0, SeccompCmpOp::Ne, 0)]])?;
    add_modes(&mut rules)?;
    let mut families = Vec::new();
    for (is_open, family) in [
        (openings.local, libc::AF_UNIX),
        (openings.internet, libc::AF_INET),
        (openings.internet, libc::AF_INET6),
    ] {
        if is_open {
            families.push((0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())));
        }
    }
    if families.is_empty() {
        rules.insert(libc::SYS_socket, Vec::new());
    } else {
        add(&mut rules, libc::SYS_socket, &[families])?;
    }
    if !openings.attributes {
        let calls = ATTRIBUTES.iter().chain(ATTRIBUTES_HERE).chain(LABELS);
        rules.extend(calls.map(|&call| (call, Vec::new())));
        let flags = SET_FLAGS.map(|request| vec![(1, SeccompCmpOp::Eq, request)]);
        add(&mut rules, libc::SYS_ioctl, &flags)?;
    }
    if !openings.hidden {
        let other = |argument| vec![(argument, SeccompCmpOp::Ne, 0)];
        for &call in SCHEDULING {
            add(&mut rules, call, &[other(0)])?;
        }
        for (call, user) in PRIORITIES {
            add(&mut rules, call, &[other(1), vec![(0, SeccompCmpOp::Eq, user)]])?;
        }
    }
    let mut pairs = vec![vec![(0, SeccompCmpOp::Ne, u64::from(libc::AF_UNIX.unsigned_abs()))]];
    if !openings.local {
        // An end of such a pair sends to whatever address it is told.
        let kind =
            |kind: i32| (1, SeccompCmpOp::MaskedEq(SOCKET_KINDS), u64::from(kind.unsigned_abs()));
        pairs.extend([libc::SOCK_DGRAM, libc::SOCK_RAW].map(|it| vec![kind(it)]));
    }
    add(&mut rules, libc::SYS_socketpair, &pairs)?;
    Ok(rules)
}

/// No set-user-id bit and no device node, by whichever call.
fn add_modes(rules: &mut Rules) -> Result<(), String> {
    for (call, argument) in mode_calls() {
        add(rules, call, &SPECIAL_BITS.map(|bit| vec![has(argument, bit)]))?;
    }
    for (call, flags, mode) in open_calls() {
        let mut alternatives = Vec::new();
        for creates in [O_CREAT, O_TMPFILE_BIT] {
            for bit in SPECIAL_BITS {
                alternatives.push(vec![has(flags, creates), has(mode, bit)]);
            }
        }
        add(rules, call, &alternatives)?;
    }
    for (call, mode) in node_calls() {
        let kind = u64::from(libc::S_IFMT);
        let mut alternatives: Vec<_> = [libc::S_IFCHR, libc::S_IFBLK]
            .map(|device| vec![(mode, SeccompCmpOp::MaskedEq(kind), u64::from(device))])
            .to_vec();
        alternatives.extend(SPECIAL_BITS.map(|bit| vec![has(mode, bit)]));
        add(rules, call, &alternatives)?;
    }
    Ok(())
}

fn mode_calls() -> Vec<(c_long, u8)> {
    let calls = vec![(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2)];
    #[cfg(target_arch = "x86_64")]
    let calls = [calls, vec![(libc::SYS_chmod, 1), (libc::SYS_creat, 1)]].concat();
    calls
}

fn open_calls() -> Vec<(c_long, u8, u8)> {
    let calls = vec![(libc::SYS_openat, 2, 3)];
    #[cfg(target_arch = "x86_64")]
    let calls = [calls, vec![(libc::SYS_open, 1, 2)]].concat();
    calls
}

fn node_calls() -> Vec<(c_long, u8)> {
    let calls = vec![(libc::SYS_mknodat, 2)];
    #[cfg(target_arch = "x86_64")]
    let calls = [calls, vec![(libc::SYS_mknod, 1)]].concat();
    calls
}

fn has(argument: u8, bits: u64) -> Condition {
    (argument, SeccompCmpOp::MaskedEq(bits), bits)
}

/// Denies `call` where all conditions of any alternative hold. Only the low half of an argument
/// is compared, because the kernel ignores the high one.
fn add(rules: &mut Rules, call: c_long, alternatives: &[Vec<Condition>]) -> Result<(), String> {
    let fault = |error| format!("a system call rule cannot be built: {error}");
    for conditions in alternatives {
        let mut built = Vec::new();
        for (argument, operator, value) in conditions {
            let length = SeccompCmpArgLen::Dword;
            let condition = SeccompCondition::new(*argument, length, operator.clone(), *value)
                .map_err(fault)?;
            built.push(condition);
        }
        let rule = SeccompRule::new(built).map_err(fault)?;
        rules.entry(call).or_default().push(rule);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
