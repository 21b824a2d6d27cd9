//! Results of megabytes: opened, walked through, searched and copied without being laid out whole.

use super::*;

const MEGABYTES: usize = 5_000_000;

/// Numbered lines of 25 letters.
fn lines() -> String {
    let lines = (0..MEGABYTES / 25).map(|number| format!("line {number:06} of the whole\n"));
    lines.collect()
}

/// A change that adds them.
fn added() -> String {
    let lines = lines();
    let added = lines.lines().flat_map(|line| ["+", line, "\n"]);
    std::iter::once("@@ -1,0 +1,200000 @@\n").chain(added).collect()
}

/// A conversation with one call that returned something.
fn returned(output: ToolOutput) -> Stage {
    let mut stage = Stage::new(80, 24);
    stage.event(prompt("go")).event(called("1", "Bash", json!({"command": "make"})));
    stage.event(finished("1", "Bash", output));
    stage
}

/// Parts of the last block that are laid out.
#[track_caller]
fn is_little(stage: &Stage) {
    let last = stage.app.transcript.len() - 1;
    let count = stage.app.transcript.block(last).map_or(0, crate::transcript::Block::laid_out);
    assert!((1..=20).contains(&count), "{count} parts");
}

#[test]
fn opening_a_long_result_lays_out_the_visible_part() {
    let change = added();
    for output in [
        ToolOutput::success(lines()),
        ToolOutput::success("0123456789".repeat(MEGABYTES / 10)),
        ToolOutput::success("漢".repeat(MEGABYTES / 3)),
        changed(&change),
    ] {
        let mut stage = returned(output);
        stage.keys("f7");
        is_little(&stage);
        stage.keys("pageup pageup");
        is_little(&stage);
        stage.keys("ctrl+home").shows("✓ Bash");
        stage.keys("pagedown pagedown pagedown");
        is_little(&stage);
        stage.resize(40, 10);
        is_little(&stage);
    }
}

#[test]
fn long_result_scrolls_without_a_seam() {
    let mut stage = returned(ToolOutput::success(lines()));
    stage.keys("f7").shows("line 199999");
    stage.keys("ctrl+home").shows("line 000000");
    let mut next = 0;
    for _ in 0..200 {
        for row in stage.screen().lines() {
            let number = row.split("line ").nth(1).and_then(|rest| rest.get(..6)?.parse().ok());
            if let Some(number) = number.filter(|number: &usize| *number >= next) {
                assert_eq!(number, next);
                next += 1;
            }
        }
        stage.keys("pagedown");
    }
    assert!(next > 3000, "several parts were seen: {next}");
    is_little(&stage);
}

#[test]
fn long_diff_keeps_its_line_numbers_everywhere() {
    let mut stage = returned(changed(&added()));
    stage.keys("f7").shows("200000 +line 199999");
    stage.keys("f9").type_in("line 123455").shows("123456 +line 123455");
    stage.shows("Match 1 of 1");
    is_little(&stage);
}

#[test]
fn search_in_a_long_result_counts_and_continues() {
    let mut stage = returned(ToolOutput::success(lines()));
    stage.keys("f9").type_in("line 100000").shows("Match 1 of 1");
    stage.shows("line 100000");
    is_little(&stage);
    stage.keys("esc f9").type_in("00 of the whole").shows("Match 2000 of 2000");
    stage.keys("enter N").shows("Match 1999 of 2000");
    stage.shows("line 199800");
    stage.keys("n n").shows("Match 1 of 2000");
    stage.shows("line 000000");
}

#[test]
fn copy_of_a_long_result_has_no_seams() {
    let copied = |stage: &mut Stage| {
        let mut effects = std::mem::take(&mut stage.effects).into_iter();
        effects.find_map(|effect| match effect {
            Effect::Copy(text) => Some(text),
            _ => None,
        })
    };
    let lines = lines()[..500_000].to_owned();
    for text in [lines, "words in one line ".repeat(20_000), "漢字 ".repeat(20_000)] {
        let mut stage = returned(ToolOutput::success(text.clone()));
        stage.keys("ctrl+t b enter g down V end");
        // The end of the conversation is the end of the result.
        for _ in 0..3 {
            stage.keys("pagedown");
        }
        let end = stage.app.view.last_place().expect("a row");
        stage.app.view.selection.as_mut().expect("a selection").to.0 =
            crate::transcript::Place { part: usize::MAX, ..end };
        stage.keys("y");
        let copied = copied(&mut stage).expect("a copy");
        assert!(copied.ends_with(text.trim_end()), "{}", &copied[..copied.len().min(300)]);
        is_little(&stage);
    }
}

#[test]
fn opening_and_closing_keeps_the_head_in_view() {
    let mut stage = returned(ToolOutput::success(lines()));
    stage.event(replied("That was it.")).event(ended());
    stage.keys("ctrl+t b up enter").shows("✓ Bash");
    stage.shows("command: make");
    stage.keys("pagedown pagedown pagedown").hides("✓ Bash");
    stage.keys("enter").shows("✓ Bash");
    stage.shows("199996 more lines");
    stage.shows("That was it.");
}

#[test]
fn long_prompts_and_outputs_are_laid_out_in_parts() {
    let mut stage = Stage::new(80, 24);
    stage.event(prompt(&lines())).keys("f7").shows("line 199999");
    is_little(&stage);
    let mut stage = Stage::new(80, 24);
    stage.answer(Answer::Show(lines())).shows("line 199999");
    is_little(&stage);
}

#[test]
fn search_finds_text_across_two_parts() {
    let line = (0..3600).map(|number| format!("k{number:05}_")).collect::<Vec<_>>().concat();
    let mut stage = returned(ToolOutput::success(line));
    for number in 2325..2345 {
        stage.keys("f9").type_in(&format!("k{number:05}_")).shows("Match 1 of 1");
        stage.keys("esc");
    }
}

#[test]
fn closing_a_block_shows_its_head() {
    let mut stage = returned(ToolOutput::success(lines()));
    stage.event(replied("That was it.")).event(ended());
    stage.keys("f7 pageup pageup pageup").hides("✓ Bash");
    stage.keys("f7").shows("✓ Bash");
}

#[test]
fn search_leaves_agent_calls_closed_for_hidden_text() {
    let mut stage = Stage::new(60, 24);
    stage.event(prompt("go")).event(called("1", "Task", json!({"prompt": "look"})));
    let lines = format!("{0}zebra\n{0}", "one of them\n".repeat(150));
    for what in [
        called("2", "Bash", json!({"command": "seq"})),
        finished("2", "Bash", ToolOutput::success(lines)),
    ] {
        stage.send(Message::Event(Arc::new(within("1", what))));
    }
    stage.event(finished("1", "Task", ToolOutput::success("found it"))).event(ended());
    let task = stage.app.transcript.len() - 1;
    stage.keys("f9").type_in("zebra").shows("Not found");
    assert!(!stage.app.transcript.is_open(task));
}
