use std::fs::File;
use std::io::{BufReader, Write};
use std::os::unix::fs::FileExt;

use contract::event::{CallOutcome, CompactionStrategy};
use contract::id::CallId;
use contract::message::{Part, Reply, StopReason, ToolCall, Usage};
use contract::tool::{Lasting, ToolOutput};
use serde_json::json;

use super::*;
use crate::samples;

/// The view of a model: a plain reading of what the events mean.
fn seen(events: &[Event]) -> (Vec<String>, Vec<String>, String) {
    let (mut messages, mut lasting, mut system) = (Vec::new(), Vec::new(), String::new());
    let mut known = Vec::new();
    for event in events.iter().filter(|event| event.within.is_none()) {
        match &event.kind {
            EventKind::TurnStarted { prompt } => messages.push(prompt.clone()),
            EventKind::ReplyFinished { reply, .. } => {
                known.extend(reply.calls().map(|call| call.id.clone()));
                if !reply.parts.is_empty() {
                    messages.push(reply.text());
                }
            }
            EventKind::ToolFinished { call, content, output, .. } if known.contains(call) => {
                messages.push(content.clone());
                if output.lasting().is_some() {
                    lasting.push(content.clone());
                }
            }
            EventKind::Compacted { summary, kept, .. } => {
                let kept = usize::try_from(*kept).unwrap().min(messages.len());
                let last = messages.split_off(messages.len() - kept);
                messages = summary.iter().cloned().chain(last).collect();
                if summary.is_none() {
                    lasting.clear();
                }
            }
            EventKind::Configured { system: words, .. } => system.clone_from(words),
            _ => {}
        }
    }
    (messages, lasting, system)
}

fn round(number: u64, is_lasting: bool) -> Vec<EventKind> {
    let call = ToolCall {
        id: CallId(format!("call-{number}")),
        name: "Look".into(),
        args: json!({"lasting": true}),
        opaque: None,
    };
    let mut output = ToolOutput::success(format!("result {number}"));
    if is_lasting {
        output.set_lasting(Lasting::default());
    }
    let text = Part::Text { text: format!("reply {number}") };
    vec![
        EventKind::TurnStarted { prompt: format!("prompt {number}") },
        EventKind::ReplyFinished {
            reply: Reply { parts: vec![text, Part::Call(call.clone())], stop: StopReason::ToolUse },
            usage: Usage::default(),
        },
        EventKind::ToolCalled { call: call.clone() },
        EventKind::ToolFinished {
            call: call.id,
            name: call.name,
            outcome: CallOutcome::Ran,
            content: output.for_model(),
            output,
            duration_ms: 1,
        },
        EventKind::ReplyFinished {
            reply: Reply { parts: Vec::new(), stop: StopReason::EndTurn },
            usage: Usage::default(),
        },
    ]
}

fn compacted(summary: Option<&str>, kept: u64) -> EventKind {
    EventKind::Compacted {
        summary: summary.map(str::to_owned),
        strategy: CompactionStrategy::Summarize,
        dropped: 1,
        range: None,
        kept,
        usage: Usage::default(),
        lasting: None,
    }
}

fn configured(number: u64) -> EventKind {
    EventKind::Configured {
        provider: "script".into(),
        model: "play".into(),
        mode: contract::policy::Mode::Normal,
        system: format!("system {number}"),
    }
}

fn log(whats: Vec<EventKind>) -> (Vec<Event>, File) {
    let start = EventKind::SessionStarted { cwd: "/".into(), format: 1, forked_from: None };
    let whats = std::iter::once(start).chain(whats);
    let events: Vec<Event> =
        (1..).zip(whats).map(|(seq, what)| samples::event(seq, what)).collect();
    let mut bytes = Vec::new();
    for event in &events {
        record::encode(event, &mut bytes).unwrap();
    }
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    (events, file)
}

fn at(file: &File) -> impl ReadAt {
    |bytes: &mut [u8], offset| file.read_exact_at(bytes, offset)
}

fn recent(file: &File, window: u64) -> (Recent, u64) {
    let mut copy = file;
    std::io::Seek::rewind(&mut copy).unwrap();
    let mut reading = Events::new(BufReader::new(file), samples::id());
    let recent = reading.recent_within(at(file), window).unwrap();
    (recent, reading.contents.repair_count)
}

