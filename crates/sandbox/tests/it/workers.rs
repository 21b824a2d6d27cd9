//! Processes that stay: a line of their own to the caller, directories of their own, and an end with
//! all that they started.

use std::fs;

use contract::sandbox::{Access, Channel, ChannelEnds, Exit, Spawn, Stdin};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};

use crate::fixture::World;
use crate::processes::{eventually, mark, modes, runs};

/// A worker that answers each line on the channel, and prints what looks like an answer.
const WORKER: &str = "while read -r line <&3; do echo \"forged $line\"; echo \"forged $line\" >&2; \
                      echo \"answer $line\" >&4; done; echo end";

type Answers = Lines<BufReader<Box<dyn tokio::io::AsyncRead + Send + Unpin>>>;

fn spawn(world: &World, script: &str) -> Spawn {
    Spawn { channel: Channel::Private, stdin: Stdin::Piped, ..world.spawn(script) }
}

async fn ask(
    ends: &mut (Answers, Box<dyn tokio::io::AsyncWrite + Send + Unpin>),
    line: &str,
) -> String {
    ends.1.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    ends.0.next_line().await.unwrap().unwrap()
}

fn lines(ends: ChannelEnds) -> (Answers, Box<dyn tokio::io::AsyncWrite + Send + Unpin>) {
    (BufReader::new(ends.reader).lines(), ends.writer)
}

#[tokio::test]
async fn worker_channel_is_separate_from_its_output() {
    for mode in modes() {
        let world = World::new();
        let mut child = world.sandbox(mode).start(&spawn(&world, WORKER), &world.profile).unwrap();
        let mut ends = lines(child.channel.take().unwrap());
        for number in 0..3 {
            let answer = ask(&mut ends, &number.to_string()).await;
            assert_eq!(answer, format!("answer {number}"), "{mode:?}");
        }
        drop(ends.1);
        let mut printed = String::new();
        child.stdout.read_to_string(&mut printed).await.unwrap();
        assert_eq!(printed, "forged 0\nforged 1\nforged 2\nend\n", "{mode:?}");
        assert_eq!(ends.0.next_line().await.unwrap(), None, "{mode:?}");
        assert_eq!(child.process.wait().await.unwrap(), Exit::Code(0), "{mode:?}");
    }
}

#[tokio::test]
async fn a_worker_has_the_channel_and_no_other_descriptor() {
    for mode in modes() {
        let world = World::new();
        let script = "for n in {0..9} {11..40}; do { : <&$n; } 2>/dev/null && echo $n >&4; done";
        let child = world.sandbox(mode).start(&spawn(&world, script), &world.profile).unwrap();
        let mut text = String::new();
        child.channel.unwrap().reader.read_to_string(&mut text).await.unwrap();
        let open: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(open, ["0", "1", "2", "3", "4"], "{mode:?}");
    }
}

#[tokio::test]
async fn a_process_without_a_channel_has_none() {
    for mode in modes() {
        let world = World::new();
        let output = world.run(mode, "echo x >&4 || true; read y <&3 || echo none").await;
        assert_eq!(output.stdout, "none\n", "{mode:?}: {output:?}");
    }
}

#[tokio::test]
async fn worker_directories_are_writable_in_a_read_only_workspace() {
    for mode in modes() {
        let mut world = World::new();
        let (own, read) = (world.base().join("plugin-data/own"), world.base().join("tools"));
        fs::create_dir_all(own.join(".vscode")).unwrap();
        world.profile.access = Access::ReadOnly;
        world.profile.own = vec![own.clone()];
        let script = format!(
            "echo x > {own}/state && echo x > {own}/.vscode/x; echo x > {read}/y; echo x > z",
            own = own.display(),
            read = read.display()
        );
        world.run(mode, &script).await;
        assert!(own.join("state").exists() && own.join(".vscode/x").exists(), "{mode:?}");
        if mode != crate::fixture::Mode::Open {
            assert!(!read.join("y").exists() && !world.work.join("z").exists(), "{mode:?}");
        }
    }
}

#[tokio::test]
async fn protected_names_are_protected_in_granted_directories() {
    for mode in modes().into_iter().filter(|mode| *mode != crate::fixture::Mode::Open) {
        for access in [Access::ReadOnly, Access::Workspace] {
            let mut world = World::new();
            let (notes, sub) = (world.base().join("notes"), world.work.join("sub"));
            for directory in [&notes, &sub] {
                for name in ["deep/.vscode", ".git/hooks"] {
                    fs::create_dir_all(directory.join(name)).unwrap();
                }
                fs::write(directory.join("deep/.vscode/mine"), "mine").unwrap();
            }
            world.profile.access = access;
            world.profile.own = vec![notes.clone(), sub.clone()];
            for name in ["deep/.vscode/mine", ".git/hooks/pre-commit", ".envrc", "new/.claude"] {
                // A supervisor may end it as soon as it touches a name.
                let script = format!(
                    "for it in {0} sub; do touch $it/free; mkdir $it/new; done; \
                     for it in {0} sub; do echo x > $it/{name}; done",
                    notes.display()
                );
                world.run(mode, &script).await;
                for directory in [&notes, &sub] {
                    assert!(directory.join("free").exists(), "{mode:?} {access:?} {directory:?}");
                    let left = fs::read_to_string(directory.join(name)).unwrap_or_default();
                    let before = if name.ends_with("mine") { "mine" } else { "" };
                    assert_eq!(left, before, "{mode:?} {access:?} {directory:?} {name}");
                    fs::remove_file(directory.join("free")).unwrap();
                }
            }
        }
    }
}

#[tokio::test]
async fn an_own_directory_cannot_open_the_workspace() {
    for mode in modes().into_iter().filter(|mode| *mode != crate::fixture::Mode::Open) {
        let mut world = World::new();
        world.profile.access = Access::ReadOnly;
        world.profile.own = vec![world.work.clone()];
        assert!(world.start(mode, "true").is_err(), "{mode:?}");
    }
}

#[tokio::test]
async fn dropped_worker_ends_its_children() {
    for mode in modes() {
        let world = World::new();
        let mark = mark(&world);
        let script = format!(
            "trap '' TERM HUP; (setsid setsid sleep {mark} &) ; sleep {mark} & {WORKER}; wait"
        );
        let mut child = world.sandbox(mode).start(&spawn(&world, &script), &world.profile).unwrap();
        let mut ends = lines(child.channel.take().unwrap());
        assert_eq!(ask(&mut ends, "1").await, "answer 1");
        eventually("the children start", || runs(&mark));
        drop(child);
        assert!(!runs(&mark), "{mode:?}: a child of a dropped worker lives on");
        assert_eq!(ends.0.next_line().await.unwrap(), None, "{mode:?}");
    }
}
