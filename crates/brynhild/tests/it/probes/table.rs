//! The attacks: what a confined shell runs, and what makes it count as tried.

/// An attack.
pub(super) struct Probe {
    pub(super) id: &'static str,
    /// The shell script. It prints `ESC` if only it can see its success.
    pub(super) script: &'static str,
    pub(super) proof: Proof,
}

/// The proof that an attack works without a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// It works for everybody.
    Everybody,
    /// The kernel itself may refuse it to this user.
    Maybe,
    /// It is too dangerous, or pointless, without a sandbox.
    None,
    /// Like `None`, and inside it must report that it was refused.
    Refused,
    /// It works where there is that much room, and inside it must say that it was refused.
    Limited,
}

const fn probe(id: &'static str, script: &'static str) -> Probe {
    Probe { id, script, proof: Proof::Everybody }
}

const fn of(proof: Proof, id: &'static str, script: &'static str) -> Probe {
    Probe { id, script, proof }
}

/// Attacks on the outside, which are independent of each other.
pub(super) const PROBES: &[Probe] = &[
    probe("F01", "echo x > $C"),
    probe("F02", "touch $REAL/outside/new"),
    probe("F03", "echo evil >> $REAL/.bashrc"),
    probe("F04", "ln -s $C l; echo x > l"),
    probe("F05", "ln -s $REAL/outside d; echo x > d/new"),
    probe(
        "F06",
        "echo x > planted_link; echo x > planted_dir/new; grep -q original planted_link && echo ESC",
    ),
    probe("F07", "echo x > ../outside/canary.txt"),
    probe("F08", "echo x > /proc/self/root$C"),
    probe("F09", "for r in /proc/[0-9]*/root; do echo x > $r$C; done"),
    probe(
        "F10",
        "(cd $REAL/outside && exec sleep 5) & sleep 0.3; for c in /proc/[0-9]*/cwd; do \
         [ -e $c/canary.txt ] && echo x > $c/canary.txt; done; kill %1",
    ),
    probe(
        "F11",
        "ln $C hl && echo x > hl; mkdir -p $TMPDIR/hl; ln $C $TMPDIR/hl/x && echo x > $TMPDIR/hl/x",
    ),
    probe("F12", "mv $C stolen"),
    of(Proof::Maybe, "F13", "$SP mount /usr"),
    of(
        Proof::None,
        "F13b",
        "$SP umount $W/.git; $SP mount $W/.git; $SP umount $W; $SP mount /; echo x > $C",
    ),
    of(
        Proof::Maybe,
        "F14",
        "unshare -Urm bash -c \"mount -o remount,bind,rw /; echo x > $C; echo ESC\"",
    ),
    of(Proof::Maybe, "F15", "bwrap --dev-bind / / bash -c \"echo x > $C; echo ESC\""),
    of(Proof::Maybe, "F16", "$SP handle $HANDLE"),
    probe("F17", "$SP fdwrite 9; for n in 3 4 5 6 7 8 9 11 12; do echo x >&$n && echo ESC; done"),
    of(Proof::Maybe, "F18", "$SP mknod ./blk"),
    of(
        Proof::Maybe,
        "F19",
        "f=/proc/sys/kernel/core_pattern; cat $f > was; cat was > $f && echo ESC",
    ),
    of(
        Proof::Maybe,
        "F19b",
        "for f in /sys/fs/cgroup/*/release_agent; do [ -w $f ] && echo ESC; done",
    ),
    of(
        Proof::Maybe,
        "F19c",
        "f=/proc/sys/kernel/pid_max; cat $f > most; cat most > $f && echo ESC",
    ),
    probe("F20", "echo x > $BASE/tmp_canary"),
    probe(
        "F21",
        "f=/dev/shm/brynhild.$$; echo x > $f; [ -e $f ] && [ $(stat -fc %b /dev/shm) -gt 70000 ] \
         && echo ESC; rm -f $f",
    ),
    probe("F22", "cp /bin/true su1; chmod 4755 su1; [ -u su1 ] && echo ESC"),
    probe("F22b", "$SP suid ./su2"),
    probe("F22c", "$SP openat2 ./su3"),
    of(Proof::Maybe, "F23", "$SP fsopen; $SP open_tree"),
    probe("P11", "echo evil > $REAL/.config/brynhild/plugins/evil.py"),
    probe("P11b", "echo evil > $REAL/.config/brynhild/config.yaml"),
    probe(
        "P11c",
        "for f in cache/x sessions/x sandbox/x trust.jsonl permissions.jsonl plugin-data/x; do \
         mkdir -p $(dirname $REAL/.config/brynhild/$f); echo x > $REAL/.config/brynhild/$f; done",
    ),
    probe("P12", "echo evil > $REAL/.local/bin/git"),
    probe(
        "P14",
        "mkdir -p $REAL/.config/systemd/user && echo x > $REAL/.config/systemd/user/e.service",
    ),
    probe("S01", "cat $REAL/.ssh/id_ed25519"),
    probe("S02", "cat $REAL/.aws/credentials"),
    probe("S02b", "cat $REAL/.cargo/credentials.toml"),
    probe("S02c", "cat $REAL/.cargo/config.toml"),
    probe("S02d", "cat $REAL/.gem/credentials"),
    probe("S02e", "cat $REAL/.local/share/uv/credentials/credentials.toml"),
    probe("S02f", "cat $REAL/.dotnet/corefx/cryptography/x509stores/my/a.pfx"),
    probe("S02g", "cat $REAL/.nvm/versions/node/v22.1.0/etc/npmrc"),
    probe("S02h", "cat $REAL/miniconda3/.condarc"),
    probe("S03", "env"),
    probe("S04", "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -a VICTIM_SECRET"),
    probe("S05", "[ -r /proc/$VPID/cmdline ] && grep -aq AF_UNIX /proc/$VPID/cmdline && echo ESC"),
    probe("S06", "$SP keyctl_read"),
    probe("S07", "$SP shm $SHM"),
    of(Proof::Maybe, "S08", "head -c 1 /etc/shadow | grep -q . && echo ESC"),
    of(Proof::Maybe, "S09", "cat /proc/keys /proc/key-users | grep -q . && echo ESC"),
    probe("K01", "kill -0 $VPID && echo ESC"),
    of(Proof::None, "K01b", "kill -9 $VPID && echo ESC"),
    probe("K03", "$SP ptrace $VPID"),
    probe("K04", "$SP pvm $VPID"),
    probe("K05", "$SP ptrace_child"),
    probe("K06", "$SP pidfd_getfd $VPID"),
    of(Proof::Maybe, "K07", "$SP setns $VPID"),
    probe("K08", "$SP unshare_user"),
    probe("K09", "$SP clone3_user"),
    probe("K10", "$SP nnp"),
    probe("K11", "$SP memfd_exec \"echo x > $C\""),
    of(Proof::Maybe, "K12", "prlimit --pid $VPID --core=0:0 && echo ESC"),
    probe("K13", "renice 19 $VPID && echo ESC; taskset -p 1 $VPID && echo ESC"),
    of(Proof::Maybe, "K14", "ionice -c 3 -p $VPID && echo ESC"),
    of(
        Proof::Maybe,
        "K15",
        "${SP% *} -c 'import os, sys; os.setxattr(sys.argv[1], \"user.x\", b\"y\"); print(\"ESC\")' $C",
    ),
    probe("I01", "$SP unix $REAL/run/docker.sock"),
    probe("I02", "$SP unix $AGENT; $SP unix ${SSH_AUTH_SOCK:-/none}"),
    probe("I03", "$SP unix $W/dev.sock"),
    probe("I03b", "$SP unix $W/a/b/c/d/deep.sock"),
    probe("I03c", "cd $W/a/b/c/d/e/f/g && $SP unix relative.sock"),
    probe("I04", "$SP abstract $NAME"),
    probe("I05", "$SP unixdgram $REAL/run/dgram.sock"),
    probe("I05b", "$SP unixpair $REAL/run/dgram.sock"),
    of(Proof::Maybe, "I06", "$SP tiocsti"),
    of(Proof::Maybe, "I07", "$SP tiocsti_hi"),
    probe("N01", "$SP tcp $TCP"),
    probe("N02", "exec 3<>/dev/tcp/127.0.0.1/$TCP && head -c 4 <&3 | grep -q HTTP && echo ESC"),
    probe("N03", "$SP udp $UDP"),
    probe("N04", "$SP tfo $TCP"),
    probe(
        "N05",
        "env -u http_proxy -u HTTP_PROXY -u ALL_PROXY -u all_proxy \
         curl -s -m 3 --noproxy '*' http://127.0.0.1:$TCP/ | grep -q hello && echo ESC",
    ),
    probe(
        "N06",
        "curl -s -m 3 http://127.0.0.1:$TCP/ | grep -q hello && echo ESC; \
         for p in $http_proxy $HTTPS_PROXY $ALL_PROXY; do \
         curl -s -m 3 --noproxy '' -x \"$p\" http://127.0.0.1:$TCP/ | grep -q hello && echo ESC; done",
    ),
    of(Proof::Maybe, "N07", "$SP socket 40 1 0"),
    probe("N08", "$SP socket 16 3 0"),
    of(Proof::Maybe, "N09", "$SP socket 17 3 768"),
    of(Proof::Maybe, "N10", "$SP socket 38 5 0"),
    of(Proof::Maybe, "N11", "$SP int80 2"),
    of(Proof::Maybe, "N12", "$SP int80 1"),
    probe("N13", "$SP unshare_net"),
    of(Proof::Maybe, "X01", "$SP io_uring"),
    of(Proof::Maybe, "X02", "$SP userfaultfd"),
    of(Proof::Maybe, "X03", "$SP bpf"),
    of(Proof::Maybe, "X04", "$SP perf"),
    probe("X05", "$SP add_key"),
    of(Proof::Refused, "R01", "$SP forkbomb 1500"),
    of(Proof::Refused, "R02", "$SP mem 3072"),
    of(Proof::Limited, "R03", "$SP falloc ./big 8192; rm -f big"),
    of(Proof::Limited, "R04", "$SP falloc $TMPDIR/big 8192; rm -f $TMPDIR/big"),
    of(Proof::Limited, "R05", "f=/dev/shm/big.$$; $SP falloc $f 600; rm -f $f"),
];

