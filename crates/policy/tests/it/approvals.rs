//! What is remembered of an approval, and what never is.

use contract::policy::{Action, Decision, Mode, Policy};
use contract::tool::Risk;
use policy::rules::Scope;
use policy::{RequireApproval, Settings, ToolSettings, policy};
use serde_json::json;

use crate::setting::{bare, bash, command, rules, run, tool};

fn remembered(text: &str) -> Vec<String> {
    policy(bare()).remember(&bash(), &[command(text)])
}

#[test]
fn a_compound_command_gives_one_rule_for_each_part_that_was_asked_about() {
    let judge = policy(bare());
    let words =
        judge.remember(&bash(), &[command("cargo test -q && git status && prettier --check src")]);
    assert_eq!(words, ["Bash(cargo test:*)", "Bash(prettier --check src)"]);
    assert_eq!(judge.session(), words);
    for (text, wanted) in [
        ("cargo test --all", Decision::Allow),
        ("timeout 60 cargo test", Decision::Allow),
        ("prettier --check src", Decision::Allow),
        ("prettier --write src", Decision::Ask),
        ("cargo run", Decision::Ask),
        ("cd src && cargo test", Decision::Ask),
    ] {
        assert_eq!(run(&judge, text, Mode::Normal).decision, wanted, "{text}");
    }
}

/// What was approved, what that covers, and what it does not.
const BUILDS: &[(&str, &[&str], &[&str])] = &[
    (
        "cargo build",
        &["cargo build --release -p a", "cargo build --features=x --locked"],
        &[
            "cargo build --config 'build.rustc-wrapper=\"x\"'",
            "cargo build --manifest-path=/tmp/x/Cargo.toml",
            "cargo build --target ./x.json",
            "cargo build --target-dir /tmp/x",
            "cargo build -Zunstable",
            "cargo build -C /tmp",
        ],
    ),
    (
        "cargo test",
        &["cargo test --all", "cargo test -q name", "cargo test -- --nocapture --skip x"],
        &[
            "cargo test --config x.toml",
            "cargo test --manifest-path ../Cargo.toml",
            "cargo test -- --logfile x",
        ],
    ),
    (
        "cargo clippy",
        &["cargo clippy --all-targets -- -D warnings", "cargo clippy -- -Dwarnings"],
        &["cargo clippy -- -C linker=./x", "cargo clippy --fix", "cargo clippy -- -Clinker=x"],
    ),
    (
        "go test ./...",
        &["go test -v ./pkg", "go test -run TestA -count=1 ./...", "go test --race ./..."],
        &[
            "go test -exec rm ./...",
            "go test -toolexec=./x ./...",
            "go test -C / ./...",
            "go test -ldflags=-extld=./x",
            "go test /tmp/x",
            "go test ../x",
            "go test -modfile=x ./...",
        ],
    ),
    (
        "npm test",
        &["npm test --silent", "npm test -- src/a.test.js"],
        &[
            "npm test --script-shell=./x",
            "npm test --prefix /tmp/x",
            "npm test --node-options=--require=./x",
            "npm test -- --config /tmp/x",
        ],
    ),
    (
        "pytest -q",
        &["pytest -q", "pytest tests/test_a.py -x -k 'a or b'", "pytest --maxfail=1 --tb=short"],
        &[
            "pytest /etc",
            "pytest -p evil",
            "pytest -pevil",
            "pytest --rootdir=/",
            "pytest --import-mode=importlib /tmp/x.py",
            "pytest -c /tmp/x.ini",
            "pytest ~/x",
            "pytest a/../../x",
            "pytest *",
            "pytest -q @args",
        ],
    ),
    (
        "dotnet test",
        &["dotnet test --no-build -c Release"],
        &["dotnet test -p:X=y", "dotnet test /p:X=y"],
    ),
];

