//! How much memory a command shares, which no limit of the kernel counts: mappings, memory files and
//! segments that processes have in common.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// What stays available on the machine, where there was as much.
const KEPT: u64 = 1 << 30;
/// Less than this in common is nobody's trouble.
const LITTLE: u64 = 1 << 29;

/// What the machine had when a command began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    shared: u64,
    available: u64,
}

impl Before {
    /// Looks at the machine; none where it does not say.
    pub(crate) fn look() -> Option<Self> {
        let text = fs::read_to_string("/proc/meminfo").ok()?;
        Some(Self { shared: field(&text, "Shmem:")?, available: field(&text, "MemAvailable:")? })
    }

    /// Whether the process `id` and all below it share more than `limit`, or enough to leave the
    /// machine without memory.
    pub(crate) fn is_passed(self, id: u32, limit: u64) -> bool {
        let Some(current) = Self::look() else { return false };
        let grown = current.shared.saturating_sub(self.shared);
        let kept = KEPT.min(self.available / 2);
        (grown > LITTLE && current.available < kept) || (grown > limit && shared_by(id) > limit)
    }
}

/// What the process and all below it have mapped of such memory.
fn shared_by(id: u32) -> u64 {
    let mut parents = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let Ok(text) = fs::read_to_string(entry.path().join("status")) else { continue };
        let parent = text.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
        let parent: u32 = parent.unwrap_or(0);
        parents.insert(number, (parent, field(&text, "RssShmem:").unwrap_or(0)));
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
    // Processes may have the same pages: what the greatest of them has is certain.
    let each = family.iter().filter_map(|number| parents.get(number));
    each.map(|(_, shared)| *shared).max().unwrap_or(0)
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
}