/// An attack through files that the host obeys later.
pub(super) struct Plant {
    pub(super) id: &'static str,
    pub(super) in_repository: bool,
    /// The preparation on the host.
    pub(super) before: &'static str,
    pub(super) script: &'static str,
    /// The later commands of the user on the host.
    pub(super) host: &'static str,
}

const LOOKS: &str = "git status; git log -1; git diff";

const fn into_repository(id: &'static str, script: &'static str) -> Plant {
    Plant { id, in_repository: true, before: "", script, host: LOOKS }
}

const fn into_directory(id: &'static str, script: &'static str) -> Plant {
    Plant { id, in_repository: false, before: "", script, host: LOOKS }
}

/// A probe whose success is a file that the host would find.
const fn leftover(id: &'static str, script: &'static str, host: &'static str) -> Plant {
    Plant { id, in_repository: true, before: "", script, host }
}

/// An attack through a nested repository.
const fn nested(
    id: &'static str,
    before: &'static str,
    script: &'static str,
    host: &'static str,
) -> Plant {
    Plant { id, in_repository: true, before, script, host }
}

/// A submodule with a submodule of its own.
const SUBMODULES: &str = "\
    for r in deep lib; do git init -q -b main $REAL/$r; cd $REAL/$r; \
    git config user.name a; git config user.email b; git commit -q --allow-empty -m a; done; \
    git -c protocol.file.allow=always submodule -q add $REAL/deep inner && git commit -qm i; cd $W; \
    git -c protocol.file.allow=always submodule -q add $REAL/lib sm && \
    git -c protocol.file.allow=always submodule -q update --init --recursive && git commit -qm s";

