//! Text in pieces of any size, rows out.

use super::*;

fn theme() -> Theme {
    Theme::built_in().swap_remove(3)
}

fn shown(markdown: &Markdown) -> Vec<String> {
    let rows = (0..markdown.height()).filter_map(|at| markdown.row(at));
    rows.map(|row| row.line.to_string()).collect()
}

fn whole(text: &str, width: usize) -> Vec<String> {
    let mut markdown = Markdown::complete(text.to_owned());
    markdown.lay_out(width, 0, &theme());
    shown(&markdown)
}

#[test]
fn blocks_are_shown_with_gaps_between_them() {
    let text = "# T\n\n## U\n\n### V\n\n#### W\n\none *two*\n\n- a\n- b\n\n```rust\nlet x;\n\n```\nafter\n";
    assert_eq!(
        whole(text, 40),
        [
            "█ T",
            "",
            "▌ U",
            "",
            "▎ V",
            "",
            "W",
            "",
            "one two",
            "",
            "• a",
            "• b",
            "",
            "rust",
            "│ let x;",
            "│ ",
            "",
            "after"
        ]
    );
}

#[test]
fn markdown_is_independent_of_chunk_sizes() {
    let text = "# T\n\npara *one*\ntwo\n\n- a\n- b\n\n  c\n\n1. x\n2. y\n\n```py\nx = 1\n\n```\n\
                | a |\n|---|\n| 1 |\n\n> quote\n> more\n\nend";
    let expected = whole(text, 30);
    for size in [1, 2, 3, 7] {
        let mut markdown = Markdown::default();
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(size) {
            markdown.push(&piece.iter().collect::<String>());
            markdown.lay_out(30, 0, &theme());
        }
        markdown.finish();
        markdown.lay_out(30, 0, &theme());
        assert_eq!(shown(&markdown), expected, "{size}");
    }
}

#[test]
fn incomplete_text_is_shown() {
    let mut markdown = Markdown::default();
    markdown.push("one\n\nhalf a **sen");
    markdown.lay_out(40, 0, &theme());
    assert_eq!(shown(&markdown), ["one", "", "half a **sen"]);
    markdown.push("tence**\n```\nlet x");
    markdown.lay_out(40, 0, &theme());
    assert_eq!(shown(&markdown), ["one", "", "half a sentence", "", "│ let x"]);
}

#[test]
fn a_long_list_settles_while_it_grows() {
    let mut markdown = Markdown::default();
    for number in 0..2000 {
        markdown.push(&format!("- item number {number}\n"));
        markdown.lay_out(40, 0, &theme());
    }
    assert!(markdown.draft.len() < 200, "{} rows in the draft", markdown.draft.len());
    assert_eq!(markdown.height(), 2000);
}

#[test]
fn endless_paragraph_settles_while_it_grows() {
    let words = ["some", "plain", "words", "**and bold ones**", "with `code`,", "Wörter", "and"];
    let text: Vec<&str> =
        (0..1500).map(|number| words[number * 5 % 7 * (number % 3) % 7]).collect();
    let plain: Vec<&str> = text.iter().filter(|word| !word.contains(['*', '`'])).copied().collect();
    for text in [" ", "\n", " \n"].map(|between| [text.join(between), plain.join(between)]).concat()
    {
        let mut markdown = Markdown::default();
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(64) {
            markdown.push(&piece.iter().collect::<String>());
            markdown.lay_out(60, 0, &theme());
            assert!(markdown.draft.len() < 200, "{} rows", markdown.draft.len());
        }
        markdown.finish();
        markdown.lay_out(60, 0, &theme());
        let rows: Vec<Row> =
            (0..markdown.height()).filter_map(|at| markdown.row(at).cloned()).collect();
        assert_eq!(rows, page::render(&text, 60, &theme()));
    }
}

