use contract::event::EventKind;
use contract::log::Log as _;

use super::*;
use crate::samples;

fn store_with_sample() -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(directory.path());
    let log = store.create(&samples::id()).unwrap();
    log.append(&samples::conversation()).unwrap();
    (directory, store)
}

fn who(store: &Store, query: &str) -> Vec<Who> {
    let hits = store.search(query, 10).unwrap();
    hits.into_iter().map(|hit| hit.who).collect()
}

#[test]
fn words_are_found_wherever_they_stand_and_in_any_case() {
    let (_directory, store) = store_with_sample();
    assert_eq!(who(&store, "PARSER why"), [Who::User]);
    assert_eq!(who(&store, "off by one"), [Who::Assistant]);
    assert_eq!(who(&store, "cargo"), [Who::ToolInput]);
    assert_eq!(who(&store, "panicked"), [Who::ToolOutput]);
    assert_eq!(who(&store, "mending"), [Who::Title]);
    assert_eq!(who(&store, "\"quoted\""), [Who::ToolOutput]);
    assert_eq!(who(&store, "ÜBERMUT"), [Who::Assistant]);
    assert_eq!(who(&store, "parser absent"), []);
    assert_eq!(who(&store, " "), []);
}

#[test]
fn a_hit_shows_the_match_in_its_surroundings() {
    let (_directory, store) = store_with_sample();
    let hit = store.search("PANICKED", 1).unwrap().remove(0);
    assert_eq!(&hit.snippet[hit.matched.clone()], "panicked");
    assert_eq!(hit.tool.as_deref(), Some("Bash"));
    assert_eq!(hit.title.as_deref(), Some("Mending the parser"));
    assert!(!hit.snippet.contains('\n'));
}

#[test]
fn the_limit_holds_and_the_session_last_used_comes_first() {
    let (_directory, store) = store_with_sample();
    let newer = SessionId::parse("newer").unwrap();
    let log = store.create(&newer).unwrap();
    let prompt = "the parser again".to_owned();
    let mut event = samples::event(1, EventKind::TurnStarted { prompt });
    event.session = newer.clone();
    event.at = "2027-01-01T00:00:00Z".parse().map(Timestamp).unwrap();
    log.append(&[event]).unwrap();
    let hits = store.search("parser", 1).unwrap();
    assert_eq!((hits.len(), &hits[0].session), (1, &newer));
    assert!(store.search("parser", 10).unwrap().len() > 2);
}

#[test]
fn damaged_lines_and_repeated_events_give_no_hits() {
    let (_directory, store) = store_with_sample();
    let path = store.path(&samples::id());
    let whole = std::fs::read(&path).unwrap();
    let doubled = [whole.as_slice(), b"00000000 {\"mending\":1}\n", &whole].concat();
    std::fs::write(&path, doubled).unwrap();
    assert_eq!(who(&store, "mending").len(), 1);
}

#[test]
fn a_snippet_is_cut_between_characters() {
    let text = format!("{}needle{}", "漢".repeat(100), "é".repeat(100));
    let (snippet, matched) = cut(&text, &(300..306));
    assert_eq!(&snippet[matched], "needle");
    assert!(snippet.starts_with('…') && snippet.ends_with('…'));
    let (snippet, matched) = cut("a \n\t b", &(0..1));
    assert_eq!((snippet.as_str(), matched), ("a b", 0..1));
}

#[test]
fn characters_that_change_length_are_found_at_their_place() {
    let place = find_folded("İİ Straße ẞ x", "straße").unwrap();
    assert_eq!(&"İİ Straße ẞ x"[place], "Straße");
}

/// A log of `count` prompts, each with a word of its own among others.
fn long(store: &Store, name: &str, count: u64) -> SessionId {
    let id = SessionId::parse(name).unwrap();
    let log = store.create(&id).unwrap();
    let events: Vec<Event> = (1..=count)
        .map(|seq| {
            let filling = "the quick brown fox jumps over the lazy dog ".repeat(20);
            let blob = "Zm9v".repeat(40);
            let prompt = format!("{filling} needle{seq}x Straße_{seq} {blob}{seq}q {filling}");
            let mut event = samples::event(seq, EventKind::TurnStarted { prompt });
            event.session = id.clone();
            event
        })
        .collect();
    log.append(&events).unwrap();
    id
}

#[test]
fn gathered_words_change_nothing_but_the_time() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(directory.path());
    let id = long(&store, "long", 2_000);
    let queries = [
        "needle77x",
        "eedle1999",
        "NEEDLE3X fox",
        "straße_12",
        "STRASSE",
        "Straße_7",
        "lazy absent",
        "fox",
        "x",
        "zm9v1234q",
        "needle5",
        "over-the",
        "jumps over",
        "9vZm9vZm9vZm9vZm9vZm9vZm9vZm9v17q",
    ];
    let search = |query: &str| store.search(query, 30).unwrap();
    let before: Vec<_> = queries.iter().map(|query| search(query)).collect();
    assert_eq!(before[0].len(), 1);
    assert_eq!(before[6].len(), 0);
    store.gather_words(&mut |_| ()).unwrap();
    let words = words::path(&store.path(&id));
    assert!(words.metadata().unwrap().len() > 10_000);
    let opened = Words::open(&File::open(store.path(&id)).unwrap(), &words).unwrap();
    let found = opened.candidates(0, &segment::parts(&["needle77x".to_owned()])).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    for (query, before) in queries.iter().zip(&before) {
        assert_eq!(&search(query), before, "{query}");
    }
    let whole = std::fs::read(&words).unwrap();
    for (at, flip) in (0..whole.len()).step_by(997).zip(1..) {
        let mut broken = whole.clone();
        // The postings have no checksum: only what is written whole counts there.
        if at < 60_000 {
            broken[at] ^= u8::try_from(flip % 255 + 1).unwrap();
            std::fs::write(&words, &broken).unwrap();
            store.search("needle77x", 5).unwrap();
        }
    }
    for length in (0..whole.len()).step_by(4_999) {
        std::fs::write(&words, &whole[..length]).unwrap();
        let _ = store.search("needle77x", 5);
    }
    std::fs::remove_file(&words).unwrap();
    assert_eq!(search("needle77x"), before[0]);
}

#[test]
fn what_was_said_after_words_were_gathered_is_found_and_a_deleted_session_leaves_none() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(directory.path());
    let id = long(&store, "long", 2_000);
    store.gather_words(&mut |_| ()).unwrap();
    let opened = store.open(&id).unwrap();
    let mut event =
        samples::event(2_001, EventKind::TurnStarted { prompt: "afterwards needle77x".into() });
    event.session = id.clone();
    opened.log.unwrap().append(&[event]).unwrap();
    let hits = store.search("needle77x", 5).unwrap();
    assert_eq!(hits.iter().map(|hit| hit.seq.0).collect::<Vec<_>>(), [2_001, 77]);
    store.gather_words(&mut |_| ()).unwrap();
    assert_eq!(store.search("afterwards", 5).unwrap().len(), 1);
    store.delete(&id).unwrap();
    assert!(!words::path(&store.path(&id)).exists());
    // Another session of that name is not mistaken for it.
    let again = long(&store, "long", 1_500);
    store.gather_words(&mut |_| ()).unwrap();
    assert_eq!(store.search("needle1499x", 5).unwrap()[0].session, again);
    assert!(store.search("needle1777x", 5).unwrap().is_empty());
}
