//! Further paths, the network, and the owner of created files.

use std::fs;
use std::path::PathBuf;

use contract::sandbox::{Access, Exit, Network};
use sandbox::Backend;

use crate::fixture::{Mode, World, backends};

async fn works(world: &World, backend: Backend, id: &str, script: &str) -> String {
    let output = world.run(Mode::Confined(backend), script).await;
    assert_eq!(output.exit, Exit::Code(0), "{id} {backend}: {output:?}");
    output.stdout
}

#[tokio::test]
async fn read_only_access_writes_nothing_but_scratch() {
    for backend in backends() {
        let mut world = World::with_git();
        world.profile.access = Access::ReadOnly;
        let extra = world.home.join("outside");
        world.profile.write.push(extra);
        let script = "cat a.txt; echo x > new; echo x >> a.txt; rm a.txt; echo x > $C; \
                      echo x > $TMPDIR/t && echo scratch";
        let before = (world.surroundings(), fs::read_dir(&world.work).unwrap().count());
        let output = world.run(Mode::Confined(backend), script).await;
        assert_eq!(output.stdout, "x\nscratch\n", "{backend}: {output:?}");
        let after = (world.surroundings(), fs::read_dir(&world.work).unwrap().count());
        assert_eq!(after, before, "{backend}");
    }
}

#[tokio::test]
async fn further_paths_are_granted_and_missing_ones_skipped() {
    for backend in backends() {
        let mut world = World::new();
        let writable = world.home.join("outside");
        let readable = world.home.join(".config");
        fs::write(readable.join("notes"), "read me").unwrap();
        world.profile.write = vec![writable.clone(), PathBuf::from("/no/such/path")];
        world.profile.read.extend([readable, PathBuf::from("/no/such/either")]);
        let script = "cat $REAL/.config/notes; echo x > $REAL/.config/notes; echo new > $C; \
                      mkdir $REAL/outside/.vscode && echo x > $REAL/outside/.vscode/a";
        let output = world.run(Mode::Confined(backend), script).await;
        assert_eq!(output.stdout, "read me", "{backend}: {output:?}");
        let canary = fs::read_to_string(writable.join("canary.txt")).unwrap();
        assert_eq!(canary, "new\n", "{backend}");
        assert!(!writable.join(".vscode").exists(), "{backend}");
        let notes = fs::read_to_string(world.home.join(".config/notes")).unwrap();
        assert_eq!(notes, "read me", "{backend}");
    }
}

#[tokio::test]
async fn created_files_belong_to_the_user() {
    use std::os::unix::fs::MetadataExt;
    for backend in backends() {
        let world = World::new();
        works(&world, backend, "owner", "echo x > made").await;
        let owner = fs::metadata(world.work.join("made")).unwrap().uid();
        assert_eq!(owner, rustix::process::geteuid().as_raw(), "{backend}");
    }
}

#[tokio::test]
async fn names_resolve_if_the_network_is_granted() {
    let mut world = World::new();
    world.profile.network = Network::Host;
    for backend in backends() {
        works(
            &world,
            backend,
            "resolver",
            "test ! -e /etc/resolv.conf -a -L /etc/resolv.conf && exit 1; true",
        )
        .await;
    }
}
