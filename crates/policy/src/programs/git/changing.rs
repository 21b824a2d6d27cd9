//! The subcommands of git that change something, and the options with which they start no program that
//! the command names: a rule for git means these, and no others.

use super::super::options::Grammar;
use super::{GLOBAL, SUBCOMMANDS, plumbing};
use crate::shell::Word;

/// A subcommand: its name, its letters and its long options as in [`Grammar`], and the words that may come
/// first where that is a subcommand of its own.
struct Changing(&'static str, &'static str, &'static str, &'static str);

/// Left out, among others: `--upload-pack`, `--receive-pack`, `--exec`, `clone -u`, `-c` and `--config`,
/// `--template` (hooks), `archive --remote`, `submodule foreach`, `bisect run`, `rebase -x`.
#[rustfmt::skip]
const CHANGING: &[Changing] = &[
    Changing("add", "nvipefuNA", "dry-run verbose interactive patch edit force update renormalize intent-to-add all ignore-removal refresh ignore-errors ignore-missing sparse chmod= pathspec-from-file= pathspec-file-nul", ""),
    Changing("am", "in3qsukmcC:p:rS?", "interactive no-verify verify 3way quiet signoff utf8 keep keep-non-patch message-id keep-cr scissors quoted-cr= whitespace= ignore-space-change ignore-whitespace directory= exclude= include= patch-format= reject continue resolved skip abort quit show-current-patch? retry allow-empty committer-date-is-author-date ignore-date rerere-autoupdate gpg-sign? empty=", ""),
    Changing("apply", "p:N3zC:Rvq", "exclude= include= add stat numstat summary check index intent-to-add cached apply 3way ours theirs union whitespace= ignore-space-change ignore-whitespace reverse unidiff-zero reject allow-overlap verbose quiet inaccurate-eof recount directory= allow-empty", ""),
    Changing("archive", "o:vl0123456789", "format= prefix= add-file= output= worktree-attributes verbose mtime= list", ""),
    Changing("bisect", "", "no-checkout first-parent term-new= term-bad= term-old= term-good=", "start bad new good old terms skip next reset log"),
    Changing("branch", "vqt?u:radDmMcClfi", "verbose quiet track? set-upstream-to= unset-upstream color? remotes contains= no-contains= abbrev? all delete move omit-empty copy list show-current create-reflog edit-description force merged= no-merged= column? sort= points-at= ignore-case recurse-submodules format=", ""),
    Changing("bundle", "q", "quiet progress all branches tags version=", "create verify list-heads unbundle"),
    Changing("checkout", "b:B:lqmdt?f23p", "guess overlay quiet recurse-submodules? progress merge conflict= detach track? force orphan= overwrite-ignore ignore-other-worktrees ours theirs patch ignore-skip-worktree-bits pathspec-from-file= pathspec-file-nul", ""),
    Changing("cherry-pick", "nesm:X:S?x", "quit continue abort skip cleanup= no-commit commit edit signoff mainline= rerere-autoupdate strategy= strategy-option= gpg-sign? ff allow-empty allow-empty-message keep-redundant-commits empty=", ""),
    Changing("clean", "qnfide:xX", "quiet dry-run force interactive exclude=", ""),
    Changing("clone", "vqnlsj:o:b:46", "verbose quiet progress reject-shallow no-checkout checkout bare mirror local no-hardlinks hardlinks shared recurse-submodules? recursive? jobs= reference= reference-if-able= dissociate origin= branch= depth= shallow-since= shallow-exclude= single-branch tags shallow-submodules separate-git-dir= ref-format= server-option= ipv4 ipv6 filter= also-filter-submodules remote-submodules sparse", ""),
    Changing("commit", "qvF:m:c:C:st:eS?aiponzu?", "quiet verbose file= author= date= message= reedit-message= reuse-message= fixup= squash= reset-author trailer= signoff template= edit cleanup= status gpg-sign? all include interactive patch only no-verify verify dry-run short branch ahead-behind porcelain long null amend no-post-rewrite post-rewrite untracked-files? pathspec-from-file= pathspec-file-nul allow-empty allow-empty-message", ""),
    Changing("commit-tree", "p:m:F:S?", "gpg-sign?", ""),
    Changing("fetch", "vqafmtnj:pPkuo:46", "verbose quiet all set-upstream append atomic force multiple tags jobs= prefetch prune prune-tags recurse-submodules? dry-run porcelain write-fetch-head keep update-head-ok progress depth= shallow-since= shallow-exclude= deepen= unshallow refetch update-shallow refmap= server-option= ipv4 ipv6 negotiation-tip= negotiate-only filter= auto-maintenance auto-gc show-forced-updates write-commit-graph", ""),
    Changing("format-patch", "nNsv:o:kpqM?123456789", "numbered no-numbered signoff stdout cover-letter numbered-files suffix= start-number= reroll-count= rfc? cover-from-description= description-file= subject-prefix= output-directory= keep-subject binary zero-commit ignore-if-in-upstream stat add-header= to= cc= from? in-reply-to= attach? inline? thread? signature= base= quiet progress interdiff= range-diff= creation-factor= root", ""),
    Changing("fsck", "v", "verbose unreachable dangling tags root cache reflogs full connectivity-only strict lost-found progress name-objects", ""),
    Changing("gc", "q", "quiet prune? cruft aggressive auto detach force keep-largest-pack", ""),
    Changing("hash-object", "t:w", "no-filters path=", ""),
    Changing("init", "qb:", "bare shared? quiet separate-git-dir= initial-branch= object-format= ref-format=", ""),
    Changing("ls-remote", "qthbo:", "quiet tags heads branches refs get-url sort= exit-code symref server-option=", ""),
    Changing("merge", "nes:X:m:F:vqS?", "stat summary log? squash commit edit cleanup= ff ff-only rerere-autoupdate verify-signatures strategy= strategy-option= message= file= into-name= verbose quiet abort quit continue allow-unrelated-histories progress gpg-sign? autostash overwrite-ignore signoff no-verify verify", ""),
    Changing("merge-tree", "zX:", "write-tree trivial-merge messages name-only allow-unrelated-histories merge-base= strategy-option=", ""),
    Changing("mv", "vnfk", "verbose dry-run force sparse", ""),
    Changing("notes", "m:F:C:c:fq", "ref= message= file= reuse-message= reedit-message= force quiet", "add append copy edit get-ref list prune remove show"),
    Changing("prune", "nv", "dry-run verbose progress expire=", ""),
    Changing("pull", "vqr?ns:X:S?aftpj?ko:46", "verbose quiet progress recurse-submodules? rebase? stat log? signoff? squash commit edit cleanup= ff ff-only verify verify-signatures autostash strategy= strategy-option= gpg-sign? allow-unrelated-histories all append force tags prune jobs? dry-run keep depth= shallow-since= shallow-exclude= deepen= unshallow update-shallow refmap= server-option= ipv4 ipv6 negotiation-tip= show-forced-updates set-upstream", ""),
    Changing("push", "vqdnfuo:46", "verbose quiet repo= all branches mirror delete tags dry-run porcelain force force-with-lease? force-if-includes recurse-submodules= thin set-upstream progress prune no-verify verify follow-tags signed? atomic push-option= ipv4 ipv6", ""),
    Changing("read-tree", "vmuin", "empty verbose trivial aggressive reset prefix= dry-run", ""),
    Changing("rebase", "qvnC:fmiS?r?s:X:", "onto= keep-base no-verify verify quiet verbose no-stat stat signoff committer-date-is-author-date reset-author-date ignore-whitespace whitespace= force-rebase no-ff ff continue skip abort quit edit-todo show-current-patch apply merge interactive rerere-autoupdate empty= autosquash update-refs gpg-sign? autostash rebase-merges? fork-point strategy= strategy-option= root reapply-cherry-picks", ""),
    Changing("reflog", "nv", "expire= expire-unreachable= all updateref rewrite verbose dry-run stale-fix", "expire delete exists list show"),
    Changing("remote", "vft:m:adnp", "verbose fetch tags mirror? track= master= add delete push auto prune dry-run", "add rename rm remove set-head set-branches set-url prune update show get-url"),
    Changing("repack", "aAdfFnqlbk", "quiet local write-bitmap-index keep-unreachable window= depth= threads=", ""),
    Changing("rerere", "", "", "clear forget diff status remaining gc"),
    Changing("reset", "qpN", "quiet no-refresh refresh mixed soft hard merge keep recurse-submodules? patch intent-to-add pathspec-from-file= pathspec-file-nul", ""),
    Changing("restore", "s:SWqm23p", "source= staged worktree ignore-unmerged overlay quiet recurse-submodules? progress merge conflict= ours theirs patch ignore-skip-worktree-bits pathspec-from-file= pathspec-file-nul", ""),
    Changing("revert", "nesm:X:S?", "quit continue abort skip cleanup= no-commit commit edit signoff mainline= rerere-autoupdate strategy= strategy-option= gpg-sign? reference", ""),
    Changing("rm", "nqfr", "dry-run quiet cached force ignore-unmatch sparse pathspec-from-file= pathspec-file-nul", ""),
    Changing("sparse-checkout", "", "cone sparse-index", "list init set add reapply disable"),
    Changing("stash", "pkuaSqm:", "patch keep-index include-untracked all staged quiet message= index pathspec-from-file= pathspec-file-nul", "push pop apply drop clear branch create store show list save"),
    Changing("submodule", "qb:fNj:n:", "quiet branch= force name= reference= depth= init remote no-fetch checkout merge rebase recursive jobs= single-branch recommend-shallow progress filter= cached all default dissociate", "add status init deinit update set-branch set-url summary sync absorbgitdirs"),
    Changing("switch", "c:C:qmdt?f", "create= force-create= guess discard-changes quiet recurse-submodules? progress merge conflict= detach track? force orphan= overwrite-ignore ignore-other-worktrees", ""),
    Changing("symbolic-ref", "qdm:", "quiet delete short recurse", ""),
    Changing("tag", "ln?dvam:F:esu:fi", "list delete verify annotate message= file= trailer= edit sign cleanup= local-user= force create-reflog column? contains= no-contains= merged= no-merged= omit-empty sort= points-at= format= color? ignore-case", ""),
    Changing("update-index", "qzg", "add remove refresh really-refresh cacheinfo= chmod= assume-unchanged skip-worktree force-remove again verbose", ""),
    Changing("update-ref", "m:d", "deref create-reflog", ""),
    Changing("worktree", "fb:B:dqvnz", "force detach checkout lock reason= orphan quiet track guess-remote porcelain verbose dry-run expire=", "add list lock unlock move remove prune repair"),
    Changing("write-tree", "", "missing-ok prefix=", ""),
];

