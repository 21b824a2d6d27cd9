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
fn search_finds_words_in_every_event_in_any_case() {
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
fn search_hit_shows_the_match_in_context() {
    let (_directory, store) = store_with_sample();
    let hit = store.search("PANICKED", 1).unwrap().remove(0);
    assert!(hit.snippet.contains("parser panicked at"), "{}", hit.snippet);
    assert_eq!(hit.tool.as_deref(), Some("Bash"));
    assert_eq!(hit.title.as_deref(), Some("Mending the parser"));
    assert!(!hit.snippet.contains('\n'));
}

#[test]
fn search_is_limited_and_newest_session_comes_first() {
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
    let snippet = cut(&text, &(300..306));
    assert!(snippet.contains("漢needleé"), "{snippet}");
    assert!(snippet.starts_with('…') && snippet.ends_with('…'));
    assert_eq!(cut("a \n\t b", &(0..1)), "a b");
}

#[test]
fn search_finds_characters_whose_length_depends_on_case() {
    let text = "İİ Straße ẞ x";
    let place = Query::new("STRAßE").unwrap().find(text).unwrap();
    assert_eq!(&text[place], "Straße");
}

#[test]
fn search_finds_words_in_every_part_of_a_long_log() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(directory.path());
    let log = store.create(&samples::id()).unwrap();
    // Longer than a chunk, and one line is, too.
    let filling = "the quick brown fox ".repeat(4);
    let events: Vec<Event> = (1..=100)
        .map(|seq| {
            let filling = filling.repeat(if seq == 50 { 200 } else { 1 });
            let prompt = format!("needle{seq}x {filling} Ж{seq}-Ende");
            samples::event(seq, EventKind::TurnStarted { prompt })
        })
        .collect();
    log.append(&events).unwrap();
    let found = |query: &str| -> Vec<u64> {
        let hits = store.search(query, 3).unwrap();
        hits.iter().map(|hit| hit.seq.0).collect()
    };
    for seq in [1, 2, 49, 50, 51, 99, 100] {
        assert_eq!(found(&format!("needle{seq}x")), [seq]);
        assert_eq!(found(&format!("FOX ж{seq}-ende")), [seq]);
    }
    assert_eq!(found("fox"), [100, 99, 98]);
    assert!(found("turn_started").is_empty());
}