#[test]
fn long_text_is_split_between_paragraphs() {
    let paragraphs = "Some words of a paragraph.\n\n".repeat(PART_BYTES / 10);
    let code = format!("```\n{}```\n\n", "let x = 1;\n\n".repeat(PART_BYTES / 20));
    let text = format!("{code}{paragraphs}the end");
    let mut parts = vec![Markdown::complete(text.clone())];
    while let Some(rest) = parts.last_mut().and_then(Markdown::split) {
        parts.push(rest);
    }
    assert!(parts.len() > 2, "{}", parts.len());
    assert!(parts[0].text().starts_with(&code) && !parts[0].is_continued());
    assert!(
        parts[1..].iter().all(|part| part.is_continued() && part.text().len() < 2 * PART_BYTES)
    );
    let joined: String = parts.iter().map(Markdown::text).collect();
    assert_eq!(joined, text);
}

#[test]
fn rows_of_a_part_stay_when_it_ends() {
    let mut parts = vec![Markdown::default()];
    let mut text = String::new();
    for number in 0..3000 {
        let piece =
            format!("word {number} of a long reply{}", if number % 9 == 8 { "\n\n" } else { "\n" });
        text.push_str(&piece);
        let last = parts.last_mut().unwrap();
        last.push(&piece);
        if let Some(rest) = last.split() {
            assert!(last.made_for.is_some() && last.settled.len() > 100, "{}", last.settled.len());
            parts.push(rest);
        }
        for part in &mut parts {
            part.lay_out(40, 0, &theme());
        }
    }
    assert!(parts.len() > 1);
    let mut joined = Vec::new();
    for part in &mut parts {
        part.finish();
        part.lay_out(40, 0, &theme());
        if !joined.is_empty() {
            joined.push(String::new());
        }
        joined.extend(shown(part));
    }
    assert_eq!(joined, whole(&text, 40));
}

#[test]
fn endless_code_block_is_split_without_a_seam() {
    let lines: Vec<String> =
        (0..9000).map(|number| format!("let x{number} = 1; /* a\nb */\n")).collect();
    let lines = lines.concat();
    let text = format!("before\n\n```rust\n{lines}```\n\nafter\n");
    let theme = Theme::built_in().swap_remove(0);
    let rows = |markdown: &mut Markdown| -> Vec<Row> {
        markdown.lay_out(60, 0, &theme);
        (0..markdown.height()).filter_map(|at| markdown.row(at).cloned()).collect()
    };
    let whole = rows(&mut Markdown::complete(text.clone()));
    let mut parts = vec![Markdown::complete(text.clone())];
    while let Some(rest) = parts.last_mut().and_then(Markdown::split) {
        parts.push(rest);
    }
    assert!(parts.len() > 3 && parts.iter().all(|it| it.text().len() < 2 * PART_BYTES));
    assert_eq!(parts.iter().map(Markdown::text).collect::<String>(), text);
    let begins = parts.iter().filter(|part| part.begins_within()).count();
    assert!(begins + 1 >= parts.len() - 1, "{begins} of {}", parts.len());
    let mut joined = Vec::new();
    for part in &mut parts {
        if !joined.is_empty() && !part.begins_within() {
            joined.push(Row::gap());
        }
        joined.extend(rows(part));
    }
    assert!(joined == whole, "{} rows, not {}", joined.len(), whole.len());
}

#[test]
fn long_table_is_laid_out_in_steps() {
    let mut markdown = Markdown::default();
    markdown.push(&format!("| a |\n|---|\n{}", "| cell |\n".repeat(MAX_DRAFT_BYTES / 4)));
    markdown.lay_out(40, 0, &theme());
    let before = markdown.height();
    markdown.push("| more |\n");
    markdown.lay_out(40, 0, &theme());
    assert_eq!(markdown.height(), before);
    markdown.catch_up();
    markdown.lay_out(40, 0, &theme());
    assert_eq!(markdown.height(), before + 1);
    markdown.push("| end |\n");
    markdown.finish();
    markdown.lay_out(40, 0, &theme());
    assert_eq!(markdown.height(), before + 2);
}

