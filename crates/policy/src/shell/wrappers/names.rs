//! Names of programs by what they do with others, as data: words between spaces.

/// Programs that take shell text: in an argument, or on standard input.
pub(super) const SHELLS: &str = "\
    sh bash rbash dash ash zsh ksh mksh fish csh tcsh su capsh sg runuser script ssh at batch pwsh \
    eval trap alias watch flock parallel entr hyperfine nix-shell tmux screen docker podman \
    kubectl newgrp rsh nu xonsh elvish osh ysh yash posh lksh hush powershell vagrant adb oksh loksh ion";

/// Programs that take a program text of their own.
pub(super) const INTERPRETERS: &str = "\
    python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua luajit tclsh expect \
    osascript Rscript julia guile awk gawk mawk nawk elixir erl sbcl clojure clj scala groovy ghc \
    ghci runhaskell raku gnuplot octave gjs qjs tsx ts-node swift crystal R m4 dc jshell racket \
    gosh sqlcl ipython bpython ptpython jupyter irb pry jruby ocaml utop runghc dart java \
    javaw kotlin bb janet fennel hy micropython wish bsh rhino nashorn \
    stap dtrace csi fsi scheme gsi csharp iex";

/// Programs with commands of their own by which they run others.
pub(super) const EMBEDDING: &str = "\
    vi vim nvim view ex ed emacs sed gsed psql mysql sqlite3 gdb lldb tar gtar bsdtar zip rsync \
    scp sftp less more man crontab mapfile readarray complete make gmake ninja tig mutt compgen \
    bind ftp lftp gnuplot gawk fzf sk cpio go ansible apt apt-get aptitude gcc g++ cc c++ clang tex latex \
    pdflatex xelatex lualatex rpm rpmbuild maxima exiftool tcpdump nano strace ltrace wget";

/// Those of them that read such commands from their input.
pub(super) const LISTENERS: &str = "\
    vi vim nvim ex ed psql mysql sqlite3 gdb lldb crontab sftp make gmake ftp";

/// Programs that run another one, which stands somewhere among their arguments.
pub(super) const LAUNCHERS: &str = "\
    proot conda mamba micromamba nix nc ncat netcat socat bwrap toolbox distrobox flatpak \
    start-stop-daemon daemonize chpst setarch linux32 linux64 i386 i486 i586 i686 x86_64 uname26 \
    gdb lldb rr choom tini dumb-init catatonit cgexec sem s6-setuidgid s6-envdir s6-softlimit \
    s6-setlock s6-sudo s6-applyuidgid execlineb softlimit envdir setuidgid envuidgid setlock \
    pgrphack tcpserver authbind fakechroot schroot lxc-attach lxc-execute machinectl nsjail \
    minijail0 systemd-nspawn systemd-inhibit systemd-cat systemd-stdio-bridge pasta slirp4netns \
    rootlesskit buildah nerdctl crictl oc apptainer singularity ip vglrun optirun primusrun \
    prime-run gamemoderun mangohud wine wine64 heaptrack memusage catchsegv ddd bpftrace xterm \
    uxterm rxvt urxvt gnome-terminal konsole xfce4-terminal x-terminal-emulator terminator kitty \
    alacritty foot wezterm st dtach abduco ts tsp nq pueue daemon reptyr logsave retry chronic \
    ifne pee mispipe zargs rush noti gtime hash enable wsl calife super please dzdo ssu vx volta \
    fnm nvm pyenv rbenv rye pdm pixi devbox devenv op aws-vault chamber doppler dotenv envchain \
    sops teller with-contenv step xdg-open open run-parts rustup lxc incus docker-compose \
    podman-compose cmake sshpass mosh aa-exec gdbserver heroku ccache distcc sccache gpg-agent \
    ansible guix wait-for wait-for-it wait-for-it.sh dockerize";

/// Programs whose remembered approval would allow anything at all.
pub(super) const UNBOUNDED: &str = "\
    rm rmdir shred dd git find fd source . export declare typeset set shopt unset readonly curl \
    wget nc ncat scp rsync chmod chown mv kill pkill killall tee tar pip pip3 pipx uv poetry gem \
    brew apt apt-get dnf yum pacman apk terraform ansible gh aws gcloud az mount umount systemctl \
    crontab open xdg-open gradle mvn rake tox nox ninja cmake meson task make gmake just sed ed ex \
    vi vim nvim emacs npm pnpm yarn npx bunx pnpx uvx psql mysql mariadb sqlite3 duckdb gdb lldb \
    bmake pmake remake invoke inv fab scons bazel bazelisk buck buck2 pants cabal stack opam mix \
    rails rake thor bundle composer sbt mill lein ant grunt gulp nx turbo lerna rush split less more \
    man tig lftp ftp hatch pdm rye pixi conda mamba micromamba poe doit snakemake nextflow";

/// Commands that run what lies in the project, which may be anything by the next time.
pub(super) const RUNNING: &[(&str, &[&str])] = &[
    ("cargo", &["run", "r", "bench", "install", "watch", "script", "xtask", "make", "nextest"]),
    ("go", &["run", "generate", "tool", "install"]),
    ("dotnet", &["run", "exec", "script", "tool", "watch", "msbuild", "fsi"]),
    ("swift", &["run"]),
    ("zig", &["run", "build"]),
    ("nim", &["r", "c"]),
    ("deno", &["run", "task", "eval"]),
    ("flutter", &["run"]),
    ("gleam", &["run"]),
    ("dune", &["exec", "utop"]),
    ("docker-compose", &["run", "exec", "up"]),
];
