use super::*;

/// The commands of a text, each with its words between blanks.
fn shown(text: &str) -> Result<Vec<String>, usize> {
    let word = |word: &Word| word.literal().unwrap_or("?").to_owned();
    let command = |command: &Command| {
        let settings =
            command.settings.iter().map(|(name, value)| format!("{name}={}", word(value)));
        settings.chain(command.words.iter().map(word)).collect::<Vec<_>>().join(" ")
    };
    let commands = read(text)?;
    Ok(commands.iter().filter(|it| it.kind != Kind::Group).map(command).collect())
}

#[test]
fn statements_of_the_text_itself_are_told_from_parts_of_others() {
    for (text, is_own) in [
        ("x=1", true),
        ("echo a\nx=1; echo b", true),
        ("x=\"$(date)\" # a\n", true),
        ("x=1 &", false),
        ("x=1 & wait", false),
        ("(x=1)", false),
        ("{ x=1; }", false),
        ("x=1 | cat", false),
        ("true && x=1", false),
        ("x=1 || true", false),
        ("! x=1", false),
        ("if true; then x=1; fi", false),
        ("for a in b; do x=1; done", false),
        ("while x=1; do :; done", false),
        ("case a in a) x=1 ;; esac", false),
        ("echo $(x=1)", false),
        ("x=1 > y", false),
    ] {
        // What is not understood is none.
        let commands = read(text).unwrap_or_default();
        let sets = |it: &Command| it.settings.first().is_some_and(|(name, _)| name == "x");
        assert_eq!(commands.iter().any(|it| sets(it) && it.is_own), is_own, "{text}");
    }
}

#[test]
fn plain_texts_are_understood() {
    for (text, wanted) in [
        ("echo a 'b c' \"d\"e f\\.g", "echo a b c de f.g"),
        ("x=1 y= echo \"$x\" z", "x=1 y= echo ? z"),
        ("input=$(cat)\necho \"$input\" | jq -r .a", "cat|input=?|echo ?|jq -r .a"),
        ("if [ -f x ]; then\n  echo a\nelse exit 2\nfi", "[ -f x ]|echo a|exit 2"),
        ("for f in a b \"$c\"; do cat $f; done", "f|cat ?"),
        ("case \"$1\" in\n  a|b*) echo x ;;\n  *) exit 1 ;;\nesac", "echo x|exit 1"),
        ("while IFS= read -r line; do echo \"$line\"; done < x", "IFS= read -r line|echo ?"),
        ("cat <<'E'\n$(sh x) `\nE\nexit 2", "cat|exit 2"),
        ("cat <<E >&2\na $x $(date)\nE\nexit 2", "cat|date|exit 2"),
        ("cat <<-EOF | jq .\n\ta\n\tEOF\n", "cat|jq ."),
        ("# it's a comment\necho a # b'c\n", "echo a"),
        ("grep -qE '^(a)$' x && exit 2 || true", "grep -qE ^(a)$ x|exit 2|true"),
        ("echo \"^a$\" \"b\\\"c\\$\" 2>&1 >/dev/null", "echo ^a$ b\"c$"),
        ("! grep -q a x", "grep -q a x"),
        ("(echo a; echo b) | { cat; }", "echo a|echo b|cat"),
        ("echo \"${x:-a b}\" ${#x} \"${x##*/}\" \"${a[0]}\"", "echo ? ? ? ?"),
        ("[[ \"$x\" == *.py ]] || exit 0", "[[ ? == ? ]]|exit 0"),
        ("[ $# -lt 1 ] && exit 1", "[ ? -lt 1 ]|exit 1"),
        ("echo a \\\n  b", "echo a b"),
        ("find . -exec wc -l {} \\;", "find . -exec wc -l {} ;"),
        ("grep -r --include=*.{ts,tsx} a .", "grep -r ? a ."),
        ("sleep 1 &\necho ünïcode \"é\"", "sleep 1|echo ünïcode é"),
        ("export A=b", "A=b export"),
        ("cat < x > y", "cat"),
        ("log() { echo \"$1\" >&2; }\nlog a", "log|echo ?|log a"),
        ("x=`date`; echo \"a `jq -r .b` c\"", "date|x=?|jq -r .b|echo ?"),
        ("n=0; n=$((n + 1)); echo $(( 1 + 2 ))", "n=0|n|n=?|echo ?"),
        ("[ $((n + 1)) -gt \"$((m))\" ]", "n|m|[ ? -gt ? ]"),
        ("for a in $((n)); do :; done", "n|a|:"),
        ("[[ \"$f\" =~ ^/etc/ ]] && exit 2", "[[ ? =~ ^/etc/ ]]|exit 2"),
        ("[[ $f =~ \\.(js|ts)$ ]] || exit 0", "[[ ? =~ ? ]]|exit 0"),
        ("a=(x 'y z')\necho \"${a[@]}\" ${a[@]}", "a=?|echo ? ?"),
        ("a=(\n  x # one\n  y\n)", "a=?"),
        ("f() { local x=1 y z=\"$1\"; }", "f|x=1 z=? local y"),
        ("[[ $f =~ ^[A-Z]+\\.env$ && -n $a ]]", "[[ ? =~ ^[A-Z]+\\.env$ && -n ? ]]"),
    ] {
        assert_eq!(shown(text), Ok(wanted.split('|').map(str::to_owned).collect()), "{text}");
    }
}

