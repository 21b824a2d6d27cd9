//! Runs the filter in a small interpreter of the kernel's filter language.

use super::*;

const EPERM: u32 = 0x0005_0001;
const ENOSYS: u32 = 0x0005_0026;

const OPEN: Openings =
    Openings { internet: true, local: true, ipc: true, attributes: true, hidden: true };

/// The decision of a filter on a call; loads and jumps as in the kernel.
fn run(program: &[sock_filter], data: &[u8; 64]) -> u32 {
    steps(program, data).0
}

/// The decision and the number of steps.
fn steps(program: &[sock_filter], data: &[u8; 64]) -> (u32, usize) {
    let mut accumulator = 0_u32;
    let (mut at, mut count) = (0, 0);
    loop {
        let step = &program[at];
        at += 1;
        count += 1;
        let jump = |is: bool| usize::from(if is { step.jt } else { step.jf });
        match step.code {
            0x20 => {
                let start = step.k as usize;
                accumulator = u32::from_ne_bytes(data[start..start + 4].try_into().unwrap());
            }
            0x54 => accumulator &= step.k,
            0x05 => at += step.k as usize,
            0x15 => at += jump(accumulator == step.k),
            0x25 => at += jump(accumulator > step.k),
            0x35 => at += jump(accumulator >= step.k),
            0x45 => at += jump(accumulator & step.k != 0),
            0x06 => return (step.k, count),
            other => panic!("unknown instruction {other:#x}"),
        }
    }
}

fn call_as(openings: Openings, architecture: u32, number: i64, args: &[u64]) -> u32 {
    let mut data = [0_u8; 64];
    data[..4].copy_from_slice(&u32::try_from(number).unwrap().to_ne_bytes());
    data[4..8].copy_from_slice(&architecture.to_ne_bytes());
    for (index, arg) in args.iter().enumerate() {
        data[16 + index * 8..24 + index * 8].copy_from_slice(&arg.to_ne_bytes());
    }
    run(&filter(openings).unwrap(), &data)
}

fn call(number: i64, args: &[u64]) -> u32 {
    call_as(OPEN, ARCHITECTURE.1, number, args)
}

#[test]
fn ordinary_calls_pass() {
    assert_eq!(call(libc::SYS_read, &[0, 0, 10]), ALLOW);
    assert_eq!(call(libc::SYS_execve, &[]), ALLOW);
    assert_eq!(call(libc::SYS_clone, &[0x003d_0f00]), ALLOW);
    assert_eq!(call(libc::SYS_ioctl, &[0, 0x5401]), ALLOW);
}

#[test]
fn dangerous_calls_are_denied() {
    for &number in DENIED.iter().chain(DENIED_HERE) {
        assert_eq!(call(number, &[]), EPERM, "call {number}");
    }
}

#[test]
fn calls_with_arguments_in_memory_are_enosys() {
    assert_eq!(call(libc::SYS_clone3, &[]), ENOSYS);
    assert_eq!(call(libc::SYS_openat2, &[]), ENOSYS);
}

#[test]
fn foreign_system_call_interfaces_are_denied() {
    const I386: u32 = 0x4000_0003;
    assert_eq!(call_as(OPEN, I386, 102, &[]), EPERM);
    assert_eq!(call(libc::SYS_read | 0x4000_0000, &[]), ENOSYS);
}

#[test]
fn clone_creates_no_namespace() {
    for bit in NEW_NAMESPACES {
        assert_eq!(call(libc::SYS_clone, &[bit | 0x11]), EPERM, "{bit:#x}");
    }
}

#[test]
fn terminal_injection_is_denied_with_any_high_bits() {
    assert_eq!(call(libc::SYS_ioctl, &[0, TIOCSTI]), EPERM);
    assert_eq!(call(libc::SYS_ioctl, &[0, TIOCSTI | 1 << 32]), EPERM);
    assert_eq!(call(libc::SYS_ioctl, &[0, TIOCLINUX | 7 << 40]), EPERM);
}

#[test]
fn setuid_bits_and_devices_are_denied() {
    assert_eq!(call(libc::SYS_fchmod, &[3, 0o4755]), EPERM);
    assert_eq!(call(libc::SYS_fchmod, &[3, 0o755]), ALLOW);
    assert_eq!(call(libc::SYS_fchmodat, &[3, 0, 0o2755]), EPERM);
    assert_eq!(call(FCHMODAT2, &[3, 0, 0o4755]), EPERM);
    assert_eq!(call(libc::SYS_openat, &[3, 0, O_CREAT, 0o4755]), EPERM);
    assert_eq!(call(libc::SYS_openat, &[3, 0, 0o20_200_000, 0o4755]), EPERM);
    assert_eq!(call(libc::SYS_openat, &[3, 0, 0, 0o4755]), ALLOW);
    assert_eq!(call(libc::SYS_openat, &[3, 0, O_CREAT, 0o644]), ALLOW);
    assert_eq!(call(libc::SYS_mknodat, &[3, 0, 0o060_600]), EPERM);
    assert_eq!(call(libc::SYS_mknodat, &[3, 0, 0o020_600]), EPERM);
    assert_eq!(call(libc::SYS_mknodat, &[3, 0, 0o010_600]), ALLOW);
}

