//! How much memory a command takes that no limit of the kernel counts: mappings, memory files and
//! segments that processes have in common, what a process takes that has raised its limit, and what all
//! of them take together, with what the kernel needs for them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// What stays available on the machine, where there was as much.
const KEPT: u64 = 1 << 30;
/// Less than this is nobody's trouble.
const LITTLE: u64 = 1 << 29;

/// What the machine had when a command began, or has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    shared: u64,
    /// What the kernel keeps for itself and cannot give back, such as names of files in memory.
    kernel: u64,
    available: u64,
}

impl Before {
    /// Looks at the machine; none where it does not say.
    pub(crate) fn look() -> Option<Self> {
        let text = fs::read_to_string("/proc/meminfo").ok()?;
        Some(Self {
            shared: field(&text, "Shmem:")?,
            kernel: field(&text, "SUnreclaim:")?,
            available: field(&text, "MemAvailable:")?,
        })
    }

    /// Whether the process `id` and all below it share more than `limit`, or whether one of them has more
    /// for itself, or whether they leave the machine without memory.
    pub(crate) fn is_passed(self, id: u32, limit: u64) -> bool {
        let Some(current) = Self::look() else { return false };
        let grown = current.shared.saturating_sub(self.shared);
        // To look at all processes is not for nothing.
        let is_taken = self.available.saturating_sub(current.available) > limit / 2;
        // Processes may have the same pages: what the greatest of them has is certain.
        let most = |kind: &str| each(id, kind).max().unwrap_or(0);
        (self.is_short(current) && self.is_taken_by(current, each(id, "RssAnon:").sum()))
            || (grown > limit && most("RssShmem:") > limit)
            || (is_taken && most("RssAnon:") > limit)
    }

    /// Whether there is less left than should be.
    fn is_short(self, current: Self) -> bool {
        current.available < KEPT.min(self.available / 2)
    }

    /// Whether a command whose processes have so much for themselves has taken what is gone, and not other
    /// programs. Who has what is shared or the kernel's nobody can tell.
    fn is_taken_by(self, current: Self, own: u64) -> bool {
        let shared = current.shared.saturating_sub(self.shared);
        let kernel = current.kernel.saturating_sub(self.kernel);
        let taken = own.saturating_add(shared).saturating_add(kernel);
        taken > LITTLE && taken > self.available.saturating_sub(current.available) / 2
    }
}

/// How much memory of a kind each has of the process and those below it.
fn each(id: u32, kind: &str) -> impl Iterator<Item = u64> {
    let mut parents = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let Ok(text) = fs::read_to_string(entry.path().join("status")) else { continue };
        let parent = text.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
        let parent: u32 = parent.unwrap_or(0);
        parents.insert(number, (parent, field(&text, kind).unwrap_or(0)));
    }
    let mut family = BTreeSet::from([id]);
    loop {
        let joins = |(number, (parent, _)): &(&u32, &(u32, u64))| {
            family.contains(parent) && !family.contains(*number)
        };
        let more: Vec<u32> = parents.iter().filter(joins).map(|(number, _)| *number).collect();
        if more.is_empty() {
            break;
        }
        family.extend(more);
    }
    family.into_iter().filter_map(move |number| parents.get(&number).map(|(_, taken)| *taken))
}

/// A number of kibibytes behind a name, in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_a_quiet_process_passes_nothing() {
        assert_eq!(field("A: 1 kB\nShmem:   12 kB\n", "Shmem:"), Some(12 * 1024));
        assert_eq!(field("Shmem: x", "Shmem:"), None);
        let before = Before::look().expect("the machine says");
        assert!(!before.is_passed(std::process::id(), 1 << 40));
    }

    #[test]
    fn a_command_ends_for_what_it_has_taken_itself_of_whatever_kind() {
        let machine = |shared: u64, kernel: u64, available: u64| Before {
            shared: shared << 20,
            kernel: kernel << 20,
            available: available << 20,
        };
        let before = machine(100, 100, 8000);
        for (shared, kernel, available, own, ends) in [
            // Many processes, files in memory, names of such, and all together.
            (100, 100, 900, 7100, true),
            (7200, 100, 900, 0, true),
            (100, 5000, 900, 0, true),
            (1500, 1500, 900, 1500, true),
            // Enough is left.
            (7200, 100, 1100, 7000, false),
            // Other programs have taken it.
            (100, 100, 900, 1000, false),
            (600, 200, 900, 500, false),
        ] {
            let current = machine(shared, kernel, available);
            let is_passed = before.is_short(current) && before.is_taken_by(current, own << 20);
            assert_eq!(is_passed, ends, "{current:?} {own}");
        }
    }
}
