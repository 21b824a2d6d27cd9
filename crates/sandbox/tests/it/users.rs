//! The suite as an ordinary user, and the strongest where user namespaces are switched off.

use std::path::Path;

use contract::sandbox::Exit;
use sandbox::Backend;

use crate::fixture::{World, collect, has_bubblewrap, is_root, plain, skip};

#[test]
fn sandbox_tests_pass_for_an_ordinary_user() {
    if !is_root() {
        return skip("already an ordinary user");
    }
    if !Path::new("/usr/bin/setpriv").exists() {
        return skip("setpriv is not installed");
    }
    let output = plain(Path::new("/usr/bin/setpriv"))
        .args(["--reuid=47113", "--regid=47113", "--clear-groups", "--inh-caps=-all", "--"])
        .arg(std::env::current_exe().unwrap())
        .args(["--skip", "users::"])
        .current_dir("/")
        .env("HOME", "/tmp")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
}

#[test]
fn without_user_namespaces_the_choice_falls_back_with_a_reason() {
    if !has_bubblewrap() {
        return;
    }
    // The setting is that of the namespace it is changed in, so the machine's stays.
    let output = plain(Path::new("/usr/bin/unshare"))
        .args(["-Ur", "sh", "-c"])
        .arg("echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"")
        .arg("sh")
        .arg(std::env::current_exe().unwrap())
        .args(["users::child_without_user_namespaces", "--exact", "--ignored"])
        .output();
    let Ok(output) = output else {
        return skip("unshare is not installed");
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("unshare failed") {
        return skip("no user namespace can be made to switch them off in");
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let is_run = text.contains("1 passed") && !errors.contains("SKIPPED");
    assert!(output.status.success() && is_run, "{text}\n{errors}");
}

#[tokio::test]
#[ignore = "started by another test, in a place that fits"]
async fn child_without_user_namespaces() {
    let most = std::fs::read_to_string("/proc/sys/user/max_user_namespaces");
    if !most.is_ok_and(|it| it.trim() == "0") {
        return skip("what another test starts in such a place, which this is not");
    }
    let world = World::new();
    let reports = sandbox::doctor(&world.settings(None));
    let cause = reports[0].usable.clone().unwrap_err();
    assert!(cause.what.contains("user.max_user_namespaces"), "{cause:?}");
    assert!(cause.remedy.contains("sysctl"), "{cause:?}");
    assert_eq!(reports.iter().find(|report| report.chosen).unwrap().backend, Backend::Landlock);
    let sandbox = sandbox::strongest(world.settings(None));
    let script = "echo x > $C; echo confined";
    let output = collect(sandbox.start(&world.spawn(script), &world.profile).unwrap()).await;
    assert_eq!((output.exit, output.stdout.as_str()), (Exit::Code(0), "confined\n"));
    assert!(sandbox.describe().starts_with("landlock"));
    let notices = world.notices.lock().unwrap().join("\n");
    assert!(notices.contains("weaker than bubblewrap"), "{notices}");
    let canary = std::fs::read_to_string(world.home.join("outside/canary.txt")).unwrap();
    assert_eq!(canary, "original");
}
