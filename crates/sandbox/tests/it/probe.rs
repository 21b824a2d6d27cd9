//! Runs an attack first without walls, where it must work, then on every rung, where it must not.

use crate::rig::{Mode, Output, World, host_shell, is_root, rungs, skip};

/// An attack.
pub(crate) struct Probe {
    pub(crate) id: &'static str,
    /// What the confined shell runs. It prints `ESC` where only it can see its success.
    pub(crate) script: &'static str,
    /// What the host does afterwards, as its user would.
    pub(crate) host: &'static str,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Works for everybody without walls.
    Plain,
    /// The same, in a workspace that is a git repository.
    Git,
    /// The kernel itself may refuse it to an ordinary user.
    Root,
    /// Too dangerous, or impossible, without walls.
    ConfinedOnly,
}

/// An attack on what lies outside.
pub(crate) const fn probe(id: &'static str, script: &'static str) -> Probe {
    Probe { id, script, host: "", kind: Kind::Plain }
}

pub(crate) const fn of(kind: Kind, id: &'static str, script: &'static str) -> Probe {
    Probe { id, script, host: "", kind }
}

/// An attack on what the host executes later.
pub(crate) const fn plant(kind: Kind, id: &'static str, script: &'static str) -> Probe {
    Probe { id, script, host: "git status; git log -1; git diff", kind }
}

/// Asserts that every probe works without walls and fails on every rung.
pub(crate) async fn assert_all(probes: &[Probe]) {
    let mut failures = Vec::new();
    for probe in probes {
        if probe.kind != Kind::ConfinedOnly {
            let (escaped, output) = run(probe, Mode::Open).await;
            match (escaped, probe.kind, is_root()) {
                (true, _, _) => {}
                (false, Kind::Root, _) => skip(&format!("{} is refused by the kernel", probe.id)),
                (false, _, _) => {
                    failures.push(format!("{} proves nothing: {output:?}", probe.id));
                    continue;
                }
            }
        }
        for rung in rungs() {
            let (escaped, output) = run(probe, Mode::Confined(rung)).await;
            if escaped {
                failures.push(format!("{} escapes from {rung}: {output:?}", probe.id));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

async fn run(probe: &Probe, mode: Mode) -> (bool, Output) {
    let mut world = match probe.kind {
        Kind::Git => World::with_git(),
        Kind::Plain | Kind::Root | Kind::ConfinedOnly => World::new(),
    };
    if ["VPID", "TCP", "UDP", "SHM", "NAME", ".sock"].iter().any(|word| probe.script.contains(word))
    {
        world.start_host();
    }
    let before = world.surroundings();
    let output = world.run(mode, probe.script).await;
    if !probe.host.is_empty() {
        host_shell(&world, probe.host);
    }
    let changed = world.surroundings() != before;
    let told = ["ESC", "SECRET"].iter().any(|word| output.stdout.contains(word));
    (changed || told, output)
}
