use super::*;

fn programs(text: &str) -> Vec<String> {
    let script = read(text, Path::new("/w"), Some(Path::new("/home/u")));
    let commands = script.commands.iter();
    commands
        .map(|it| it.argv().iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn every_simple_command_is_found() {
    assert_eq!(programs("a | b && c; (d); { e; }"), ["a", "b", "c", "d", "e"]);
    assert_eq!(programs("if a; then b; else c; fi"), ["a", "b", "c"]);
    assert_eq!(programs("f() { a; }; for x in 1; do b; done"), ["a", "b"]);
    assert_eq!(programs("a $(b `c`) <(d)"), ["a  ", "b ", "c", "d"]);
    assert_eq!(programs("a \"x $(b) y\""), ["a x ", "b"]);
    assert_eq!(programs("cat <<EOF\n$(a)\nEOF"), ["cat", "a"]);
    assert_eq!(programs("cat <<'EOF'\n$(a)\nEOF"), ["cat"]);
}

#[test]
fn wrappers_and_nested_scripts_are_followed() {
    assert_eq!(programs("env A=1 nice b c"), ["env A=1 nice b c", "nice b c", "b c"]);
    assert_eq!(programs("sh -c 'a; b'"), ["sh -c a; b", "a", "b"]);
    assert_eq!(programs("bash -euo pipefail -c 'a'")[1..], ["a"]);
    assert_eq!(programs("bash --rcfile f -c 'a'")[1..], ["a"]);
    assert_eq!(programs("find . -exec a {} \\; -exec b {} +").len(), 3);
    assert_eq!(programs("eval 'a b'"), ["eval a b", "a b"]);
}

#[test]
fn cd_moves_the_commands_behind_it() {
    let dirs = |text: &str| -> Vec<Vec<String>> {
        let script = read(text, Path::new("/w"), None);
        let shown = |it: &Simple| it.dirs.iter().map(|dir| dir.display().to_string()).collect();
        script.commands.iter().map(shown).collect()
    };
    assert_eq!(dirs("cd a && ls"), [["/w"], ["/w/a"]]);
    assert_eq!(dirs("cd a; ls")[1], ["/w/a", "/w"]);
    assert_eq!(dirs("(cd a && ls); ls")[2], ["/w"]);
    assert!(dirs("cd \"$x\" && ls")[1].is_empty());
}

#[test]
fn literal_commands_are_only_plain_text() {
    let commands = literal_commands("git status && 'a b' c 2>&1").unwrap();
    assert_eq!(commands, [vec!["git", "status"], vec!["a b", "c"]]);
    for text in ["a $x", "a > b", "A=1 b", "a $(b)", "a *", "if a; then b; fi", "a &&", "a &"] {
        assert_eq!(literal_commands(text), None, "{text}");
    }
}

#[test]
fn deep_and_long_text_is_read_in_linear_work() {
    // Each shape is nested or repeated; the number of commands bounds the work after parsing.
    for shape in ["$(a ", "(a; ", "\"$(a ", "env ", "sh -c 'a' ", "{", "a;", "cd x; ", "`", "<<E\n"]
    {
        let text = shape.repeat(4000);
        let script = read(&text, Path::new("/w"), None);
        assert!(script.commands.len() <= 8 * 4000, "{shape}: {}", script.commands.len());
        let size: usize = script.commands.iter().map(|it| it.source.len()).sum();
        assert!(size <= 16 * 400_000, "{shape}: {size}");
    }
    assert!(read(&"a ".repeat(MAX_COMMAND), Path::new("/w"), None).is_broken);
}
