//! The subcommands of git that only look, without options that write a file, run a program or read
//! another repository.

use super::options::{Grammar, Options};
use super::{Knowledge, NotReadOnly, Operand, ReadPaths};
use crate::shell::Word;
use crate::word_list::listed;

/// Options of git itself that change nothing.
const GLOBAL: &str = "--no-pager --no-optional-locks --literal-pathspecs";

/// Options that every subcommand showing differences has.
const DIFF: &str = "\
    patch no-patch unified? raw minimal patience histogram diff-algorithm= stat? numstat \
    shortstat dirstat? summary name-only name-status color? no-color color-words? word-diff? \
    word-diff-regex= color-moved? no-renames find-renames? find-copies? find-copies-harder \
    diff-filter= ignore-all-space ignore-space-change ignore-space-at-eol ignore-blank-lines \
    ignore-cr-at-eol function-context inter-hunk-context= no-ext-diff no-textconv no-prefix \
    src-prefix= dst-prefix= binary full-index abbrev? text exit-code quiet relative? pickaxe-all \
    pickaxe-regex compact-summary submodule? patch-with-stat check ita-invisible-in-index cached \
    staged merge-base";

/// Options that every subcommand showing history has.
const LOG: &str = "\
    oneline graph all branches? tags? remotes? decorate? no-decorate since= after= until= \
    before= author= committer= grep= all-match invert-grep regexp-ignore-case extended-regexp \
    fixed-strings perl-regexp max-count= skip= merges no-merges first-parent reverse follow \
    date= format? pretty? abbrev-commit no-abbrev-commit topo-order date-order author-date-order \
    left-right cherry-pick cherry-mark cherry boundary full-history simplify-by-decoration \
    ancestry-path? show-pulls source relative-date parents children count not reflog \
    walk-reflogs encoding= expand-tabs? no-expand-tabs notes? no-notes cc combined-all-paths \
    no-mailmap mailmap clear-decorations decorate-refs= min-parents? max-parents?";

struct Subcommand {
    name: &'static str,
    short: &'static str,
    long: &'static str,
    also: &'static [&'static str],
    check: Check,
}

/// A further condition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Check {
    /// Nothing.
    Nothing,
    /// Operands only where an option says that the subcommand lists.
    ListsOnly(&'static [&'static str]),
    /// The first operand is one of these words, or there is none.
    FirstIs(&'static [&'static str]),
    /// The first operand is a pattern, unless an option gave it.
    Pattern,
    /// No operands.
    NoOperands,
    /// No more than one operand: with a second it would set something.
    AtMostOne,
    /// One of these options, with which the subcommand only shows.
    Needs(&'static [&'static str]),
    /// The name of a setting, by itself or behind an option with which it is only shown.
    Gets,
}

const fn subcommand(name: &'static str, short: &'static str) -> Subcommand {
    Subcommand { name, short, long: "", also: &[], check: Check::Nothing }
}

