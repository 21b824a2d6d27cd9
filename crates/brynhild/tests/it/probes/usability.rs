//! Everyday commands that work inside.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::world::{Backend, Door, Place, User, World, has, skip, users};
use super::{each_place, sections, text};

/// Something that people do.
struct Work {
    id: &'static str,
    /// The program that the machine needs for it.
    needs: &'static str,
    script: &'static str,
    backends: &'static [Backend],
}

const BOTH: &[Backend] = &[Backend::Bubblewrap, Backend::Landlock];
/// The features that Landlock reports as missing.
const STRONG: &[Backend] = &[Backend::Bubblewrap];

const fn work(id: &'static str, needs: &'static str, script: &'static str) -> Work {
    Work { id, needs, script, backends: BOTH }
}

const fn strong(id: &'static str, needs: &'static str, script: &'static str) -> Work {
    Work { id, needs, script, backends: STRONG }
}

const WORK: &[Work] = &[
    work("U01", "bash", "echo hi > n && grep hi n && mkdir -p d/e && mv n d/e/n && rm -r d"),
    work("U02", "mktemp", "f=$(mktemp) && echo x > $f && d=$(mktemp -d) && touch $d/x"),
    work(
        "U03",
        "git",
        "git status --porcelain && git log --oneline && git diff && git blame a.txt",
    ),
    work("U05", "gcc", "printf 'int main(void){return 0;}' > a.c && gcc a.c -o a && ./a"),
    strong(
        "U06",
        "python3",
        "$PY -c 'import socket\ns=socket.create_server((\"127.0.0.1\",0))\n\
         c=socket.create_connection(s.getsockname())'",
    ),
    strong(
        "U07",
        "python3",
        "$PY -c 'import multiprocessing as m\nif __name__==\"__main__\": print(m.Pool(2).map(abs,[1,-2]))'",
    ),
    strong(
        "U08",
        "python3",
        "$PY -c 'import multiprocessing as m\nif __name__==\"__main__\": d=m.Manager().dict(); d[1]=2'",
    ),
    work(
        "U09",
        "node",
        "node -e 'const c=require(\"child_process\").fork(\"-e\",[]);c.on(\"exit\",()=>process.exit(0))'",
    ),
    work(
        "U10",
        "bash",
        "echo x > /dev/null && head -c 4 /dev/urandom | wc -c && head -c 1 /dev/zero | wc -c",
    ),
    work(
        "U11",
        "python3",
        "$PY -c 'import pty,os; m,s=pty.openpty(); os.write(s,b\"x\"); os.read(m,1)'",
    ),
    work("U12", "bash", "for i in $(seq 200); do sleep 0.3 & done; wait"),
    work("U13", "python3", "$PY -c 'b=bytearray(1<<30); b[::4096]=b\"x\"*len(b[::4096])'"),
    work(
        "U14",
        "python3",
        "$PY -c 'import fcntl,os; f=open(\"l\",\"w\"); fcntl.flock(f,2); f.write(\"x\"); f.flush(); os.fsync(f.fileno())'",
    ),
    work(
        "U15",
        "python3",
        "$PY -c 'import threading,time; t=[threading.Thread(target=time.sleep,args=(.3,)) for _ in range(200)]; \
         [x.start() for x in t]; [x.join() for x in t]'",
    ),
    work("U17", "bash", "cat <(echo a) && echo b | tee >(cat) && cat <<< c"),
    work(
        "U18",
        "bash",
        "cd / && ls /usr/bin/env && test -w $HOME && touch $HOME/x && test -w $TMPDIR",
    ),
    work("U19", "make", "printf 'all:\\n\\ttrue\\n' > Makefile && make"),
    work(
        "U20",
        "python3",
        "printf 'import unittest\\nclass T(unittest.TestCase):\\n def test(self): pass\\n' > test_x.py && $PY -m unittest -q",
    ),
    work("U21", "pip", "$PY -m pip --version && $PY -m pip list --disable-pip-version-check"),
    work(
        "U22",
        "npm",
        "echo '{\"name\":\"x\",\"scripts\":{\"test\":\"true\"}}' > package.json && npm test && npm install --offline --no-audit",
    ),
    // Not every compiler includes the libraries.
    strong(
        "U23",
        "gcc",
        "printf 'int main(void){return 0;}' > s.c; ulimit -d unlimited; \
         if gcc -fsanitize=address s.c -o s; then ASAN_OPTIONS=detect_leaks=0 ./s; fi && \
         if gcc -fsanitize=thread s.c -o t; then ./t; fi",
    ),
    // Files beside hidden settings.
    work(
        "U24",
        "bash",
        "cat $REAL/.gem/ruby/3.4.0/x $REAL/.nvm/versions/node/v22.1.0/bin/node $REAL/miniconda3/bin/conda",
    ),
    work(
        "H7",
        "git",
        "[ ! -e .git/config.worktree ] && git -c extensions.worktreeConfig=true status",
    ),
];