#[test]
fn what_is_not_plain_is_not() {
    for text in [
        "function f { echo; }",
        "echo $((x = 1))",
        "echo $((x++))",
        "echo $((a[0]))",
        "echo $((x, y))",
        "echo $((sh) )",
        "echo $((sh x))",
        "echo $(($x + 1))",
        "f() { echo; } > x",
        "f() ( echo )",
        "echo `date # a`",
        "echo `echo \\$x`",
        "echo \"`echo \"a\"`\"",
        "cat <<E\n$((x++))\nE",
        "cat <<E\n$((n * 2))\nE",
        "(( x ))",
        "for ((i=0;i<3;i++)); do echo; done",
        "echo ${!x}",
        "echo ${x@P}",
        "echo ${x:0:3}",
        "echo ${x:=y}",
        "echo ${a[x]}",
        "echo \"${x#'}'}\"",
        "echo \"${x:-$(date)}\"",
        "a[0]=x",
        "a+=b",
        "cat <(echo)",
        "echo {a,b}",
        "echo $'a'",
        "echo $\"a\"",
        "echo a &>x",
        "echo a &>/dev/null b",
        "echo a |& cat",
        "echo 'a",
        "echo \"a",
        "cat <<E <<F\na\nE\nb\nF",
        "cat <<'E'\"F\"\nx\nEF\nsh x\nE",
        "cat <<\\E\nx\nE\nsh x\nE",
        "cat <<E\na\\\nE\nE",
        "cat <<E\n`x`\nE",
        "cat <<''\nx\n\nsh x",
        "cat <<'E\"\nx\nE\nsh x\nE\"",
        "cat <<E | jq 'a\nE\nb'\nx\nE",
        "cat <<E; echo 'a\nE\nsh x'\nE",
        "cat <<E\n$(echo a\\ b)\nE",
        "cat <<E\n$(date `x`)\nE",
        "echo a\rb",
        "echo a\u{b}b",
        "echo a\0b",
        "echo a\u{a0}b",
        "\u{feff}echo",
        "select x in a; do echo; done",
        "time echo a",
        "coproc cat",
        "x=$(case a in a) echo;; esac)",
        "[[ a =~ a&b ]]",
        "[[ a =~ a;b ]]",
        "[[ a =~ (b c) ]]",
        "[ a -a b > c ]",
        "echo $[1]",
        "unset x",
        "declare x=1",
        "echo a\\\nb",
        "echo a\\ b",
        "echo > a b",
    ] {
        assert!(read(text).is_err(), "{text}: {:?}", shown(text));
    }
}

#[test]
fn lists_of_more_than_plain_words_are_not_understood() {
    for text in [
        "a=(x $y)",
        "a=(\"$(date)\")",
        "a=([0]=x)",
        "a=([$(date)]=x)",
        "a=(x*)",
        "a=(x",
        "a= (x)",
        "a+=(x)",
        "echo \"${a[@]:1}\"",
        "echo \"${a[*]}\"",
        "echo \"${!a[@]}\"",
        "declare a=(x)",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn who_reads_what_a_command_prints_is_known() {
    let commands = read("cat a | grep b | sh; x=$(cat c)").unwrap();
    assert_eq!(commands[0].readers.first(), Some(&(1..3)));
    assert_eq!(commands[1].readers.first(), Some(&(2..3)));
    assert!(commands[2].readers.is_empty() && commands[3].is_in_word);
}

#[test]
fn texts_of_nothing_but_signs_end() {
    for text in
        ["$(", "`a`", "(", "'", "a|", "<<E\n", "${", "\"$(a)\" ", "a=$b/c ", "! ", "if ", "{ "]
    {
        let _ = read(&text.repeat((1 << 15) / text.len()));
    }
}

#[test]
fn what_runs_though_something_before_has_failed_is_told_from_the_rest() {
    for (text, rest, is_parallel) in [
        ("a && b", None, false),
        ("a && b || c && d", Some(" c && d"), false),
        ("a || b > x", Some(" b > x"), false),
        ("a 2>x || b; c", Some(" b; c"), false),
        ("a | b || c", Some(" c"), false),
        ("! a; b", Some("b"), false),
        ("a # x\nb", Some("b"), false),
        ("\n a\nb || c", Some("b || c"), false),
        ("for a in b; do c || d; done; e", Some("e"), false),
        ("if a; then b; fi || c", Some(" c"), false),
        ("(a || b) && { c; d; }", None, false),
        ("a <<'E'\nx\nE\nb", Some("b"), false),
        ("a & b", Some("b"), true),
        ("a && b &", None, true),
    ] {
        let chain = chain(text).unwrap();
        assert_eq!(chain.rest.map(|at| &text[at..]), rest, "{text}");
        assert_eq!(chain.is_parallel, is_parallel, "{text}");
    }
}
