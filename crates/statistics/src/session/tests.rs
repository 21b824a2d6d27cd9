use contract::id::Seq;
use contract::message::Reply;

use super::*;

fn event(seq: u64, kind: EventKind) -> Event {
    let at = Timestamp(jiff::Timestamp::from_second(1_800_000_000).unwrap());
    let session = SessionId::parse("one").unwrap();
    Event { seq: Seq(seq), session, at, within: None, kind }
}

fn reply(seq: u64, usage: Usage) -> Event {
    event(seq, EventKind::ReplyFinished { reply: Reply::default(), usage })
}

fn figures_of(events: &[Event]) -> SessionFigures {
    let mut fold = Fold::default();
    for event in events {
        fold.add(event);
    }
    fold.finish(SessionId::parse("one").unwrap())
}

fn priced() -> Usage {
    Usage { cost_usd: Some(0.25), input_tokens: 10, ..Usage::default() }
}

fn unpriced() -> Usage {
    Usage { input_tokens: 5, cached_tokens: Some(4), ..Usage::default() }
}

#[test]
fn unknown_price_is_not_zero() {
    let only = figures_of(&[reply(1, unpriced())]).total().spent();
    assert_eq!((only.cost_usd, only.unpriced_replies), (None, 1));
    let both = figures_of(&[reply(1, priced()), reply(2, unpriced())]).total().spent();
    assert_eq!((both.cost_usd, both.unpriced_replies), (Some(0.25), 1));
    assert_eq!((both.input_tokens, both.cache_read_tokens), (15, 4));
}

#[test]
fn late_price_completes_the_cost() {
    let mut sessions = [figures_of(&[reply(1, priced()), reply(2, unpriced())])];
    complete_costs(&mut sessions, |model, usage| {
        assert_eq!((model, usage.input_tokens), ("unknown", 5));
        Some(0.5)
    });
    let spent = sessions[0].total().spent();
    assert_eq!((spent.cost_usd, spent.unpriced_replies), (Some(0.75), 0));
    assert_eq!(sessions[0].last_turn.cost_usd, Some(0.75));
}

#[test]
fn figures_of_a_copy_exclude_its_source() {
    let started = EventKind::SessionStarted { cwd: "/".into(), format: 1, forked_from: None };
    let mut start = event(2, started);
    start.at = Timestamp(start.at.0 + jiff::SignedDuration::from_secs(60));
    let own = Event { at: start.at, ..reply(3, priced()) };
    assert_eq!(figures_of(&[start.clone(), reply(1, unpriced())]).total(), Figures::default());
    assert_eq!(figures_of(&[start, reply(1, unpriced()), own]).total().spent().replies, 1);
}
