//! What must keep working inside.

use std::fs;
use std::path::{Path, PathBuf};

use contract::policy::Access;
use contract::sandbox::{Exit, Network};
use sandbox::Rung;

use crate::rig::{Mode, World, has_bubblewrap, rungs, skip};

async fn works(world: &World, rung: Rung, id: &str, script: &str) -> String {
    let output = world.run(Mode::Confined(rung), script).await;
    assert_eq!(output.exit, Exit::Code(0), "{id} {rung}: {output:?}");
    output.stdout
}

#[tokio::test]
async fn everyday_work_goes_on() {
    for rung in rungs() {
        let world = World::with_git();
        works(
            &world,
            rung,
            "U01",
            "echo hi > n && grep hi n && mkdir -p d/e && mv n d/e/n && rm -r d",
        )
        .await;
        works(&world, rung, "U02", "f=$(mktemp) && echo x > $f && d=$(mktemp -d) && touch $d/x")
            .await;
        works(&world, rung, "U03", "git status --porcelain && git log --oneline && git diff").await;
        works(&world, rung, "U10", "echo x > /dev/null && head -c 4 /dev/urandom | wc -c && cat < /dev/zero | head -c 1 >/dev/null").await;
        works(
            &world,
            rung,
            "U11",
            "$PY -c 'import pty,os; m,s=pty.openpty(); os.write(s,b\"x\"); os.read(m,1)'"
                .replace("$PY", "/usr/bin/python3")
                .as_str(),
        )
        .await;
        works(&world, rung, "U12", "for i in $(seq 200); do sleep 0.3 & done; wait").await;
        works(
            &world,
            rung,
            "U13",
            "/usr/bin/python3 -c 'b=bytearray(1<<30); b[::4096]=b\"x\"*len(b[::4096])'",
        )
        .await;
        works(&world, rung, "U14", "/usr/bin/python3 -c 'import fcntl,os; f=open(\"l\",\"w\"); fcntl.flock(f,2); f.write(\"x\"); f.flush(); os.fsync(f.fileno())'").await;
        works(&world, rung, "U15", "/usr/bin/python3 -c 'import threading,time; t=[threading.Thread(target=time.sleep,args=(.3,)) for _ in range(200)]; [x.start() for x in t]; [x.join() for x in t]'").await;
        works(&world, rung, "U17", "cat <(echo a) && echo b | tee >(cat) && cat <<< c").await;
        works(
            &world,
            rung,
            "U18",
            "cd / && ls /usr/bin/env && test -w $HOME && touch $HOME/x && test -w $TMPDIR",
        )
        .await;
    }
}