#[test]
fn only_opened_socket_families_are_allowed() {
    let family = |openings, family| call_as(openings, ARCHITECTURE.1, libc::SYS_socket, &[family]);
    for allowed in [1, 2, 10] {
        assert_eq!(family(OPEN, allowed), ALLOW);
    }
    for denied in [0, 16, 17, 38, 40] {
        assert_eq!(family(OPEN, denied), EPERM);
    }
    let closed = Openings { internet: false, local: false, ipc: false, attributes: false, ..OPEN };
    for denied in [1, 2, 10, 16] {
        assert_eq!(family(closed, denied), EPERM);
    }
    let internet = Openings { internet: true, ..closed };
    assert_eq!(family(internet, 1), EPERM);
    assert_eq!(family(internet, 2), ALLOW);
    let pair = |openings, family, kind| {
        call_as(openings, ARCHITECTURE.1, libc::SYS_socketpair, &[family, kind])
    };
    // With the flag that a program started later does not get it.
    for kind in [1, 5, 0o2_000_001] {
        assert_eq!(pair(closed, 1, kind), ALLOW);
    }
    for kind in [2, 3, 0o2_000_002] {
        assert_eq!([pair(closed, 1, kind), pair(OPEN, 1, kind)], [EPERM, ALLOW]);
    }
    assert_eq!(pair(closed, 2, 1), EPERM);
    assert_eq!(call_as(closed, ARCHITECTURE.1, libc::SYS_shmget, &[]), EPERM);
    assert_eq!(call(libc::SYS_shmget, &[]), ALLOW);
}

/// How many steps a filter takes at most to let a call pass whose arguments it does not look at.
fn longest_way(openings: Openings) -> usize {
    let filter = filter(openings).unwrap();
    let named = rules(openings).unwrap();
    let numbers =
        (0..=libc::SYS_landlock_restrict_self).filter(|number| !named.contains_key(number));
    let ways = numbers.map(|number| {
        let mut data = [0_u8; 64];
        data[..4].copy_from_slice(&u32::try_from(number).unwrap().to_ne_bytes());
        data[4..8].copy_from_slice(&ARCHITECTURE.1.to_ne_bytes());
        steps(&filter, &data).1
    });
    ways.max().unwrap()
}

#[test]
fn filter_checks_a_call_with_few_instructions() {
    let alone = Openings { hidden: false, attributes: false, ipc: false, ..OPEN };
    for openings in [OPEN, alone] {
        let (way, all) = (longest_way(openings), filter(openings).unwrap().len());
        assert!(way < all / 5, "{way} of {all}");
    }
}

#[test]
fn filter_survives_encoding() {
    let filter = filter(OPEN).unwrap();
    assert_eq!(read(&write(&filter)), Some(filter));
    assert!(read("").is_none() && read("zz").is_none());
    assert_eq!(written(OPEN).unwrap(), written(OPEN).unwrap());
}

#[test]
fn read_only_access_denies_changes_of_attributes() {
    let closed = Openings { attributes: false, ..OPEN };
    let calls = [libc::SYS_fchmodat, libc::SYS_utimensat, libc::SYS_setxattr, FILE_SETATTR];
    for number in calls {
        let under = |openings| call_as(openings, ARCHITECTURE.1, number, &[0, 0, 0o644]);
        assert_ne!(under(OPEN), under(closed), "{number}");
    }
    for request in SET_FLAGS {
        let under = |openings| call_as(openings, ARCHITECTURE.1, libc::SYS_ioctl, &[3, request]);
        assert_eq!((under(OPEN), under(closed)), (ALLOW, EPERM));
    }
}

#[test]
fn other_processes_are_protected_without_namespaces() {
    const EOPNOTSUPP: u32 = 0x0005_005f;
    let alone = Openings { hidden: false, ..OPEN };
    let under = |openings, number, args: &[u64]| call_as(openings, ARCHITECTURE.1, number, args);
    for &number in SCHEDULING {
        assert_eq!(under(alone, number, &[0]), ALLOW, "{number}");
        assert_eq!(under(alone, number, &[77]), EPERM, "{number}");
        assert_eq!(under(OPEN, number, &[77]), ALLOW, "{number}");
    }
    for (number, user) in PRIORITIES {
        assert_eq!(under(alone, number, &[0, 0]), ALLOW, "{number}");
        assert_eq!(under(alone, number, &[0, 77]), EPERM, "{number}");
        assert_eq!(under(alone, number, &[user, 0]), EPERM, "{number}");
    }
    for &number in LABELS {
        assert_eq!((under(alone, number, &[]), under(OPEN, number, &[])), (EOPNOTSUPP, ALLOW));
    }
}
