use contract::event::EventKind;
use contract::log::Log;
use contract::message::{Reply, Usage};

use super::*;
use crate::samples;

fn reply(seq: u64, usage: Usage) -> Event {
    samples::event(seq, EventKind::ReplyFinished { reply: Reply::default(), usage })
}

fn fold(events: &[Event]) -> Figures {
    let mut fold = Fold::default();
    for event in events {
        fold.add(event);
    }
    let Fold { days, last_turn, .. } = fold;
    SessionFigures { id: samples::id(), days, last_turn }.total()
}

#[test]
fn statistics_sum_by_model_and_tool() {
    let figures = fold(&samples::conversation());
    assert_eq!(figures.turns, 1);
    let spent = &figures.models["script/play"];
    assert_eq!(spent, &figures.spent());
    assert!(spent.replies > 0 && spent.input_tokens > 0);
    let bash = &figures.tools["Bash"];
    assert_eq!((bash.calls, bash.failures, bash.duration_ms), (1, 1, 1200));
    assert!(bash.characters > 0 && bash.tokens() > 0);
    assert_eq!(figures.plugins()["builtin"].calls, 1);
}

#[test]
fn unknown_price_is_not_zero() {
    let priced = Usage { cost_usd: Some(0.25), input_tokens: 10, ..Usage::default() };
    let unpriced = Usage { input_tokens: 5, cached_tokens: Some(4), ..Usage::default() };
    let only = fold(&[reply(1, unpriced.clone())]).spent();
    assert_eq!((only.cost_usd, only.unpriced_replies), (None, 1));
    let both = fold(&[reply(1, priced), reply(2, unpriced)]).spent();
    assert_eq!((both.cost_usd, both.unpriced_replies), (Some(0.25), 1));
    assert_eq!((both.input_tokens, both.cache_read_tokens), (15, 4));
}

#[test]
fn statistics_follow_a_growing_log() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(directory.path());
    let events = samples::conversation();
    let log = store.create(&samples::id()).unwrap();
    for part in [&events[..4], &events[4..9], &events[9..]] {
        log.append(part).unwrap();
        let figures = store.figures().unwrap();
        assert_eq!(figures.len(), 1);
        assert_eq!(figures[0].total(), store.figures_of(&samples::id()).unwrap().total());
    }
    let whole = fold(&events);
    assert_eq!(store.figures().unwrap()[0].total(), whole);
    drop(log);
    store.delete(&samples::id()).unwrap();
    assert!(store.figures().unwrap().is_empty());
}

#[test]
fn statistics_of_a_fork_exclude_its_source() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(directory.path());
    let events = samples::conversation();
    let log = store.create(&samples::id()).unwrap();
    log.append(&events).unwrap();
    drop(log);
    let copy = SessionId::parse("copy").unwrap();
    drop(store.fork(&samples::id(), &copy, None).unwrap());
    assert_eq!(store.figures_of(&copy).unwrap().total().spent(), Spent::default());
}