#[test]
fn options_that_name_a_program_or_another_project_are_asked_about_again() {
    for (approved, covered, asked) in BUILDS {
        let judge = policy(bare());
        judge.remember(&bash(), &[command(approved)]);
        let decided = |text: &str| run(&judge, text, Mode::Normal).decision;
        assert_eq!(decided(approved), Decision::Allow, "{approved}");
        for text in *covered {
            assert_eq!(decided(text), Decision::Allow, "{text} after {approved}");
        }
        for text in *asked {
            assert_eq!(decided(text), Decision::Ask, "{text} after {approved}");
        }
    }
    // With such an option the very words are remembered, and no others.
    assert_eq!(remembered("go test -exec ./x ./..."), ["Bash(go test -exec ./x ./...)"]);
    assert_eq!(remembered("npm test --prefix x"), [""; 0]);
}

#[test]
fn of_several_parts_those_are_named_that_are_asked_about_every_time() {
    let again = |text: &str| policy(bare()).asked_again(&bash(), &[command(text)]);
    assert_eq!(again("cargo test && sh x.sh"), ["sh x.sh"]);
    assert_eq!(again("cargo test --all && rm -rf target"), ["rm -rf target"]);
    assert_eq!(again("curl x\nrm -rf y\nend"), ["curl x", "rm -rf y"]);
    assert_eq!(again("cargo test && git status"), [""; 0]);
    assert_eq!(again("python3 x.py > made && cargo test"), ["python3 x.py > made"]);
}

#[test]
fn of_a_part_that_is_asked_about_every_time_nothing_is_remembered() {
    assert_eq!(remembered("python3 x.py > made"), [""; 0]);
    assert_eq!(remembered("prettier x > made"), ["Bash(prettier x)", "Write(/w/made)"]);
    assert_eq!(remembered("ls > made"), ["Write(/w/made)"]);
}

#[test]
fn what_was_approved_until_the_session_ends_can_be_taken_back() {
    let judge = policy(bare());
    judge.remember(&bash(), &[command("cargo test && prettier x")]);
    assert_eq!(judge.session(), ["Bash(cargo test:*)", "Bash(prettier x)"]);
    assert!(judge.forget("Bash(prettier x)") && !judge.forget("Bash(prettier x)"));
    assert_eq!(judge.session(), ["Bash(cargo test:*)"]);
    assert_eq!(run(&judge, "prettier x", Mode::Normal).decision, Decision::Ask);
    assert_eq!(run(&judge, "cargo test", Mode::Normal).decision, Decision::Allow);
}

#[test]
fn interpreters_shells_wrappers_and_the_like_are_never_remembered() {
    for text in [
        "bash x.sh",
        "sh -c ls",
        "python3 x.py",
        "node x.js",
        "env FOO=bar ls",
        "sudo ls",
        "xargs ls",
        "git commit -m x",
        "rm x",
        "npm run build",
        "make",
        "find . -delete",
        "awk x",
        "ssh host ls",
        "docker run x",
        "eval ls",
        "./run.sh",
        "/tmp/ls",
        "echo $(id)",
        "FOO=bar cargo test",
        "cd /tmp",
        "export A=b",
        "prettier src/*.ts",
        "git reset --hard",
        "rm -rf $X",
    ] {
        assert_eq!(remembered(text), [""; 0], "{text}");
    }
}

#[test]
fn no_program_that_runs_what_it_is_given_is_remembered() {
    let texts = "nu x;elvish x;xonsh x;yash x;osh x;oksh x;ipython x;ts-node x;tsx x;irb x;pry x;\
                 groovy x;elixir x;erl -eval x;ocaml x;runghc x;raku x;swift x;dart x;java -jar x;\
                 octave x;R -f x;racket x;sbcl x;clojure x;jshell x;m4 x;linux64 sh;choom -n 1 sh;\
                 tini -- sh;dumb-init sh;sem sh;split --filter=sh f;conda run x;pdm run x;rye run x;\
                 pixi run x;opam exec x;stack exec x;proot x;cargo run;cargo +nightly run;\
                 cargo --color never run;go run x;dotnet run;bazel run x;cabal run x;rails runner x;\
                 bmake;invoke x;sqlite3 x;psql x;lldb x";
    for text in texts.split(';') {
        assert_eq!(remembered(text), [""; 0], "{text}");
    }
    for text in ["cargo tree", "go list x", "dotnet format"] {
        assert_eq!(remembered(text), [format!("Bash({text})")], "{text}");
    }
}

