//! Commands and the decisions on them, as data.

use contract::policy::{Decision, Mode};

use policy::Settings;
use policy::rules::Scope;
use serde_json::json;

use crate::setting::{bare, judge, rules, run, settings};

/// Reads a table: a decision and a command a line.
pub(crate) fn rows(table: &str) -> Vec<(Decision, String)> {
    table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (decision, command) = line.split_once(' ').expect("a decision and a command");
            let decision = match decision {
                "allow" => Decision::Allow,
                "ask" => Decision::Ask,
                "deny" => Decision::Deny,
                other => panic!("unknown decision {other}"),
            };
            (decision, unescape(command))
        })
        .collect()
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

fn check(table: &str, mode: Mode) {
    check_with(settings(), table, mode);
}

fn check_with(settings: Settings, table: &str, mode: Mode) {
    let judge = policy::policy(settings);
    let mut wrong = Vec::new();
    for (wanted, command) in rows(table) {
        let ruling = run(&judge, &command, mode);
        if ruling.decision != wanted {
            let shown: String = command.chars().take(80).collect();
            wrong.push(format!("{shown:?}: wanted {wanted:?}, got {:?}", ruling.deciding()));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_published_table_is_decided_as_it_says() {
    check(include_str!("../commands.txt"), Mode::Normal);
}

#[test]
fn further_commands_are_decided_by_the_same_principles() {
    let table = include_str!("../more_commands.txt");
    assert!(rows(table).len() >= 150);
    check(table, Mode::Normal);
}

#[test]
fn variations_are_decided_as_what_they_vary() {
    let table = include_str!("../variations.txt");
    assert!(rows(table).len() >= 800);
    check(table, Mode::Normal);
}

#[test]
fn roundabout_ways_to_what_is_denied_are_denied() {
    check(include_str!("../evasions.txt"), Mode::Normal);
}

#[test]
fn the_floor_holds_in_yolo() {
    check(include_str!("../floor.txt"), Mode::Yolo);
}

#[test]
fn what_scripts_say_every_day_is_neither_asked_about_nor_denied_in_yolo() {
    let table = include_str!("../idioms.txt");
    check_with(bare(), table, Mode::Yolo);
    let rules = rules(&json!({ "deny": ["Bash(terraform:*)"] }), Scope::User);
    check_with(Settings { rules, ..bare() }, table, Mode::Yolo);
}

#[test]
fn what_scripts_say_every_day_is_no_file_that_a_rule_denies() {
    let table = include_str!("../idioms.txt");
    for rule in ["Read(.env)", "Read(secret/**)", "Write(secret/**)"] {
        // Some of them do read that file.
        let others = table.lines().filter(|line| !line.contains(".env"));
        let others = others.collect::<Vec<_>>().join("\n");
        let rules = rules(&json!({ "deny": [rule] }), Scope::User);
        check_with(Settings { rules, ..bare() }, &others, Mode::Yolo);
    }
}

#[test]
fn every_command_that_is_denied_in_normal_mode_is_denied_in_yolo_and_with_yes() {
    let judge = judge();
    let mut settings = settings();
    settings.approve_all = true;
    let approving = policy::policy(settings);
    for (wanted, command) in rows(include_str!("../commands.txt")) {
        if wanted == Decision::Deny {
            assert_eq!(run(&judge, &command, Mode::Yolo).decision, Decision::Deny);
            assert_eq!(run(&approving, &command, Mode::Normal).decision, Decision::Deny);
        }
    }
}