#[test]
fn git_finds_user_settings_in_every_sandbox() {
    each_place(|user, place| {
        let world = World::new(user);
        let condition = format!("gitdir:{}/", world.work.display());
        let settings = format!("[user] name = Una\n[includeIf \"{condition}\"] path = here\n");
        fs::write(world.home.join(".gitconfig"), settings).unwrap();
        fs::write(world.home.join("here"), "[user] email = u@x\n").unwrap();
        let script = "git init -q x && cd x && git config user.name && git config user.email";
        let output = world.confined(place, script);
        assert_eq!(text(&output), "Una\nu@x\n", "{user:?} {place:?} {output:?}");
    });
}

#[test]
fn everyday_commands_work_in_bubblewrap() {
    for user in users() {
        everything_works(user, Backend::Bubblewrap);
    }
}

#[test]
fn everyday_commands_work_in_landlock() {
    for user in users() {
        everything_works(user, Backend::Landlock);
    }
}

fn everything_works(user: User, backend: Backend) {
    if !has(backend, user) {
        return;
    }
    let mut world = World::with_git(user);
    world.set("PY", &super::world::python());
    let chosen: Vec<&Work> = WORK.iter().filter(|work| is_here(work, backend)).collect();
    let mut all = String::new();
    for Work { id, script, .. } in &chosen {
        let _ =
            writeln!(all, "echo; echo '== {id}'\n(\n{script}\n) 2>&1 </dev/null && echo WORKED");
    }
    let output = world.confined(Place { backend, door: Door::Run }, &all);
    let printed = sections(&text(&output));
    let failures: Vec<String> = chosen
        .iter()
        .filter(|work| !printed.get(work.id).is_some_and(|lines| lines.contains("WORKED")))
        .map(|work| format!("{}: {:?}", work.id, printed.get(work.id)))
        .collect();
    assert!(failures.is_empty(), "{user:?} {backend:?}:\n{}\n{output:?}", failures.join("\n"));
    let status = text(&world.plainly("git status --porcelain --ignored | grep '^.. \\.'"));
    assert_eq!(status, "", "U16 {user:?} {backend:?}");
}

fn is_here(work: &Work, backend: Backend) -> bool {
    let place = |directory: &str| Path::new(directory).join(work.needs).exists();
    let has_program = match work.needs {
        "python3" => true,
        "pip" => Path::new("/usr/lib/python3/dist-packages/pip").exists(),
        _ => ["/usr/bin", "/bin", "/usr/local/bin"].into_iter().any(place),
    };
    if !has_program {
        skip(&format!("{}: {} is not installed", work.id, work.needs));
    }
    let is_promised = work.backends.contains(&backend);
    if !is_promised {
        skip(&format!("{} on {backend:?}, which says that it lacks it", work.id));
    }
    has_program && is_promised
}

#[test]
fn cargo_works_offline_with_a_read_only_home() {
    let cargo = Path::new(env!("CARGO"));
    let home = cargo.ancestors().find(|path| path.join(".rustup").is_dir());
    let Some(home) = home.filter(|home| home.join(".cargo/registry/cache").is_dir()) else {
        return skip("cargo: no toolchain in the home directory of the user who runs the tests");
    };
    for backend in BOTH.iter().copied().filter(|backend| has(*backend, User::Same)) {
        let world = World::new(User::Same);
        // Landlock cannot have it vanish where it holds a token, and cargo wants to read it.
        fs::remove_file(world.home.join(".cargo/config.toml")).unwrap();
        fs::create_dir(world.work.join("src")).unwrap();
        fs::write(world.work.join("src/main.rs"), "fn main() { println!(\"built\"); }").unwrap();
        fs::write(
            world.work.join("Cargo.toml"),
            "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
             [dependencies]\nfastrand = { version = \"2\", default-features = false }\n[workspace]\n",
        )
        .unwrap();
        let script = "cargo run -q --offline && cargo test -q --offline";
        let output = world
            .command(Place { backend, door: Door::Run }, script)
            .env("PATH", format!("{}/.cargo/bin:/usr/bin:/bin", home.display()))
            .env("CARGO_HOME", home.join(".cargo"))
            .env("RUSTUP_HOME", home.join(".rustup"))
            .output()
            .unwrap();
        assert!(
            output.status.success() && text(&output).contains("built"),
            "{backend:?}: {output:?}"
        );
    }
}
