//! A network of single hosts: what was granted is reached by name through the proxy, and nothing
//! else by any way.

use contract::sandbox::{Hosts, Network};
use sandbox::Backend;

use crate::fixture::{Mode, World, backends, has_bubblewrap};

/// Asks for an address as ordinary programs do, by the variables they find.
const FETCH: &str = "fetch() { /usr/bin/python3 -c '
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())
except Exception as error:
    print(type(error).__name__, error)
' \"$1\"; }; ";

fn world(names: &[&str]) -> World {
    let mut world = World::new();
    world.start_host();
    let port = &world.profile.env["TCP"];
    let names = names.iter().map(|name| name.replace("PORT", port)).collect();
    world.profile.network = Network::Hosts(Hosts { names, key: "some.key".to_owned() });
    world
}

async fn run(world: &World, script: &str) -> crate::fixture::Output {
    world.run(Mode::Confined(Backend::Bubblewrap), &format!("{FETCH}{script}")).await
}

#[tokio::test]
async fn granted_host_is_reached_and_others_are_reported_once() {
    if !has_bubblewrap() {
        return;
    }
    let world = world(&["127.0.0.1:PORT", "nonsense/host"]);
    let output = run(&world, "fetch http://127.0.0.1:$TCP/x").await;
    assert!(output.stdout.contains("hello"), "{output:?}");
    let script = "fetch http://other.test/; fetch http://other.test/; fetch http://127.0.0.1:1/
        fetch https://127.0.0.2:$TCP/";
    let output = run(&world, script).await;
    assert!(!output.stdout.contains("hello"), "{output:?}");
    assert_eq!(output.stdout.matches("403").count(), 4, "{output:?}");
    let told = world.notices.lock().unwrap().split_off(1);
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[0].contains("`nonsense/host` in `some.key` is not a host"), "{told:?}");
    assert!(told[1].contains("`other.test`") && told[1].contains("`some.key`"), "{told:?}");
}

#[tokio::test]
async fn network_outside_the_proxy_is_denied() {
    if !has_bubblewrap() {
        return;
    }
    let world = world(&["127.0.0.1:PORT"]);
    let script = "$SP tcp $TCP; $SP udp $UDP; $SP tfo $TCP; $SP abstract $NAME
        $SP unix $REAL/run/docker.sock; $SP unix $W/dev.sock; $SP socket 16 3 0; $SP socket 17 3 768
        exec 3<>/dev/tcp/127.0.0.1/$TCP && echo ESC
        /usr/bin/python3 -c 'import socket; socket.getaddrinfo(\"example.org\", 80); print(\"ESC\")'
        ls /proc/self/fd";
    let output = world.run(Mode::Confined(Backend::Bubblewrap), script).await;
    assert!(!output.stdout.contains("ESC"), "{output:?}");
    assert!(!output.stdout.contains("\n4\n"), "no socket is left open inside: {output:?}");
}

#[tokio::test]
async fn name_resolving_to_loopback_needs_a_loopback_grant() {
    if !has_bubblewrap() {
        return;
    }
    let script = "fetch http://localhost:$TCP/";
    let output = run(&world(&["localhost"]), script).await;
    assert!(output.stdout.contains("hello"), "{output:?}");
    let script = format!("NO_PROXY= no_proxy= {script}");
    let world = world(&["*", "*.localhost"]);
    let output = run(&world, &script).await;
    assert!(output.stdout.contains("403"), "{output:?}");
    assert!(world.notices.lock().unwrap()[0].contains("private address"), "{output:?}");
}

#[tokio::test]
async fn loopback_of_the_sandbox_is_separate() {
    if !has_bubblewrap() {
        return;
    }
    let world = world(&["example.org"]);
    let script = "echo inside > index.html; /usr/bin/python3 -m http.server 8000 2>/dev/null &
        until (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do :; done
        fetch http://localhost:8000/; kill %1";
    let output = run(&world, script).await;
    assert!(output.stdout.contains("inside"), "{output:?}");
    let script = "[ -z \"$NO_PROXY\" ] && echo ESC; fetch http://127.0.0.1:$TCP/";
    let output = run(&world, script).await;
    assert!(!output.stdout.contains("ESC") && !output.stdout.contains("hello"), "{output:?}");
}

#[tokio::test]
async fn landlock_refuses_host_grants_with_a_reason() {
    if !backends().contains(&Backend::Landlock) {
        return;
    }
    let world = world(&["127.0.0.1:PORT"]);
    let script = "$SP tcp $TCP; exec 3<>/dev/tcp/127.0.0.1/$TCP && echo ESC";
    let output = world.run(Mode::Confined(Backend::Landlock), script).await;
    assert!(!output.stdout.contains("ESC"), "{output:?}");
    let told = "there is no network: `some.key` names single hosts, which only bubblewrap";
    assert!(world.notices.lock().unwrap()[0].contains(told), "{output:?}");
}
