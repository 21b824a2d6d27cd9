//! Restrictions that the helper applies to itself: limits, Landlock, the system call filter.

use std::path::PathBuf;
use std::sync::OnceLock;

use contract::sandbox::{Access, Limits, Network};
use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use crate::mount_check::ExpectedMounts;
use crate::plan::{Plan, Restrictions};
use crate::process_limit;
use crate::seccomp::{self, Openings};

/// The newest interface of the kernel whose rights are known here.
const KNOWN: ABI = ABI::V9;

/// How much of Landlock the kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    /// None.
    Missing,
    /// File rules, without the scoping of signals and abstract sockets.
    Files,
    /// File rules and scopes.
    Scoped,
}

/// Applies the restrictions of `plan`. The caller must be the only thread.
pub(crate) fn raise(plan: &Plan) -> Result<(), String> {
    if plan.restrictions == Restrictions::Open {
        return Ok(());
    }
    rustix::thread::set_no_new_privs(true)
        .map_err(|error| format!("cannot give up privileges: {error}"))?;
    drop_capabilities().map_err(|error| format!("cannot give up capabilities: {error}"))?;
    if plan.restrictions == Restrictions::Inner {
        process_limit::bound_numbers(&plan.limits);
    }
    limit(&plan.limits, plan.restrictions)
        .map_err(|error| format!("cannot set a limit: {error}"))?;
    let filter = seccomp::read(&plan.filter).ok_or("has no system call filter")?;
    let strength = strength();
    if plan.restrictions == Restrictions::Alone && strength == Strength::Missing {
        return Err("finds no Landlock in this kernel".to_owned());
    }
    if strength > Strength::Missing {
        restrict(plan).map_err(|error| format!("cannot apply Landlock: {error}"))?;
    }
    seccompiler::apply_filter(&filter)
        .map_err(|error| format!("cannot apply the system call filter: {error}"))
}

/// How much of Landlock there is.
pub(crate) fn strength() -> Strength {
    static KNOWN: OnceLock<Strength> = OnceLock::new();
    *KNOWN.get_or_init(ask)
}

/// Asks the kernel for Landlock.
fn ask() -> Strength {
    let make = |attempt: &dyn Fn(Ruleset) -> Result<Ruleset, landlock::RulesetError>| {
        let strict = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        attempt(strict).and_then(Ruleset::create).is_ok()
    };
    if make(&|ruleset| {
        ruleset
            .handle_access(AccessFs::from_all(ABI::V1))?
            .scope(Scope::Signal | Scope::AbstractUnixSocket)
    }) {
        Strength::Scoped
    } else if make(&|ruleset| ruleset.handle_access(AccessFs::from_all(ABI::V1))) {
        Strength::Files
    } else {
        Strength::Missing
    }
}

/// The filter for `restrictions` with this network.
pub(crate) fn filter(
    restrictions: Restrictions,
    network: &Network,
    access: Access,
) -> Result<String, String> {
    let openings = openings(restrictions, network, strength());
    // Mounts keep what is read-only so; without them only the calls themselves can be refused.
    let attributes = restrictions == Restrictions::Inner || access == Access::Workspace;
    seccomp::written(Openings { attributes, ..openings })
}

fn openings(restrictions: Restrictions, network: &Network, strength: Strength) -> Openings {
    match restrictions {
        // The mount view hides the host's sockets with a path; an abstract one is out of reach
        // in a network namespace of its own, or by a scope.
        Restrictions::Inner => Openings {
            internet: true,
            local: *network != Network::Host || strength == Strength::Scoped,
            ipc: true,
            attributes: true,
            hidden: true,
        },
        Restrictions::Alone | Restrictions::Open => {
            let internet = *network == Network::Host;
            Openings { internet, local: false, ipc: false, attributes: true, hidden: false }
        }
    }
}

