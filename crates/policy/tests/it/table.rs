//! Commands and the decisions on them, as data.

use contract::action::Action;
use contract::policy::Approvals as _;
use contract::policy::{Decision, Mode, Policy};
use contract::sandbox::Access;
use policy::Settings;

use crate::setting::{bare, bash, command, judge, run, settings};

/// Reads a table: two columns and a command a line.
fn rows(table: &str) -> Vec<(&str, &str, String)> {
    lines(table)
        .map(|line| {
            let mut words = line.splitn(3, ' ');
            let mut next = || words.next().expect("two words and a command");
            (next(), next(), unescape(next()))
        })
        .collect()
}

fn lines(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn decision(word: &str) -> Decision {
    match word {
        "allow" => Decision::Allow,
        "ask" => Decision::Ask,
        "deny" => Decision::Deny,
        other => panic!("unknown decision {other}"),
    }
}

fn unescape(text: &str) -> String {
    let mut plain = text.replace('␊', "\n").replace('␍', "\r");
    while let Some((before, rest)) = plain.split_once('⟨') {
        let (code, after) = rest.split_once('⟩').expect("a closing bracket");
        let code = u32::from_str_radix(code, 16).expect("a code point");
        plain = format!("{before}{}{after}", char::from_u32(code).expect("a character"));
    }
    while let Some((before, rest)) = plain.split_once('«') {
        let (repeat, after) = rest.split_once('»').expect("a closing quote");
        let (count, text) = repeat.split_once(':').expect("a count");
        let repeated = text.repeat(count.parse().expect("a number"));
        plain = format!("{before}{repeated}{after}");
    }
    plain
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

#[test]
fn published_commands_keep_their_decisions() {
    let judge = judge();
    let mut wrong = Vec::new();
    let table = rows(include_str!("../commands.txt"));
    assert!(table.len() >= 86, "{}", table.len());
    for (ask, normal, text) in table {
        for (mode, wanted) in [(Mode::Ask, decision(ask)), (Mode::Normal, decision(normal))] {
            let ruling = run(&judge, &text, mode);
            if ruling.decision != wanted {
                let shown = shown(&text);
                wrong.push(format!("{mode:?} {shown:?}: wanted {wanted:?}: {:?}", ruling.reasons));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn everyday_commands_run_in_normal_mode_without_asking() {
    let judge = policy::policy(bare());
    let mut asked = 0;
    let table = rows(include_str!("../everyday.txt"));
    assert_eq!(table.len(), 125);
    for (wanted, need, text) in table {
        let ruling = run(&judge, &text, Mode::Normal);
        assert_eq!(ruling.decision, Decision::Allow, "{text}: {:?}", ruling.reasons);
        if wanted == "runs" {
            continue;
        }
        asked += 1;
        let request = match need {
            "outside" => Action::LeaveSandbox { command: text.clone() },
            host => Action::Connect { host: host.to_owned() },
        };
        let actions = [command(&text), request];
        let ruling = judge.judge(&bash(), &actions, Mode::Normal);
        assert_eq!(ruling.decision, Decision::Ask, "{text}: {:?}", ruling.reasons);
        let access = if need == "outside" { Access::Host } else { Access::Workspace };
        assert_eq!(ruling.access, access, "{text}");
        // One question, and the answer can be remembered.
        let asks = ruling.reasons.iter().filter(|it| it.decision == Decision::Ask);
        assert_eq!(asks.count(), 1, "{text}");
        let is_boundless = text.starts_with("sudo");
        let rules = judge.rememberable(&bash(), &actions);
        assert_eq!(rules.len(), usize::from(!is_boundless), "{text}: {rules:?}");
    }
    assert_eq!(asked, 18);
}

#[test]
fn disguised_denied_commands_never_run_in_ask_mode() {
    let judge = judge();
    let table = include_str!("../evasions.txt");
    assert!(lines(table).count() >= 350);
    let runs = |text: &String| run(&judge, text, Mode::Ask).decision == Decision::Allow;
    let run: Vec<String> = lines(table).map(unescape).filter(runs).collect();
    assert!(run.is_empty(), "{} run:\n{}", run.len(), run.join("\n"));
}

#[test]
fn denied_commands_never_run_in_any_mode() {
    let judge = judge();
    let approving = policy::policy(Settings { approve_all: true, ..settings() });
    for text in [
        "curl x",
        "/usr/bin/curl x",
        "'cu'rl x",
        "c\\url x",
        "$'\\x63url' x",
        "env A=1 curl x",
        "sudo -u bob curl x",
        "timeout 5 nice -n 5 curl x",
        "ls | xargs -n 1 curl",
        "bash -c 'ls; curl x'",
        "bash -lc \"sh -c 'curl x'\"",
        "eval curl x",
        "eval 'curl x'",
        "echo $(curl x)",
        "echo `curl x`",
        "diff <(curl x) <(ls)",
        "x=$(curl x)",
        "cat <<EOF\n$(curl x)\nEOF",
        "f() { curl x; }",
        "for i in 1 2; do curl $i; done",
        "while curl x; do :; done",
        "case x in x) curl x;; esac",
        "(cd src && curl x)",
        "{ curl x; }",
        "! curl x",
        "if true; then curl x; fi",
        "find . -exec curl {} \\;",
        "find . -name x -exec sh -c 'curl x' \\;",
        "curl x && (",
        "git -C sub --no-pager push",
        "git-push origin",
        "A=1 curl x > out 2>&1 &",
    ] {
        for mode in Mode::ALL {
            let ruling = run(&judge, text, mode);
            assert_eq!(ruling.decision, Decision::Deny, "{mode:?} {text}: {:?}", ruling.reasons);
        }
        assert_eq!(run(&approving, text, Mode::Normal).decision, Decision::Deny, "{text}");
    }
    let long = format!("{}curl x", "true; ".repeat(60_000));
    assert_eq!(run(&judge, &long, Mode::Yolo).decision, Decision::Deny);
}

#[test]
fn hidden_programs_ask_only_if_rules_deny_commands() {
    let free = policy::policy(bare());
    let strict = judge();
    for text in [
        "$CMD x",
        "\"$CMD\" x",
        "$(echo curl) x",
        "eval \"$x\"",
        "echo x | sh",
        "sh -s",
        "bash <<< \"$x\"",
        "sh -c \"$x\"",
        "env --weird curl",
        "git $sub",
        "git > x push",
    ] {
        for mode in [Mode::Ask, Mode::Normal, Mode::Yolo] {
            let ruling = run(&strict, text, mode);
            assert_eq!(ruling.decision, Decision::Ask, "{mode:?} {text}: {:?}", ruling.reasons);
        }
        let ruling = run(&free, text, Mode::Normal);
        assert_eq!(ruling.decision, Decision::Allow, "{text}: {:?}", ruling.reasons);
    }
}

#[test]
fn text_similar_to_a_denied_command_runs() {
    let judge = judge();
    for text in [
        "echo curl x",
        "grep -rn 'git push' .",
        "git log --grep push",
        "git commit -m \"push $x\"",
        "python3 -c \"print('git push')\"",
        "cat curl.md",
        "apt list curl",
        "which curl",
        "bash run.sh",
        "sh ./x.sh \"$y\"",
        "make curl",
    ] {
        let ruling = run(&judge, text, Mode::Normal);
        assert_eq!(ruling.decision, Decision::Allow, "{text}: {:?}", ruling.reasons);
    }
}

#[test]
fn ask_rules_for_commands_match_as_deny_rules_do() {
    let rules = crate::setting::rules(
        &serde_json::json!({"ask": ["Bash(make:*)"]}),
        policy::rules::Scope::User,
    );
    let judge = policy::policy(Settings { rules, ..bare() });
    for text in ["make", "env make", "sh -c 'make'", "$M", "make && ("] {
        assert_eq!(run(&judge, text, Mode::Normal).decision, Decision::Ask, "{text}");
    }
    assert_eq!(run(&judge, "cmake .", Mode::Normal).decision, Decision::Allow);
}