/// Settings that name no program, no address and no file.
const SETTINGS: &[&str] = &[
    "advice.",
    "color.",
    "commit.gpgsign",
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.quotepath",
    "core.safecrlf",
    "diff.algorithm",
    "diff.renames",
    "fetch.prune",
    "init.defaultbranch",
    "merge.conflictstyle",
    "merge.ff",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "rebase.autosquash",
    "rebase.autostash",
    "rerere.enabled",
    "user.email",
    "user.name",
];

/// Ways to merge that are git's own: every other name is a program.
const STRATEGIES: &[&str] = &["ort", "recursive", "resolve", "octopus", "ours", "subtree"];

/// Whether git, given these words, starts no program that they name, apart from the words of which
/// `is_spelled` says that a rule has them: those are the person's own choice.
pub(crate) fn starts_nothing(args: &[Word], is_spelled: &dyn Fn(usize) -> bool) -> bool {
    let mut at = 0;
    while let Some(word) = args.get(at).filter(|word| word.text.starts_with('-')) {
        if !GLOBAL.contains(&word.text.as_str()) && word.text != "-C" && !is_spelled(at) {
            return false;
        }
        at += if ["-C", "-c"].contains(&word.text.as_str()) { 2 } else { 1 };
    }
    let Some(name) = args.get(at).filter(|word| !word.glob) else { return true };
    let rest = args.iter().enumerate().skip(at + 1);
    let rest: Vec<Word> =
        rest.filter(|(at, _)| !is_spelled(*at)).map(|(_, word)| word.clone()).collect();
    if name.text == "config" {
        return rest.is_empty() || sets_nothing_that_runs(&args[at + 1..]);
    }
    if let Some(known) = CHANGING.iter().find(|known| known.0 == name.text) {
        let mut words = args.iter().enumerate().skip(at + 1);
        let first = words.find(|(_, word)| !word.text.starts_with('-'));
        let is_own =
            |word: &Word| known.3.is_empty() || known.3.split(' ').any(|it| it == word.text);
        // Behind an option, the words of `stash` are what is put aside.
        let is_bare =
            known.0 == "stash" && args[at + 1..].first().is_some_and(|it| it.text.starts_with('-'));
        return match first.filter(|(_, word)| !is_bare && !is_own(word)) {
            Some((at, _)) => is_spelled(at),
            None => known.is_harmless(&rest),
        };
    }
    let mut looking = SUBCOMMANDS.iter().chain(plumbing::PLUMBING);
    match looking.find(|known| known.name == name.text) {
        Some(known) => known.check(&rest).is_ok(),
        // An alias, or a program of its own.
        None => is_spelled(at),
    }
}