/// Another repository in the index, without a word about it in `.gitmodules`.
const EMBEDDED: &str = "\
    git init -q -b main inner; git -C inner config user.name a; git -C inner config user.email b; \
    git -C inner commit -q --allow-empty -m a; git add inner; git commit -qm i";

/// Each needs a workspace of its own.
pub(super) const PLANTS: &[Plant] = &[
    leftover(
        "P01",
        "printf '#!/bin/sh\\ntouch %s/PWNED\\n' $REAL > .git/hooks/pre-commit && \
         chmod +x .git/hooks/pre-commit",
        "git commit -q --allow-empty -m x",
    ),
    into_repository("P02", "git config core.fsmonitor \"touch $REAL/PWNED;false\""),
    into_repository(
        "P02b",
        "printf '[core]\\n\\tfsmonitor = touch %s/PWNED;false\\n' $REAL >> .git/config",
    ),
    into_repository(
        "P03",
        "mv .git .g2 && cp -r .g2 .git && chmod -R u+w .git; \
         printf '[core]\\n\\tfsmonitor = touch %s/PWNED;false\\n' $REAL >> .git/config",
    ),
    into_repository(
        "P04",
        "mkdir -p ev && cp -r .git/. ev/ && \
         printf '[core]\\n\\tfsmonitor = touch %s/PWNED;false\\n' $REAL >> ev/config; \
         echo ../ev > .git/commondir",
    ),
    into_directory("P05", "git init -q . ; git config core.fsmonitor \"touch $REAL/PWNED;false\""),
    into_directory(
        "P06",
        "mkdir -p objects refs; echo 'ref: refs/heads/main' > HEAD; \
         printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = %s\\n\
         \\tfsmonitor = touch %s/PWNED;false\\n' $W $REAL > config",
    ),
    into_directory(
        "P07",
        "mkdir -p ev/objects ev/refs; echo 'ref: refs/heads/main' > ev/HEAD; \
         printf '[core]\\n\\trepositoryformatversion = 0\\n\\tworktree = %s\\n\
         \\tfsmonitor = touch %s/PWNED;false\\n' $W $REAL > ev/config; echo 'gitdir: ev' > .git",
    ),
    leftover(
        "P08",
        "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes",
        "[ ! -e .git/info/attributes ] || touch $REAL/PWNED",
    ),
    leftover(
        "P09",
        "for f in .brynhild/config.yaml .codex/config.toml .claude/settings.json .mcp.json; do \
         mkdir -p $(dirname $f); echo x > $f; done",
        "for f in .brynhild .codex .claude .mcp.json; do [ ! -e $f ] || touch $REAL/PWNED; done",
    ),
    leftover(
        "P10",
        "mkdir -p .vscode .idea && echo '{}' > .vscode/settings.json; echo x > .idea/x.xml; \
         echo x > .envrc; ln -s /etc .cursor; echo x > .bashrc",
        "for f in .vscode .idea .envrc .cursor .bashrc; do [ ! -e $f ] || touch $REAL/PWNED; done",
    ),
    leftover(
        "P10b",
        "mkdir -p .opencode/plugins .windsurf .zed && echo x > .opencode/plugins/x.ts; \
         echo x > .windsurf/x; echo x > .zed/settings.json; echo x > opencode.json; echo x > .exrc",
        "for f in .opencode .windsurf .zed opencode.json .exrc; do \
         [ ! -e $f ] || touch $REAL/PWNED; done",
    ),
    nested(
        "P15",
        SUBMODULES,
        "mkdir ev; cp -r .git/modules/sm/. ev/; chmod -R u+w ev; \
         printf '[core]\\n\\trepositoryformatversion = 0\\n\\tworktree = ../sm\\n\
         \\tfsmonitor = touch %s/PWNED;false\\n' $REAL > ev/config; \
         mv sm old; mkdir sm; echo 'gitdir: ../ev' > sm/.git",
        LOOKS,
    ),
    nested(
        "P15b",
        SUBMODULES,
        "mkdir ev; cp -r .git/modules/sm/modules/inner/. ev/; chmod -R u+w ev; \
         printf '[core]\\n\\trepositoryformatversion = 0\\n\\tworktree = ../sm/inner\\n\
         \\tfsmonitor = touch %s/PWNED;false\\n' $REAL > ev/config; \
         echo 'gitdir: ../../ev' > sm/inner/.git || { mv sm old; mkdir -p sm; cp -r old/. sm/; \
         echo 'gitdir: ../../ev' > sm/inner/.git; }",
        LOOKS,
    ),
    nested(
        "P15c",
        "git init -q -b main $REAL/lib; cd $REAL/lib; \
         git config user.name a; git config user.email b; git commit -q --allow-empty -m a; cd $W; \
         git -c protocol.file.allow=always submodule -q add $REAL/lib sm && git commit -qm s; \
         rm -rf sm",
        "mkdir ev; cp -r .git/modules/sm/. ev/; chmod -R u+w ev; \
         printf '[core]\\n\\trepositoryformatversion = 0\\n\\tworktree = ../sm\\n\
         \\tfsmonitor = touch %s/PWNED;false\\n' $REAL > ev/config; \
         mkdir sm; echo 'gitdir: ../ev' > sm/.git",
        LOOKS,
    ),
    nested(
        "P16",
        EMBEDDED,
        "printf '[core]\\n\\tfsmonitor = touch %s/PWNED;false\\n' $REAL >> inner/.git/config",
        LOOKS,
    ),
    nested(
        "P16b",
        EMBEDDED,
        "cp -r inner evil; chmod -R u+w evil; mv inner gone; \
         printf '[core]\\n\\tfsmonitor = touch %s/PWNED;false\\n' $REAL >> evil/.git/config; \
         mv evil inner",
        LOOKS,
    ),
    nested(
        "P17",
        "git init -q a/b/own",
        "printf '[core]\\n\\tfsmonitor = touch %s/PWNED;false\\n' $REAL >> a/b/own/.git/config; \
         mv a moved; mkdir -p a/b/own; cp -r moved/b/own/. a/b/own/; chmod -R u+w a; \
         printf '[core]\\n\\tfsmonitor = touch %s/PWNED;false\\n' $REAL >> a/b/own/.git/config",
        "cd a/b/own && git status",
    ),
    nested(
        "P18",
        "",
        "git init -q planted; git -C planted config core.fsmonitor \"touch $REAL/PWNED;false\"",
        "cd planted && git status",
    ),
    nested(
        "P18b",
        "",
        "git init -q --bare planted; git -C planted config core.bare false; \
         git -C planted config core.worktree $W; \
         git -C planted config core.fsmonitor \"touch $REAL/PWNED;false\"",
        "cd planted && git status",
    ),
    into_directory(
        "P06b",
        "mkdir -p ev/objects ev/refs; echo ev > commondir; echo 'ref: refs/heads/main' > HEAD; \
         printf '[core]\\n\\trepositoryformatversion = 1\\n\\tfsmonitor = touch %s/PWNED;false\\n\
         [extensions]\\n\\tworktreeConfig = true\\n' $REAL > ev/config; \
         printf '[core]\\n\\tbare = false\\n\\tworktree = %s\\n' $W > config.worktree",
    ),
    nested(
        "P20",
        "mkdir tools .husky; git config core.hooksPath .husky; git config include.path ../tools/gitconfig; \
         touch tools/gitconfig; printf '#!/bin/sh\\n' > .husky/pre-commit; chmod +x .husky/pre-commit",
        "printf '[core]\\n\\tfsmonitor = touch %s/PWNED;false\\n' $REAL >> tools/gitconfig; \
         echo \"touch $REAL/PWNED\" >> .husky/pre-commit",
        "git status; git commit -q --allow-empty -m x",
    ),
    nested(
        "P20b",
        "git config core.hooksPath .husky",
        "mkdir -p .husky; printf '#!/bin/sh\\ntouch %s/PWNED\\n' $REAL > .husky/pre-commit; \
         chmod +x .husky/pre-commit",
        "git commit -q --allow-empty -m x",
    ),
    nested(
        "P18c",
        "",
        "mkdir 0; for i in $(seq 4000); do : > 0/f$i; done; git init -q zz; \
         git -C zz config core.fsmonitor \"touch $REAL/PWNED;false\"",
        "cd zz && git status",
    ),
    nested(
        "P18d",
        "",
        "mkdir -p 1/2/3/4/5/6/7; git init -q 1/2/3/4/5/6/7; \
         git -C 1/2/3/4/5/6/7 config core.fsmonitor \"touch $REAL/PWNED;false\"",
        "cd 1/2/3/4/5/6/7 && git status",
    ),
    nested(
        "P19",
        "mkdir -p part",
        "mkdir -p part/.vscode && echo '{}' > part/.vscode/settings.json; echo x > part/.mcp.json",
        "for f in .vscode .mcp.json; do [ ! -e part/$f ] || touch $REAL/PWNED; done",
    ),
];