#[test]
fn changed_width_lays_out_everything_again() {
    let mut markdown = Markdown::complete("one two three".to_owned());
    markdown.lay_out(40, 0, &theme());
    assert_eq!(markdown.height(), 1);
    markdown.lay_out(5, 0, &theme());
    assert_eq!(shown(&markdown), ["one", "two", "three"]);
}

/// The parts of a text, and all their rows.
fn parts(text: &str, width: usize) -> (Vec<Markdown>, Vec<Row>) {
    let mut first = Markdown::complete(String::new());
    let rest = first.extend(text);
    let mut parts: Vec<Markdown> = std::iter::once(first).chain(rest).collect();
    let mut rows = Vec::new();
    for part in &mut parts {
        assert!(part.text().len() <= parts::MAX_PART_BYTES, "{}", part.text().len());
        part.lay_out(width, 0, &theme());
        if !part.begins_within() {
            rows.push(Row::gap());
        }
        rows.extend((0..part.height()).filter_map(|at| part.row(at).cloned()));
    }
    assert_eq!(parts.iter().map(Markdown::text).collect::<String>(), text);
    (parts, rows)
}

/// The text of rows as a copy has it.
fn copied(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| row.joint != Joint::Decoration) {
        match row.joint {
            Joint::Space => text.push(' '),
            Joint::Line if !text.is_empty() => text.push('\n'),
            _ => {}
        }
        text.push_str(&row.text());
    }
    text
}

#[test]
fn endless_paragraph_is_split_without_a_seam() {
    let sentence = "Words of a sentence that is one of many, and many there are. ";
    let long = sentence.repeat(8 * PART_BYTES / sentence.len());
    for text in [long.trim_end().to_owned(), long.trim_end().replace(". ", ".\n")] {
        let (parts, rows) = parts(&text, 60);
        assert!(parts.len() > 2, "{}", parts.len());
        assert!(parts[1..].iter().all(Markdown::begins_within));
        assert!(parts.iter().all(|part| part.text().trim_end().ends_with('.')));
        assert!(rows.iter().skip(1).all(|row| row.joint == Joint::Space || *row == rows[1]));
        assert_eq!(copied(&rows), text.replace('\n', " "));
    }
}

#[test]
fn endless_word_is_split_between_letters() {
    let letters = "añ漢👍".repeat(PART_BYTES / 2);
    let (parts, rows) = parts(&letters, 60);
    assert!(parts.len() > 2, "{}", parts.len());
    assert_eq!(copied(&rows), letters);
    let code = format!("```\n{letters}\n```\nafter");
    let (parts, rows) = self::parts(&code, 60);
    assert!(parts.len() > 2, "{}", parts.len());
    assert_eq!(copied(&rows), format!("{letters}\nafter"));
}

#[test]
fn endless_tables_and_lists_continue_in_the_next_part() {
    let table: Vec<String> = (0..9000).map(|number| format!("| {number:06} | cell |\n")).collect();
    let table = table.concat();
    let (parts, rows) = parts(&format!("| a | b |\n|---|---|\n{table}"), 60);
    assert!(parts.len() > 2, "{}", parts.len());
    let shown: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
    assert_eq!(shown.len(), 9003);
    assert_eq!(shown[1].trim_end(), "a      │ b");
    assert!((0..9000).all(|number| shown[number + 3] == format!("{number:06} │ cell")));
    let list: Vec<String> = (0..9000).map(|number| format!("- item number {number}\n")).collect();
    let list = list.concat();
    let (parts, rows) = self::parts(&list, 60);
    assert!(parts.len() > 2, "{}", parts.len());
    let shown: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
    assert_eq!(shown.len(), 9001);
    assert!((0..9000).all(|number| shown[number + 1] == format!("• item number {number}")));
}