#[tokio::test]
async fn interprocess_work_goes_on_inside_namespaces() {
    const POOL: &str = "/usr/bin/python3 -c 'import multiprocessing as m
if __name__==\"__main__\": print(sum(m.Pool(2).map(abs,[1,-2])))'";
    const MANAGER: &str = "/usr/bin/python3 -c 'import multiprocessing as m
if __name__==\"__main__\": d=m.Manager().dict(); d[1]=2; print(d[1])'";
    const LOOPBACK: &str = "/usr/bin/python3 -c 'import socket
s=socket.create_server((\"127.0.0.1\",0)); c=socket.create_connection(s.getsockname()); print(1)'";
    if !has_bubblewrap() {
        return;
    }
    let world = World::new();
    for (id, script) in [("U06", LOOPBACK), ("U07", POOL), ("U08", MANAGER)] {
        works(&world, Rung::Bubblewrap, id, script).await;
    }
    skip("U06-U08 on landlock, which says that it lacks them");
}

#[tokio::test]
async fn compilers_and_interpreters_work() {
    let programs = [
        ("cc", "printf 'int main(void){return 0;}' > a.c && cc a.c -o a && ./a"),
        (
            "node",
            "node -e 'console.log(1)' && node -e 'require(\"child_process\").execSync(\"true\")'",
        ),
        ("make", "printf 'all:\\n\\ttrue\\n' > Makefile && make"),
    ];
    for (program, script) in programs {
        if !Path::new("/usr/bin").join(program).exists() {
            skip(&format!("{program} is not installed"));
            continue;
        }
        for rung in rungs() {
            works(&World::new(), rung, program, script).await;
        }
    }
}

#[tokio::test]
async fn cargo_builds_offline_from_a_home_it_cannot_write() {
    let Some(home) = cargo_home() else {
        return skip("no cargo in the home directory of the user who runs the tests");
    };
    for rung in rungs() {
        let mut world = World::new();
        fs::create_dir_all(world.work.join("src")).unwrap();
        fs::write(world.work.join("src/main.rs"), "fn main() { println!(\"built\"); }").unwrap();
        fs::write(
            world.work.join("Cargo.toml"),
            "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
             [dependencies]\nfastrand = { version = \"2\", default-features = false }\n[workspace]\n",
        )
        .unwrap();
        let path = format!("{}/.cargo/bin:/usr/bin:/bin", home.display());
        world.profile.env.insert("PATH".to_owned(), path);
        world.profile.env.insert("HOME".to_owned(), home.to_str().unwrap().to_owned());
        let mut settings = world.settings(Some(rung));
        settings.home = Some(home.clone());
        let sandbox = sandbox::ladder(settings);
        let spawn = world.spawn("cargo run -q --offline && cargo test -q --offline");
        let output = crate::rig::collect(sandbox.start(&spawn, &world.profile).unwrap()).await;
        assert_eq!(output.exit, Exit::Code(0), "{rung}: {output:?}");
        assert!(output.stdout.contains("built"), "{rung}: {output:?}");
    }
}

/// The home directory that has a toolchain and the registry that these tests were built from.
fn cargo_home() -> Option<PathBuf> {
    let cargo = Path::new(env!("CARGO"));
    let home = cargo.ancestors().find(|path| path.join(".rustup").is_dir())?;
    let usable = home.join(".cargo/registry/cache").read_dir().is_ok();
    usable.then(|| home.to_owned())
}

#[tokio::test]
async fn read_only_access_writes_nothing_but_scratch() {
    for rung in rungs() {
        let mut world = World::with_git();
        world.profile.access = Access::ReadOnly;
        let extra = world.home.join("outside");
        world.profile.write.push(extra);
        let script = "cat a.txt; echo x > new; echo x >> a.txt; rm a.txt; echo x > $C; \
                      echo x > $TMPDIR/t && echo scratch";
        let before = (world.surroundings(), fs::read_dir(&world.work).unwrap().count());
        let output = world.run(Mode::Confined(rung), script).await;
        assert_eq!(output.stdout, "x\nscratch\n", "{rung}: {output:?}");
        let after = (world.surroundings(), fs::read_dir(&world.work).unwrap().count());
        assert_eq!(after, before, "{rung}");
    }
}

#[tokio::test]
async fn further_paths_are_granted_and_missing_ones_are_not_fatal() {
    for rung in rungs() {
        let mut world = World::new();
        let writable = world.home.join("outside");
        let readable = world.home.join(".config");
        fs::write(readable.join("notes"), "read me").unwrap();
        world.profile.write = vec![writable.clone(), PathBuf::from("/no/such/path")];
        world.profile.read.extend([readable, PathBuf::from("/no/such/either")]);
        let script = "cat $REAL/.config/notes; echo x > $REAL/.config/notes; echo new > $C; \
                      mkdir $REAL/outside/.vscode && echo x > $REAL/outside/.vscode/a";
        let output = world.run(Mode::Confined(rung), script).await;
        assert_eq!(output.stdout, "read me", "{rung}: {output:?}");
        let canary = fs::read_to_string(writable.join("canary.txt")).unwrap();
        assert_eq!(canary, "new\n", "{rung}");
        assert!(!writable.join(".vscode").exists(), "{rung}");
        let notes = fs::read_to_string(world.home.join(".config/notes")).unwrap();
        assert_eq!(notes, "read me", "{rung}");
    }
}

#[tokio::test]
async fn files_made_inside_belong_to_the_user() {
    use std::os::unix::fs::MetadataExt;
    for rung in rungs() {
        let world = World::new();
        works(&world, rung, "owner", "echo x > made").await;
        let owner = fs::metadata(world.work.join("made")).unwrap().uid();
        assert_eq!(owner, rustix::process::geteuid().as_raw(), "{rung}");
    }
}

#[tokio::test]
async fn names_resolve_where_the_network_is_granted() {
    let mut world = World::new();
    world.profile.network = Network::Host;
    for rung in rungs() {
        works(
            &world,
            rung,
            "resolver",
            "test ! -e /etc/resolv.conf -a -L /etc/resolv.conf && exit 1; true",
        )
        .await;
    }
}