#[test]
fn what_is_denied_or_always_asked_about_is_not_remembered() {
    let mut settings = Settings {
        rules: rules(&json!({"ask": ["Bash(prettier:*)"], "deny": ["Bash(curl:*)"]}), Scope::User),
        ..bare()
    };
    let judge = policy(settings.clone());
    assert!(judge.remember(&bash(), &[command("prettier x")]).is_empty());
    assert!(judge.remember(&bash(), &[command("curl x; eslint y")]).is_empty());
    let always =
        ToolSettings { require_approval: RequireApproval::Always, ..ToolSettings::default() };
    settings.tools.insert("Bash".into(), always);
    assert!(policy(settings).remember(&bash(), &[command("eslint y")]).is_empty());
}

#[test]
fn a_write_is_remembered_for_its_folder_or_its_path() {
    let judge = policy(bare());
    let writer = tool("Write", true, Risk::Mutating);
    let write = |path: &str| Action::Write { path: path.into(), diff: None };
    assert_eq!(judge.remember(&writer, &[write("/w/src/a.rs")]), ["Write(/w/src/*)"]);
    assert_eq!(judge.remember(&writer, &[write("/w/top.md")]), ["Write(/w/top.md)"]);
    assert!(judge.remember(&writer, &[write("/w/.git/config")]).is_empty());
    assert!(judge.remember(&writer, &[write("/etc/x")]).is_empty());
    let decide = |tool, path: &str| judge.judge(tool, &[write(path)], Mode::Normal).decision;
    assert_eq!(decide(&writer, "/w/src/b.rs"), Decision::Allow);
    assert_eq!(decide(&writer, "/w/src/deep/b.rs"), Decision::Ask);
    assert_eq!(decide(&writer, "/w/other.md"), Decision::Ask);
    let editor = tool("Edit", true, Risk::Mutating);
    assert_eq!(decide(&editor, "/w/src/b.rs"), Decision::Ask);
    // An answer holds for the tool that it names.
    assert_eq!(judge.remember(&editor, &[write("/w/lib/a.rs")]), ["Edit(/w/lib/*)"]);
    assert_eq!(decide(&editor, "/w/lib/b.rs"), Decision::Allow);
    assert_eq!(decide(&writer, "/w/lib/b.rs"), Decision::Ask);
    assert_eq!(judge.memories(&writer, &[write("/w/lib/c.rs")])[0].rule, "Write(/w/lib/*)");
}

#[test]
fn a_plugins_work_is_remembered_by_its_exact_words_and_for_that_plugin() {
    let judge = policy(bare());
    let mut plugin = tool("deploy", true, Risk::Mutating);
    plugin.source = String::from("one");
    let work = |what: &str| Action::Opaque { what: what.into() };
    assert_eq!(judge.remember(&plugin, &[work("to staging")]), ["deploy(to staging)"]);
    let decide = |tool, what: &str| judge.judge(tool, &[work(what)], Mode::Normal).decision;
    assert_eq!(decide(&plugin, "to staging"), Decision::Allow);
    assert_eq!(decide(&plugin, "to production"), Decision::Ask);
    let mut other = plugin.clone();
    other.source = String::from("two");
    assert_eq!(decide(&other, "to staging"), Decision::Ask);
    let dangerous = tool("wipe", true, Risk::HighImpact);
    assert!(judge.remember(&dangerous, &[work("all")]).is_empty());
}