impl Changing {
    fn is_harmless(&self, args: &[Word]) -> bool {
        let own: Vec<&str> = self.2.split_whitespace().collect();
        let negated: Vec<String> =
            own.iter().map(|name| format!("no-{}", name.trim_end_matches(['=', '?']))).collect();
        let negated: Vec<&str> = negated.iter().map(String::as_str).collect();
        let grammar = Grammar { short: self.1, long: &[&own, &negated], numbers: false };
        let Ok(read) = grammar.read(args) else { return false };
        let mut strategies = read
            .values(&["strategy"])
            .chain(read.values(&["s"]).filter(|_| ["merge", "pull", "rebase"].contains(&self.0)));
        let mut named =
            read.operands.iter().map(|word| word.text.as_str()).chain(read.values(&["repo"]));
        strategies.all(|name| STRATEGIES.contains(&name)) && !named.any(is_helped)
    }
}

/// Whether an address names the program that fetches from it: `ext::sh -c x`.
fn is_helped(address: &str) -> bool {
    let helper = address.split_once("::").map_or("", |(helper, _)| helper);
    !helper.is_empty() && helper.chars().all(|c| c.is_ascii_alphanumeric() || "+-._".contains(c))
}

/// Whether `git config` sets nothing that could be run later.
fn sets_nothing_that_runs(args: &[Word]) -> bool {
    let grammar = Grammar {
        short: "",
        long: &[&[
            "local",
            "global",
            "worktree",
            "add",
            "unset",
            "unset-all",
            "replace-all",
            "type=",
            "bool",
            "int",
        ]],
        numbers: false,
    };
    let Ok(read) = grammar.read(args) else { return false };
    let mut operands =
        read.operands.iter().filter(|word| !["set", "unset", "get"].contains(&word.text.as_str()));
    let Some(name) = operands.next().filter(|word| !word.glob) else { return false };
    let name = name.text.to_ascii_lowercase();
    SETTINGS
        .iter()
        .any(|known| if known.ends_with('.') { name.starts_with(known) } else { name == *known })
}
