//! What overwrites a disk or a part of one.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use contract::policy::Decision;

use super::Danger;
use crate::commands::written;
use crate::paths::normalize;
use crate::shell::{Found, Piece, Survey};

/// Programs that change disks by some of their words, each with how these begin; by any where none is named.
pub(super) const PROGRAMS: &[(&str, &[&str])] = &[
    ("mkswap", &[]),
    ("wipefs", &[]),
    ("fdisk", &[]),
    ("sfdisk", &[]),
    ("cfdisk", &[]),
    ("sgdisk", &[]),
    ("gdisk", &[]),
    ("parted", &[]),
    ("blkdiscard", &[]),
    (
        "badblocks",
        &["-w", "-n", "-sw", "-vw", "-sn", "-vn", "-svw", "-vsw", "-wsv", "-nsv", "-svn"],
    ),
    (
        "cryptsetup",
        &["luksFormat", "luksErase", "erase", "reencrypt", "luksKillSlot", "luksRemoveKey"],
    ),
    ("nvme", &["format", "sanitize", "write", "delete-ns", "dsm"]),
    (
        "hdparm",
        &["--security-erase", "--trim-sector", "--write-sector", "--make-bad", "--repair-sector"],
    ),
    ("sg_format", &[]),
    ("sg_sanitize", &[]),
    ("sg_unmap", &[]),
    ("sg_write_same", &[]),
    ("mdadm", &["--create", "-C", "--zero-superblock"]),
    ("pvcreate", &[]),
    ("pvremove", &[]),
    ("vgremove", &[]),
    ("lvremove", &[]),
    ("lvreduce", &[]),
    ("zpool", &["destroy", "create", "labelclear"]),
    ("zfs", &["destroy", "rollback"]),
    ("btrfs", &["delete", "del"]),
    ("nwipe", &[]),
    ("scrub", &[]),
    ("flash_erase", &[]),
    ("flash_eraseall", &[]),
    ("flashcp", &[]),
    ("nandwrite", &[]),
    ("growisofs", &[]),
    (
        "diskutil",
        &["erase", "partitionDisk", "zeroDisk", "randomDisk", "secureErase", "reformat", "delete"],
    ),
];

/// Programs that take what they overwrite as `dd` does.
pub(super) const COPYING: &[&str] = &["dd", "dcfldd", "dc3dd", "ddrescue", "dd_rescue"];

/// Those of them that take it as their second operand.
const RESCUING: &[&str] = &["ddrescue", "dd_rescue"];

/// Devices that are disks, by how their names begin.
const DISKS: &[&str] = &[
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "dm-", "mapper/", "md", "loop",
    "nbd", "zd", "zvol/", "mtd", "pmem", "bcache", "rbd", "drbd", "sr",
];

/// Whether a program with these arguments changes a disk.
pub(super) fn changes(name: &str, args: &[Piece]) -> bool {
    let known = PROGRAMS.iter().find(|(known, _)| *known == name);
    known.is_some_and(|(_, words)| {
        let tells = |arg: &Piece| words.iter().any(|word| arg.text.starts_with(word));
        words.is_empty() || args.iter().any(tells)
    })
}

/// What `dd` overwrites, where that may be a device.
pub(super) fn overwritten(name: &str, args: &[Piece], command: &Found) -> Option<String> {
    let second = args.iter().filter(|word| !word.text.starts_with('-')).nth(1);
    let second = second.filter(|_| RESCUING.contains(&name));
    let named = args.iter().filter_map(|word| {
        let target = ["of=", "wipe=", "hof="].iter().find_map(|to| word.text.strip_prefix(to))?;
        Some((word, target))
    });
    named.chain(second.map(|word| (word, word.text.as_str()))).find_map(|(word, target)| {
        let is_device = command.folders.iter().any(|folder| {
            let path = normalize(&folder.join(target));
            path.starts_with("/dev") && !HARMLESS.iter().any(|known| path == Path::new(known))
        });
        let what = match (is_device, word.dynamic && target.is_empty()) {
            (true, _) => "a device",
            (false, true) => "a file that only the running shell knows",
            (false, false) => return None,
        };
        Some(format!("it overwrites {what}"))
    })
}

/// Devices to which anything may be written.
const HARMLESS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2"];

/// A disk that is written to like a file.
pub(super) fn overwritten_disk(text: &str, survey: &Survey) -> Option<Danger> {
    if !text.contains("dev") {
        return None;
    }
    let redirected = survey.redirections.iter().filter(|redirection| redirection.target.writes);
    let redirected = redirected.map(|it| (Cow::Borrowed(&it.target.word), &*it.folders));
    let written = survey
        .commands
        .iter()
        .flat_map(|found| written(found.argv()).into_iter().map(|word| (word, &*found.folders)));
    let is_written = |(word, folders): &(Cow<'_, Piece>, &[PathBuf])| {
        folders.iter().any(|folder| is_disk(&folder.join(&word.text)))
    };
    let (disk, _) = redirected.chain(written).find(is_written)?;
    Some(Danger {
        decision: Decision::Ask,
        subject: disk.into_owned().text,
        why: String::from("it overwrites a disk"),
    })
}

/// Whether a path is a whole disk or a part of one.
fn is_disk(path: &Path) -> bool {
    let path = normalize(path);
    let device = path.strip_prefix("/dev").ok().map(|device| device.to_string_lossy());
    device.is_some_and(|device| DISKS.iter().any(|kind| device.starts_with(kind)))
}