/// Root keeps its files and loses its powers; `no_new_privs` keeps an exec from returning them.
fn drop_capabilities() -> Result<(), rustix::io::Errno> {
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

fn limit(limits: &Limits, restrictions: Restrictions) -> Result<(), rustix::io::Errno> {
    // Without a user namespace the kernel counts all processes of the user, so those that run
    // already are added.
    let others = match restrictions {
        Restrictions::Alone => running_tasks(),
        Restrictions::Inner | Restrictions::Open => 0,
    };
    for (resource, wanted) in [
        (Resource::Core, 0),
        (Resource::Nproc, limits.processes.saturating_add(others)),
        (Resource::Nofile, limits.open_files),
        (Resource::Fsize, limits.file_size),
        (Resource::Data, limits.memory),
    ] {
        let ceiling = getrlimit(resource).maximum;
        let value = Some(wanted.min(ceiling.unwrap_or(u64::MAX)));
        // A process that only reserves memory, as with sanitizers, may raise this limit: the memory that
        // it really uses is watched.
        let maximum = if resource == Resource::Data { ceiling } else { value };
        setrlimit(resource, Rlimit { current: value, maximum })?;
    }
    Ok(())
}

fn running_tasks() -> u64 {
    std::fs::read_to_string("/proc/loadavg").ok().and_then(|text| tasks(&text)).unwrap_or(0)
}

/// The total in the `running/total` field.
fn tasks(load: &str) -> Option<u64> {
    let (_, total) = load.split_whitespace().nth(3)?.split_once('/')?;
    total.parse().ok()
}

fn restrict(plan: &Plan) -> Result<(), landlock::RulesetError> {
    enforce(Ruleset::default(), [&plan.read, &plan.write, &plan.devices], &plan.expected)
}

fn enforce(
    ruleset: Ruleset,
    [readable, writable, devices]: [&[PathBuf]; 3],
    expected: &ExpectedMounts,
) -> Result<(), landlock::RulesetError> {
    let all = AccessFs::from_all(KNOWN);
    let read = AccessFs::from_read(KNOWN);
    // A socket of another program is reached by nobody; a process' own needs no right.
    let write = all & !BitFlags::from(AccessFs::ResolveUnix);
    let device = AccessFs::from_file(KNOWN) & !BitFlags::from(AccessFs::Execute);
    let ruleset =
        ruleset.handle_access(all)?.scope(Scope::Signal | Scope::AbstractUnixSocket)?.create()?;
    let ruleset = allow(ruleset, readable, read, expected)?;
    let ruleset = allow(ruleset, writable, write, expected)?;
    let ruleset = allow(ruleset, devices, device, expected)?;
    let status = ruleset.restrict_self()?;
    debug_assert!(status.ruleset != RulesetStatus::NotEnforced);
    Ok(())
}

fn allow(
    mut ruleset: RulesetCreated,
    paths: &[PathBuf],
    rights: BitFlags<AccessFs>,
    expected: &ExpectedMounts,
) -> Result<RulesetCreated, landlock::RulesetError> {
    for path in paths {
        // A path that is missing needs no right, and what another process put there gets none. Of a file
        // only those rights count that files have.
        ruleset = match (expected.open(path), PathFd::new(path)) {
            (Some(Ok(meant)), _) => ruleset.add_rule(PathBeneath::new(meant, rights))?,
            (None, Ok(found)) => ruleset.add_rule(PathBeneath::new(found, rights))?,
            (Some(Err(_)), _) | (None, Err(_)) => ruleset,
        };
    }
    Ok(ruleset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_count_is_read() {
        assert_eq!(tasks("0.10 0.20 0.30 2/431 12345\n"), Some(431));
        assert_eq!(tasks("nonsense"), None);
        assert!(running_tasks() > 0);
    }

    #[test]
    fn local_sockets_are_denied_if_host_sockets_are_visible() {
        assert!(!openings(Restrictions::Inner, &Network::Host, Strength::Files).local);
        assert!(openings(Restrictions::Inner, &Network::Host, Strength::Scoped).local);
        assert!(!openings(Restrictions::Alone, &Network::Host, Strength::Scoped).local);
        assert!(openings(Restrictions::Alone, &Network::Host, Strength::Scoped).internet);
        assert!(!openings(Restrictions::Alone, &Network::None, Strength::Scoped).internet);
    }
}
