//! Keys in, text and cursor out.

use super::*;

fn after(text: &str, keys: &str) -> String {
    let mut buffer = Buffer::default();
    buffer.set(text);
    let mut vim = Vim::default();
    vim.key(Key::plain(Code::Esc), &mut buffer);
    for letter in keys.chars() {
        let code = match letter {
            '\x1b' => Code::Esc,
            '\n' => Code::Enter,
            letter => Code::Char(letter),
        };
        if vim.key(Key::plain(code), &mut buffer) == Outcome::Ignored {
            buffer.insert(&letter.to_string());
        }
    }
    let (before, after) = buffer.raw().split_at(buffer.cursor());
    format!("{before}|{after}")
}

#[test]
fn insertion_is_undone_as_one_change() {
    for (text, keys, wanted) in [
        ("hello brave world", "0ciwa b, c\x1bu", "|hello brave world"),
        ("hello brave world", "0ciwNEW\x1bwcwOLD\x1bu", "NEW |brave world"),
        ("hello", "0vlcx y\x1bu", "h|ello"),
        ("one", "otwo, three\x1bu", "on|e"),
        ("abc def", "0dwu", "|abc def"),
        ("aaaa", "03~u", "|aaaa"),
    ] {
        assert_eq!(after(text, keys), wanted, "{keys}");
    }
}

#[test]
fn vi_moves_and_changes() {
    for (text, keys, wanted) in [
        ("one two three", "0dw", "|two three"),
        ("one two three", "02dw", "|three"),
        ("one two three", "0d2w", "|three"),
        ("hello world foo", "0cwbye", "bye| world foo"),
        ("one", "yyp", "one\n|one"),
        ("one", "yyP", "|one\none"),
        ("hello", "0$x", "hel|l"),
        ("hello world", "0eaX", "helloX| world"),
        ("one\ntwo\nthree", "kdd", "one\n|three"),
        ("one\ntwo", "dd", "|one"),
        ("one\ntwo\nthree", "ggdj", "|three"),
        ("one\ntwo", "ggA!", "one!|\ntwo"),
        ("abc", "0xp", "b|ac"),
        ("abc", "0xu", "|abc"),
        ("abc", "03rx", "xx|x"),
        ("abc", "0~~", "AB|c"),
        ("one\n  two", "kJ", "one| two"),
        ("one\ntwo", "Onew", "one\nnew|\ntwo"),
        ("one\ntwo", "kl", "on|e\ntwo"),
        ("a.b c", "0dw", "|.b c"),
        ("a.b c", "0dW", "|c"),
        ("one two", "0d$", "|"),
        ("one two", "0D", "|"),
        ("one\ntwo", "k0dw", "|\ntwo"),
        ("abc def", "Sx", "x|"),
        ("foo bar", "0yiwwviwp", "foo fo|o"),
        ("foo bar", "0yiwwviwp0P", "ba|rfoo foo"),
        ("abc", "0vlgU", "|ABc"),
    ] {
        assert_eq!(after(text, keys), wanted, "{text:?} {keys:?}");
    }
}

#[test]
fn letters_on_the_line_and_objects_are_found() {
    for (text, keys, wanted) in [
        ("say \"hello\" x", "0fhci\"bye", "say \"bye|\" x"),
        ("say \"hello\" x", "0ca\"bye", "say bye|x"),
        ("foo \"bar\" x", "0fbda\"", "foo |x"),
        ("foo \"bar\"", "0fbda\"", "fo|o"),
        ("hello world", "$daw", "hell|o"),
        ("one two", "0viwcQ", "Q| two"),
        ("f(a, b)", "0fava(d", "|f"),
        ("say \"hello\" x", "0fhvi\"d", "say \"|\" x"),
        ("one two", "0gUw", "|ONE two"),
        ("One\nTwo", "gUU", "One\n|TWO"),
        ("One Two", "0guu", "|one two"),
        ("One Two", "0wg~iw", "One |tWO"),
        ("one two", "0veUw.", "ONE |two"),
        ("one two three", "0gUiww.", "ONE |TWO three"),
        ("hello world", "0ciwX", "X| world"),
        ("hello world", "0daw", "|world"),
        ("f(a, (b))", "0fbdi(", "f(a, (|))"),
        ("f(a, (b))", "0fadib", "f(|)"),
        ("a,b,c", "0dt,", "|,b,c"),
        ("a,bb,c", "0t,;x", "a,b|,c"),
        ("a,b,c", "0df,", "|b,c"),
        ("a,b,c", "0f,;x", "a,b|c"),
        ("a,b,c", "$F,x", "a,b|c"),
        ("a,b,c", "0ct,x", "x|,b,c"),
    ] {
        assert_eq!(after(text, keys), wanted, "{text:?} {keys:?}");
    }
}

#[test]
fn dot_repeats_the_last_change() {
    assert_eq!(after("one two three", "0cwX\x1bw."), "X |X three");
    assert_eq!(after("one two three", "0dw.."), "|");
    assert_eq!(after("abcd", "0xl."), "b|d");
}

#[test]
fn unknown_commands_and_colon_lines_do_nothing() {
    assert_eq!(after("hello", "0ciz"), "|hello");
    assert_eq!(after("hello", "0dzqQ"), "|hello");
    assert_eq!(after("hello", "0:wq\n"), "|hello");
}

#[test]
fn vim_mode_survives_every_key() {
    for text in ["é\n\n漢 x", "", "\n", "\"(é"] {
        for first in ' '..='~' {
            for second in ' '..='~' {
                for third in ['w', 'x', '(', '"', 'j', '.'] {
                    after(text, &format!("{first}{second}{third}"));
                }
            }
        }
    }
}

#[test]
fn visual_mode_operates_on_the_marked_text() {
    for (text, keys, wanted) in [
        ("one two three", "0vey$p", "one two threeon|e"),
        ("one two three", "0vwd", "|wo three"),
        ("one two three", "$vbcnew", "one two new|"),
        ("one\ntwo\nthree", "ggVjd", "|three"),
        ("one\ntwo", "ggVyp", "one\n|one\ntwo"),
        ("one two", "0wvod", "one |wo"),
        ("one two", "0vl\x1bx", "o|e two"),
        ("one two", "0vvx", "|ne two"),
        ("one\ntwo", "ggvVd", "|two"),
        ("one two", "0vtwx", "|wo"),
    ] {
        assert_eq!(after(text, keys), wanted, "{text:?} {keys:?}");
    }
}

#[test]
fn ctrl_r_redoes_an_undone_change() {
    let mut buffer = Buffer::default();
    buffer.set("abc");
    let mut vim = Vim::default();
    vim.key(Key::plain(Code::Esc), &mut buffer);
    for letter in "0xxuu".chars() {
        vim.key(Key::plain(Code::Char(letter)), &mut buffer);
    }
    assert_eq!(buffer.raw(), "abc");
    vim.key(Key::ctrl('r'), &mut buffer);
    assert_eq!(buffer.raw(), "bc");
    vim.key(Key::plain(Code::Char('x')), &mut buffer);
    vim.key(Key::ctrl('r'), &mut buffer);
    assert_eq!(buffer.raw(), "c", "another change ends it");
}