#[test]
fn recent_history_equals_the_full_one() {
    // Each digit is a step: rounds, summaries that keep so many messages, and forgetting.
    for seed in 0..500_u64 {
        let mut whats = vec![configured(seed)];
        let mut state = seed;
        for number in 0..12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            match (state >> 33) % 8 {
                0 => whats.push(compacted(Some("summary"), (state >> 40) % 6)),
                1 => whats.push(compacted(None, 0)),
                2 => whats.push(configured(number)),
                3 => whats.extend(round(number, true)),
                4 => whats.push(compacted(Some("deep"), (state >> 40) % 30)),
                _ => whats.extend(round(number, false)),
            }
        }
        let (events, file) = log(whats);
        let (recent, repairs) = recent(&file, u64::MAX);
        assert_eq!(repairs, 0);
        assert_eq!(seen(&recent.events), seen(&events), "seed {seed}");
        assert_eq!(recent.events.last(), events.last());
        assert_eq!(recent.cut, None);
    }
}

#[test]
fn compacted_history_is_not_read() {
    let mut whats: Vec<EventKind> = (0..100).flat_map(|number| round(number, false)).collect();
    whats.push(compacted(Some("so far"), 4));
    whats.extend(round(100, false));
    let (events, file) = log(whats);
    let (recent, _) = recent(&file, u64::MAX);
    assert!(recent.events.len() < 25, "{}", recent.events.len());
    assert_eq!(seen(&recent.events), seen(&events));
}

#[test]
fn oversized_history_is_cut_at_a_message() {
    let whats: Vec<EventKind> = (0..200).flat_map(|number| round(number, false)).collect();
    let (events, file) = log(whats);
    for window in [1, 300, 2_000, 5_000, 20_000] {
        let (recent, _) = recent(&file, window);
        let cut = recent.cut.unwrap();
        let (all, part) = (seen(&events).0, seen(&recent.events[cut.at..]).0);
        assert!(all.ends_with(&part), "{window}: {part:?}");
        assert_eq!(cut.left_out + part.len() as u64, all.len() as u64, "{window}");
        assert_eq!(recent.events.last(), events.last(), "{window}");
        assert!(matches!(recent.events[0].kind, EventKind::SessionStarted { .. }));
    }
}

#[test]
fn damage_is_reported_with_its_line() {
    let (events, file) = log((0..20).flat_map(|number| round(number, false)).collect());
    let mut lines = Vec::new();
    for event in &events {
        let mut line = Vec::new();
        record::encode(event, &mut line).unwrap();
        lines.push(line);
    }
    lines[2][20] ^= 1;
    lines[50] = b"garbage\n".to_vec();
    let last = lines.last_mut().unwrap();
    last.truncate(30);
    file.set_len(0).unwrap();
    (&file).write_all(&lines.concat()).unwrap();
    (&file).flush().unwrap();
    let mut reading = Events::new(BufReader::new(&file), samples::id());
    std::io::Seek::rewind(&mut &file).unwrap();
    reading.recent_within(at(&file), u64::MAX).unwrap();
    let mut whole = Events::new(BufReader::new(&file), samples::id());
    std::io::Seek::rewind(&mut &file).unwrap();
    let whole = whole.collect().unwrap();
    assert!(whole.repair_count >= 3);
    assert_eq!(reading.contents.repairs, whole.repairs);
}

#[test]
fn reordered_keys_and_later_events_are_read() {
    let json = r#"{"type":"turn_started","prompt":"hi","at":"2026-01-01T00:00:00Z","session":"s","seq":1}"#;
    let later = r#"{"seq":2,"session":"s","at":"2026-01-01T00:00:00Z","type":"dreamed"}"#;
    let mut file = tempfile::tempfile().unwrap();
    for json in [json, later] {
        writeln!(file, "{:08x} {json}", crc32fast::hash(json.as_bytes())).unwrap();
    }
    std::io::Seek::rewind(&mut file).unwrap();
    let mut reading = Events::new(BufReader::new(&file), samples::id());
    let recent = reading.recent_within(at(&file), u64::MAX).unwrap();
    assert_eq!(seen(&recent.events).0, ["hi"]);
    assert!(reading.contents.is_foreign);
}
