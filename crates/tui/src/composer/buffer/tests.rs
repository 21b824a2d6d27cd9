//! Texts in and out, with `|` where the cursor is.

use super::*;

/// A buffer from a text with `|` where the cursor is, and back.
fn buffer(text: &str) -> Buffer {
    let mut buffer = Buffer::default();
    buffer.insert(&text.replace('|', ""));
    buffer.move_to(text.find('|').expect("a cursor"));
    buffer
}

fn shown(buffer: &Buffer) -> String {
    let (before, after) = buffer.text.split_at(buffer.cursor);
    format!("{before}|{after}")
}

#[test]
fn killed_words_are_yanked() {
    let mut it = buffer("one two three|");
    it.kill_to(it.blank_left());
    it.kill_to(it.blank_left());
    assert_eq!(shown(&it), "one |");
    it.move_to(0);
    it.yank();
    assert_eq!(shown(&it), "two three|one ");
    it.kill_to(0);
    it.yank();
    it.yank_pop();
    assert_eq!(shown(&it), "two three|one ");
}

#[test]
fn changes_are_undone_one_by_one() {
    let mut it = buffer("|");
    for letter in ["a", "b", " ", "c"] {
        it.insert(letter);
    }
    it.delete_to(it.left());
    it.undo();
    assert_eq!(shown(&it), "ab c|");
    it.undo();
    assert_eq!(it.raw(), "ab ");
}

#[test]
fn rows_break_at_blanks_and_the_cursor_keeps_its_column() {
    let mut it = buffer("one two three\nfour|");
    let rows: Vec<String> = it.lines(8).into_iter().map(|line| line.shown).collect();
    assert_eq!(rows, ["one two ", "three", "four"]);
    assert_eq!(it.position(8), (2, 4));
    assert!(it.move_row(8, true) && it.move_row(8, true));
    assert_eq!(shown(&it), "one |two three\nfour");
    assert!(!it.move_row(8, true));
    assert!(it.move_row(8, false));
    assert_eq!(shown(&it), "one two thre|e\nfour");
}

#[test]
fn pasted_text_is_one_character_and_is_sent_whole() {
    let mut it = buffer("see |.");
    it.insert_chip("a\nb\r\nc\x1b");
    assert_eq!(it.lines(60)[0].shown, "see [pasted text 1: 3 lines].");
    assert_eq!(it.text(), "see a\nb\nc.");
    it.delete_to(it.left());
    assert_eq!(it.text(), "see .");
    it.undo();
    assert_eq!(it.text(), "see a\nb\nc.");
}

#[test]
fn buffer_restores_chips_of_a_returned_text() {
    let mut it = buffer("see |.");
    it.insert_chip("a\nb\nc");
    let sent = it.take();
    it.set(&sent);
    assert_eq!(it.lines(60)[0].shown, "see [pasted text 1: 3 lines].");
    assert_eq!(it.text(), sent);
    it.set("a\nb\nother");
    assert_eq!(it.lines(60).len(), 3, "what was changed is text");
}

#[test]
fn draft_restores_chips_in_another_buffer() {
    let mut it = buffer("see |.");
    it.insert_chip("a\nb\nc");
    it.insert(" and ");
    it.insert_chip("d\ne");
    let kept = it.draft();
    assert_eq!(it.draft_of(&it.text()), kept);
    let mut other = buffer("|");
    other.restore(&kept);
    assert_eq!(
        other.lines(80)[0].shown,
        "see [pasted text 1: 3 lines] and [pasted text 2: 2 lines]."
    );
    assert_eq!(other.text(), it.text());
    assert_eq!(other.draft(), kept);
    assert_eq!(buffer("|").draft_of("plain\ntext"), "plain\ntext");
}

#[test]
fn graphemes_are_never_split() {
    let mut it = buffer("e\u{301}👍|");
    it.delete_to(it.left());
    assert_eq!(it.raw(), "e\u{301}");
    it.delete_to(it.left());
    assert_eq!(it.raw(), "");
}

#[test]
fn restored_long_text_is_a_chip() {
    let long = "a line\n".repeat(LONG_LINES + 9);
    let mut it = buffer("|");
    it.recall(&long);
    assert_eq!(it.lines(60)[0].shown, "[pasted text 1: 209 lines]");
    assert_eq!(it.text(), long);
    it.set("");
    it.restore(&long);
    assert_eq!(it.lines(60).len(), 1);
    it.recall("short\ntext");
    assert_eq!(it.raw(), "short\ntext");
}

#[test]
fn emoji_family_is_one_grapheme() {
    let it = buffer("👨\u{200d}👩\u{200d}👧|");
    assert_eq!(it.lines(60)[0].shown, "👨\u{200d}👩\u{200d}👧");
    assert_eq!(buffer("a\u{200d}b|").lines(60)[0].shown, "a\\u{200d}b");
}

#[test]
fn buffer_rejects_control_characters() {
    let mut it = buffer("|");
    it.insert("a\x1b[31m\x07b\u{9b}");
    assert_eq!(it.raw(), "a[31mb");
}

#[test]
fn grouped_change_is_undone_at_once() {
    let mut it = buffer("|one two");
    for letter in 0..MAX_UNDO {
        it.replace(0..1, if letter % 2 == 0 { "a" } else { "o" });
    }
    assert_eq!(it.text, "one two");
    it.begin_change();
    it.replace(0..3, "");
    it.replace(0..0, "new");
    it.end_change();
    assert_eq!(it.text, "new two");
    it.undo();
    assert_eq!(it.text, "one two");
}