#[rustfmt::skip]
const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        long: "short branch show-stash porcelain? long verbose untracked-files? ignored? \
            ignore-submodules? column? no-column ahead-behind no-ahead-behind renames no-renames \
            find-renames?",
        ..subcommand("status", "sbvu?zM?") },
    Subcommand { also: &[DIFF], ..subcommand("diff", "puU?sM?B?C?DRwbaWS:G:zq") },
    Subcommand { also: &[DIFF, LOG], ..subcommand("log", "puU?sM?B?C?DRwbaWS:G:zqn:iEFPcmgL:t") },
    Subcommand { also: &[DIFF, LOG], ..subcommand("show", "puU?sM?B?C?DRwbaWS:G:zqn:iEFPcmt") },
    Subcommand { also: &[LOG],
        long: "objects disk-usage no-walk",
        ..subcommand("rev-list", "n:iEFPg") },
    Subcommand {
        long: "list all remotes show-current verbose sort= format= contains? no-contains? merged? \
            no-merged? points-at= column? color? no-color abbrev? no-abbrev ignore-case",
        check: Check::ListsOnly(&["list", "l", "contains", "no-contains", "merged", "no-merged"]), ..subcommand("branch", "alrvi") },
    Subcommand {
        long: "list sort= format= contains? no-contains? merged? no-merged? points-at= column? \
            color? ignore-case",
        check: Check::ListsOnly(&["list", "l", "contains", "no-contains", "merged", "no-merged"]), ..subcommand("tag", "ln?i") },
    Subcommand {
        long: "abbrev-ref? short? show-toplevel show-prefix show-cdup git-dir absolute-git-dir \
            git-common-dir is-inside-work-tree is-inside-git-dir is-bare-repository verify \
            symbolic symbolic-full-name quiet all branches? tags? remotes? show-object-format?",
        ..subcommand("rev-parse", "q") },
    Subcommand {
        long: "cached deleted modified others ignored stage unmerged killed directory exclude= \
            exclude-standard full-name abbrev? error-unmatch deduplicate eol debug",
        ..subcommand("ls-files", "cdmoisukztvfx:") },
    Subcommand {
        long: "name-only name-status full-name full-tree long abbrev? format=",
        ..subcommand("ls-tree", "drtlz") },
    Subcommand {
        long: "show-name show-number porcelain line-porcelain incremental root show-email date= \
            since= color-lines color-by-age abbrev?",
        ..subcommand("blame", "bceflnL:M?C?pstwk") },
    Subcommand {
        long: "numbered summary email group= since= until= all no-merges format?",
        ..subcommand("shortlog", "nsecw?") },
    Subcommand {
        long: "tags all long always abbrev? dirty? broken? exact-match candidates= match= exclude= \
            first-parent contains",
        ..subcommand("describe", "") },
    subcommand("cat-file", "epts"),
    Subcommand {
        long: "all octopus is-ancestor fork-point independent",
        ..subcommand("merge-base", "a") },
    Subcommand {
        long: "heads tags head dereference hash? abbrev? verify quiet branches",
        ..subcommand("show-ref", "dsq") },
    Subcommand {
        long: "count= sort= format= color? contains? merged? points-at= ignore-case",
        ..subcommand("for-each-ref", "") },
    Subcommand {
        long: "verbose human-readable",
        check: Check::NoOperands, ..subcommand("count-objects", "vH") },
    Subcommand {
        long: "verbose push all",
        check: Check::FirstIs(&["get-url"]), ..subcommand("remote", "v") },
    Subcommand { check: Check::FirstIs(&["list", "show"]), also: &[DIFF],
        long: "oneline format? date= max-count= include-untracked",
        ..subcommand("stash", "n:pu") },
    Subcommand { check: Check::FirstIs(&["list"]),
        long: "porcelain verbose",
        ..subcommand("worktree", "vz") },
    Subcommand { check: Check::FirstIs(&["show"]), also: &[LOG], ..subcommand("reflog", "n:") },
    Subcommand { check: Check::Pattern,
        long: "cached untracked ignore-case word-regexp invert-match line-number column \
            files-with-matches name-only files-without-match count only-matching extended-regexp \
            fixed-strings perl-regexp basic-regexp max-depth= after-context= before-context= \
            context= show-function function-context heading break color? no-color full-name null \
            quiet max-count= and or not all-match no-textconv",
        ..subcommand("grep", "iwvhHEGFPnlLcopWqzaIA:B:C:e:m:") },
    Subcommand {
        long: "get get-all local global system worktree null bool int path type= default= \
            show-origin show-scope",
        check: Check::Gets, ..subcommand("config", "z") },
    Subcommand {
        long: "verbose non-matching no-index quiet",
        ..subcommand("check-ignore", "vnqz") },
    Subcommand {
        long: "short quiet no-recurse",
        check: Check::AtMostOne, ..subcommand("symbolic-ref", "q") },
    Subcommand { also: &[DIFF],
        long: "root no-commit-id",
        ..subcommand("diff-tree", "rtpuU?sM?B?C?DRwbaWS:G:zqmcv") },
    Subcommand { also: &[DIFF], ..subcommand("diff-index", "puU?sM?B?C?DRwbaWS:G:zqm") },
    Subcommand { also: &[DIFF], ..subcommand("diff-files", "puU?sM?B?C?DRwbaWS:G:zq") },
    Subcommand {
        long: "tags refs= exclude= name-only always no-undefined",
        ..subcommand("name-rev", "") },
    Subcommand { long: "abbrev?", ..subcommand("cherry", "v") },
    Subcommand {
        long: "all remotes current topo-order date-order sparse list sha1-name no-name topics \
            independent merge-base color? no-color",
        ..subcommand("show-branch", "ar") },
    Subcommand {
        long: "stat numstat summary check verbose reverse recount",
        check: Check::Needs(&["stat", "numstat", "summary", "check"]), ..subcommand("apply", "vRp:") },
    subcommand("hash-object", "t:"),
    Subcommand { also: &[DIFF, LOG],
        ..subcommand("whatchanged", "puU?sM?B?C?DRwbaWS:G:zqn:iEFPcmt") },
    Subcommand {
        long: "no-patch stat no-color no-dual-color creation-factor=",
        ..subcommand("range-diff", "s") },
    Subcommand { check: Check::NoOperands, ..subcommand("version", "") },
];

/// Checks the arguments of git.
pub(crate) fn check(args: &[Word]) -> Knowledge {
    let checked = |identity, outcome| Knowledge::Checked { identity, outcome };
    let mut at = 0;
    let mut read_paths = ReadPaths::default();
    loop {
        let Some(word) = args.get(at) else {
            return checked(1, Err(NotReadOnly::new("it names no subcommand")));
        };
        let text = word.text.as_str();
        if text == "--version" && args.len() == 1 {
            return checked(1, Ok(read_paths));
        }
        if text == "-C" && at == 0 {
            // Whoever asks takes all paths from that directory.
            if directory(args).is_none() {
                return checked(1, Err(NotReadOnly::new("it works on another repository")));
            }
            read_paths.names.push(Operand::plain("."));
            at += 2;
        } else if listed(GLOBAL, text) {
            at += 1;
        } else if text.starts_with('-') || word.glob {
            let why = format!("option `{text}` of git is not known to be harmless");
            return checked(1, Err(NotReadOnly::new(why)));
        } else {
            break;
        }
    }
    let named = |known: &&Subcommand| known.name == args[at].text;
    let Some(known) = SUBCOMMANDS.iter().find(named) else {
        return Knowledge::Unknown;
    };
    let outcome = known
        .check(&args[at + 1..])
        .map(|more| ReadPaths { contents: more.contents, names: read_paths.names });
    checked(2 + at, outcome)
}