#[test]
fn a_host_is_remembered_by_name() {
    let judge = policy(bare());
    let fetch = tool("WebFetch", true, Risk::ReadOnly);
    let connect = |host: &str| Action::Connect { host: host.into() };
    assert_eq!(judge.remember(&fetch, &[connect("docs.x.com")]), ["Host(docs.x.com)"]);
    let ruling = judge.judge(&fetch, &[connect("docs.x.com")], Mode::Normal);
    assert_eq!(ruling.decision, Decision::Allow);
    let ruling = judge.judge(&fetch, &[connect("x.com")], Mode::Normal);
    assert_eq!(ruling.decision, Decision::Ask);
}

#[test]
fn what_is_remembered_reads_back_as_a_rule() {
    for text in ["eslint 'a b' --fix", "cargo test", "tsc -p ."] {
        for rule in remembered(text) {
            let again =
                policy(Settings { rules: rules(&json!({"allow": [rule]}), Scope::User), ..bare() });
            assert_eq!(run(&again, text, Mode::Normal).decision, Decision::Allow, "{text}");
        }
    }
}

#[test]
fn what_is_granted_allows_until_somebody_says_otherwise() {
    let settings = Settings {
        rules: rules(&json!({"ask": ["Bash(prettier:*)"], "deny": ["Bash(curl:*)"]}), Scope::User),
        ..bare()
    };
    let judge = policy(settings);
    let wanted = ["Bash(eslint:*)", "Bash(prettier:*)", "Bash(curl:*)", "Bash(", "Write"];
    let wanted: Vec<String> = wanted.iter().map(|rule| (*rule).to_owned()).collect();
    let granted = judge.grant(&wanted, "skill lint");
    assert_eq!(granted.refused, ["Bash("]);
    assert_eq!(granted.rules.len(), 4);
    let decide = |text: &str, mode| judge.judge(&bash(), &[command(text)], mode);
    let allowed = decide("eslint x", Mode::Normal);
    assert_eq!(allowed.decision, Decision::Allow);
    assert!(allowed.reasons.iter().any(|reason| reason.origin == "skill lint"));
    assert_eq!(decide("prettier x", Mode::Normal).decision, Decision::Ask);
    assert_eq!(decide("curl x", Mode::Normal).decision, Decision::Deny);
    assert_eq!(
        decide("rm -rf ~", Mode::Normal).decision,
        policy(bare()).judge(&bash(), &[command("rm -rf ~")], Mode::Normal).decision
    );
    let writer = tool("Write", true, Risk::Mutating);
    let write = Action::Write { path: "/w/a".into(), diff: None };
    let look = |mode| judge.judge(&writer, std::slice::from_ref(&write), mode).decision;
    assert_eq!(look(Mode::Normal), Decision::Allow);
    assert_eq!(look(Mode::ReadOnly), Decision::Deny);
}

#[test]
fn what_would_allow_any_command_is_not_granted() {
    let judge = policy(bare());
    let wide = [
        "Bash",
        "Bash(*)",
        "*",
        "B*",
        "Bash(bash:*)",
        "Bash(python3:*)",
        "Bash(python3 -c:*)",
        "Bash(timeout 5:*)",
        "Bash(env:*)",
        "Bash(rm:*)",
        "Bash(git:*)",
        "Bash(sudo:*)",
        "Bash(xargs:*)",
        "Bash({sh,ls}:*)",
    ];
    let wide = wide.map(str::to_owned);
    assert_eq!(judge.grant(&wide, "skill wide").refused, wide);
    for text in ["touch a", "python3 -c 1", "rm a"] {
        assert_eq!(run(&judge, text, Mode::Normal).decision, Decision::Ask, "{text}");
    }
    let narrow =
        ["Bash(python3 scripts/x.py:*)", "Bash(git log:*)", "Bash(npm test)", "Read", "Write(a)"];
    let narrow = narrow.map(str::to_owned);
    assert_eq!(judge.grant(&narrow, "skill narrow").rules, narrow);
    let decision = run(&judge, "python3 scripts/x.py a", Mode::Normal).decision;
    assert_eq!(decision, Decision::Allow);
}
