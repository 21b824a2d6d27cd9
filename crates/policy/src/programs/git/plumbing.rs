//! Further subcommands of git that only look: single settings, names of branches, and what scripts ask
//! for. What contacts another machine or goes into submodules is not among them.

use super::{Check, DIFF, LOG, Subcommand, subcommand};

pub(super) const PLUMBING: &[Subcommand] = &[
    Subcommand {
        long: &[
            "get",
            "get-all",
            "local",
            "global",
            "system",
            "worktree",
            "null",
            "bool",
            "int",
            "path",
            "type=",
            "default=",
            "show-origin",
            "show-scope",
        ],
        check: Check::Gets,
        ..subcommand("config", "z")
    },
    Subcommand {
        long: &["verbose", "non-matching", "no-index", "quiet"],
        ..subcommand("check-ignore", "vnqz")
    },
    Subcommand {
        long: &["short", "quiet", "no-recurse"],
        check: Check::AtMostOne,
        ..subcommand("symbolic-ref", "q")
    },
    Subcommand {
        also: &[DIFF],
        long: &["root", "no-commit-id"],
        ..subcommand("diff-tree", "rtpuU?sM?B?C?DRwbaWS:G:zqmcv")
    },
    Subcommand { also: &[DIFF], ..subcommand("diff-index", "puU?sM?B?C?DRwbaWS:G:zqm") },
    Subcommand { also: &[DIFF], ..subcommand("diff-files", "puU?sM?B?C?DRwbaWS:G:zq") },
    Subcommand {
        long: &["tags", "refs=", "exclude=", "name-only", "always", "no-undefined"],
        ..subcommand("name-rev", "")
    },
    Subcommand { long: &["abbrev?"], ..subcommand("cherry", "v") },
    Subcommand {
        long: &[
            "all",
            "remotes",
            "current",
            "topo-order",
            "date-order",
            "sparse",
            "list",
            "sha1-name",
            "no-name",
            "topics",
            "independent",
            "merge-base",
            "color?",
            "no-color",
        ],
        ..subcommand("show-branch", "ar")
    },
    Subcommand {
        long: &["stat", "numstat", "summary", "check", "verbose", "reverse", "recount"],
        check: Check::Needs(&["stat", "numstat", "summary", "check"]),
        ..subcommand("apply", "vRp:")
    },
    subcommand("hash-object", "t:"),
    Subcommand {
        also: &[DIFF, LOG],
        ..subcommand("whatchanged", "puU?sM?B?C?DRwbaWS:G:zqn:iEFPcmt")
    },
    Subcommand {
        long: &["no-patch", "stat", "no-color", "no-dual-color", "creation-factor="],
        ..subcommand("range-diff", "s")
    },
];