/// The directory that git goes to before anything else, where that is below the one it runs in.
pub(crate) fn directory(args: &[Word]) -> Option<&str> {
    let [option, directory, rest @ ..] = args else { return None };
    let is_below = |text: &str| {
        !text.is_empty() && !text.starts_with(['/', '-']) && !text.split('/').any(|it| it == "..")
    };
    let searches = rest.iter().any(|word| word.text == "grep") && directory.text != ".";
    let is_directory =
        option.text == "-C" && !directory.glob && is_below(&directory.text) && !searches;
    is_directory.then_some(directory.text.as_str())
}

impl Subcommand {
    fn check(&self, args: &[Word]) -> Result<ReadPaths, NotReadOnly> {
        let options = self.read(args)?;
        for format in options.values(&["format", "pretty", "sort", "group"]) {
            if format.contains("%G") || format.contains("signature") {
                return Err(NotReadOnly::new("checking signatures runs a program"));
            }
        }
        let words = || options.operands.iter().map(|word| word.text.as_str());
        let leads = |word: &str| args.first().is_some_and(|first| first.text == word);
        let shows_alone = ["reflog", "remote"].contains(&self.name);
        match self.check {
            Check::Nothing => {}
            Check::ListsOnly(markers) => {
                if !options.operands.is_empty() && !options.has(markers) {
                    return Err(NotReadOnly::new(format!("it may create a {}", self.name)));
                }
            }
            Check::FirstIs(allowed) => match words().next() {
                // Behind an option the word is not a subcommand, but a file that is put aside.
                Some(word) if allowed.contains(&word) && (shows_alone || leads(word)) => {}
                None if shows_alone => {}
                Some(_) | None => {
                    return Err(NotReadOnly::new(format!(
                        "it may do more than `{} {}`",
                        self.name, allowed[0]
                    )));
                }
            },
            Check::Pattern => {
                let pattern = options.operands.first().is_some_and(|word| !word.glob);
                if !options.has(&["e"]) && !pattern {
                    return Err(NotReadOnly::new("its pattern is missing or not quoted"));
                }
            }
            Check::AtMostOne => {
                if words().count() > 1 {
                    return Err(NotReadOnly::new(format!(
                        "it may do more than show: `{}`",
                        self.name
                    )));
                }
            }
            Check::Needs(options_that_show) => {
                if !options.has(options_that_show) {
                    return Err(NotReadOnly::new(format!(
                        "it may do more than show: `{}`",
                        self.name
                    )));
                }
            }
            Check::Gets => {
                let is_name = words().count() == 1 && words().all(|word| word.contains('.'));
                if !options.has(&["get", "get-all"]) && !is_name {
                    return Err(NotReadOnly::new("it may do more than show a setting"));
                }
            }
            Check::NoOperands => {
                if words().next().is_some() {
                    return Err(NotReadOnly::new(format!(
                        "it may do more than show: `{}`",
                        self.name
                    )));
                }
            }
        }
        Ok(ReadPaths { contents: self.paths(&options), names: Vec::new() })
    }

    fn read<'a>(&self, args: &'a [Word]) -> Result<Options<'a>, NotReadOnly> {
        let mut lists = vec![self.long];
        lists.extend(self.also);
        let counted = ["log", "show", "rev-list", "reflog", "grep", "stash", "whatchanged"];
        let grammar =
            Grammar { short: self.short, long: &lists, numbers: counted.contains(&self.name) };
        grammar.read(args)
    }

    /// Operands that could be paths, also those inside a revision such as `HEAD:.env`.
    fn paths(&self, options: &Options<'_>) -> Vec<Operand> {
        let skip = usize::from(self.check == Check::Pattern && !options.has(&["e"]));
        let mut paths = Vec::new();
        for word in options.operands.iter().skip(skip) {
            paths.push(Operand::from(*word));
            if let Some(path) = object_path(&word.text) {
                paths.push(Operand {
                    text: path.trim_start_matches(['/', '!', '^']).to_owned(),
                    glob: word.glob,
                });
            }
        }
        for value in options.values(&["L"]) {
            if let Some((_, path)) = value.rsplit_once(':') {
                paths.push(Operand::plain(path));
            }
        }
        paths
    }
}

/// The path of an object such as `HEAD:src/a`, `:src/a` or `:0:src/a`.
pub(crate) fn object_path(word: &str) -> Option<&str> {
    let (revision, path) = word.split_once(':')?;
    let staged = path.split_once(':').filter(|(stage, _)| ["0", "1", "2", "3"].contains(stage));
    Some(staged.filter(|_| revision.is_empty()).map_or(path, |(_, path)| path))
}
