//! What the shell of a person loads.

use std::fs;

use super::super::{MOST_BYTES, Pointers, git_pointers, names};

#[test]
fn what_the_shell_s_environment_loads_is_found() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    let write = |path: &str, text: &str| {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    };
    let text = "source ./scripts/env\n. other\nsource_env_if_exists local\nuse nix\ndotenv .env\n\
                export A=./src/run\nwatch_file ./src/run\n";
    write(".envrc", text);
    write(".env", "B=./src/run\n");
    write("scripts/env", ". \"$PWD/scripts/more\"\n");
    write("scripts/more", "");
    write("mise.toml", "[env]\n_.source = \"./e.sh\"\n[tasks.t]\nrun = \"./src/run\"\n");
    write("src/run", "");
    let wanted = [".env", "scripts/env", "scripts/more"];
    assert_eq!(git_pointers(&root, None), wanted.map(|name| root.join(name)));
    for name in ["other", "local", "e.sh", "scripts/more", ".config/mise/conf.d/a.toml"] {
        assert!(names(&root, None, &root.join(name)), "{name}");
    }
    for name in ["nix", "src/run", "src/other", "scripts/x", ".config/x"] {
        assert!(!names(&root, None, &root.join(name)), "{name}");
    }
}

/// Whether a script beside a file with this text is one that the shell loads.
fn is_loaded(file: &str, text: &str) -> bool {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    fs::write(root.join(file), text).unwrap();
    fs::write(root.join("x.sh"), "").unwrap();
    git_pointers(&root, None).contains(&root.join("x.sh"))
}

#[test]
fn a_line_is_left_out_only_where_all_of_it_sets_a_variable() {
    for text in [
        "export A=1; source ./x.sh",
        "export A=1 && . ./x.sh",
        "export B=1 | ./x.sh",
        "export A=1 & ./x.sh",
        "export A=$(./x.sh)",
        "export A=<(./x.sh)",
        "A=1 ./x.sh",
        "A=1 B=2 sh x.sh",
        "A=1; ./x.sh",
        "A=1 \\\n./x.sh",
        "watch_file a; ./x.sh",
        "export A='\n# '; ./x.sh",
    ] {
        assert!(is_loaded(".envrc", text), "{text}");
    }
    for text in [
        "export A=./x.sh",
        "export A=1 B=./x.sh",
        "A=1 B=./x.sh",
        "# ./x.sh",
        "watch_file ./x.sh",
        "PATH_add ./x.sh",
    ] {
        assert!(!is_loaded(".envrc", text), "{text}");
    }
}

#[test]
fn what_is_loaded_by_other_words_than_its_name_is_found() {
    for (texts, wanted) in [
        (&[(".envrc", "dotenv"), (".env", "A=1")][..], ".env"),
        (&[(".envrc", "if x; then dotenv_if_exists; fi"), (".env", "A=1")], ".env"),
        (&[(".envrc", ". ./lib/env.inc"), ("lib/env.inc", ". ./x.sh")], "x.sh"),
        (&[(".envrc", "source_env .env.d"), (".env.d", ". ./x.sh")], "x.sh"),
        (&[(".envrc", "eval \"$(cat x.sh)\"")], "x.sh"),
        (&[(".envrc", "source <(cat x.sh)")], "x.sh"),
        (&[(".envrc", "for f in e.d/*.sh; do source \"$f\"; done"), ("e.d/a.sh", "")], "e.d"),
        (&[(".envrc", "for f in e.d/*\ndo . $f\ndone"), ("e.d/a", ". ./x.sh")], "x.sh"),
        (&[(".envrc", "source e.d/*.sh"), ("e.d/a.sh", "")], "e.d"),
        (&[(".envrc", "D=scripts\nsource $D/y"), ("scripts/y", "")], "scripts/y"),
        (&[(".envrc", "D=\"scripts\"\n. \"${D}/y\""), ("scripts/y", "")], "scripts/y"),
        (&[("mise.toml", "[hooks]\nenter = 'mise run t'"), ("mise-tasks/t", "")], "mise-tasks"),
    ] {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        for (name, text) in texts.iter().chain(&[("x.sh", "")]) {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), text).unwrap();
        }
        assert!(git_pointers(&root, None).contains(&root.join(wanted)), "{texts:?}");
    }
}

#[test]
fn what_is_merely_listed_or_looked_at_is_not_loaded() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    fs::create_dir(root.join("src")).unwrap();
    fs::write(root.join("src/a.js"), "").unwrap();
    fs::write(root.join("gen.py"), "open('./src/a.js')").unwrap();
    fs::write(root.join(".envrc"), "ls src/*\neval \"$(python gen.py)\"\ncat README\n").unwrap();
    assert_eq!(git_pointers(&root, None), [root.join("gen.py")]);
}

#[test]
fn every_text_in_mise_s_settings_may_be_a_file_but_those_of_tasks_that_nothing_starts() {
    for text in [
        "[env]\n_.source = 'x.sh'",
        "[env._]\nsource = [\n  \"./x.sh\",\n]",
        "[env]\nA = \"{{ exec(command='./x.sh') }}\"",
        "[hooks]\nenter = \"./x.sh\"",
        "[hooks.enter]\nscript = \"sh x.sh\"",
        "[tasks.t]\nrun = './x.sh'\n[hooks]\nenter = 'mise run t'",
        "[tasks.t]\nrun = 'make'\n[env]\n_.source = './x.sh'",
        "[env]\nA = \"\"\"\n[tasks]\n\"\"\"\n_.source = './x.sh'",
    ] {
        assert!(is_loaded("mise.toml", text), "{text}");
    }
    for text in ["[tasks.t]\nrun = './x.sh'", "[env]\nA = 'b' # c\n# ./x.sh"] {
        assert!(!is_loaded("mise.toml", text), "{text}");
    }
}

#[test]
fn what_the_shell_loads_and_cannot_be_read_here_leaves_it_open_what_that_names() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    fs::write(root.join(".envrc"), ". ./big\n").unwrap();
    for (start, is_cut) in [("#!/bin/sh\n", true), ("\x7fELF", false)] {
        fs::write(root.join("big"), start).unwrap();
        assert!(!Pointers::of(&root, &root, None).is_cut);
        let file = fs::OpenOptions::new().write(true).open(root.join("big")).unwrap();
        file.set_len(MOST_BYTES + 1).unwrap();
        assert_eq!(Pointers::of(&root, &root, None).is_cut, is_cut, "{start}");
    }
}

#[test]
fn usual_spellings_do_not_hide_what_the_shell_loads() {
    for (texts, wanted) in [
        (&[(".envrc", "dotenv # variables"), (".env", "A=1")][..], ".env"),
        (&[(".envrc", "dotenv 2>/dev/null"), (".env", "A=1")], ".env"),
        (&[(".envrc", "export $(cat vars | xargs)"), ("vars", "A=1")], "vars"),
        (&[(".envrc", "while read l; do export $l; done < vars"), ("vars", "A=1")], "vars"),
        (&[(".envrc", "for f in .env.*; do . \"$f\"; done"), (".env.a", "")], ".env.a"),
        (&[(".envrc", "D=scripts\nsource \"$D\"/y"), ("scripts/y", "")], "scripts/y"),
        (&[(".envrc", "F=scripts/y\nsource \"$F\""), ("scripts/y", "")], "scripts/y"),
        (&[(".envrc", "export F=\"$PWD/y\"\n. $F"), ("y", "")], "y"),
        (&[(".envrc", "if a\nthen F=b\nelse F=y; fi\n. $F"), ("y", "")], "y"),
        (&[(".envrc", "source_env sub"), ("sub/.envrc", ". ./y"), ("sub/y", "")], "sub/y"),
    ] {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        for (name, text) in texts {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), text).unwrap();
        }
        assert!(git_pointers(&root, None).contains(&root.join(wanted)), "{texts:?}");
    }
}

#[test]
fn variables_that_stand_for_themselves_or_often_leave_nothing_open() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    let adding = "export PATH=$PATH:./bin; hash -r\n".repeat(100);
    let value = |it: u32| format!("V{it}=v{it}\n");
    let values: String = (0..100).map(value).collect();
    let text = format!("{adding}{values}F=y\n. $F\nD=src\nls $DATA $V7/x\n");
    fs::write(root.join(".envrc"), text).unwrap();
    fs::write(root.join("y"), "").unwrap();
    fs::create_dir(root.join("v7")).unwrap();
    fs::write(root.join("v7/x"), "").unwrap();
    let found = Pointers::of(&root, &root, None);
    assert_eq!((found.paths, found.is_cut), (vec![root.join("v7/x"), root.join("y")], false));
    let place = |it: u32| format!("$V{it}/");
    let (many, all): (String, String) =
        ((0..30).map(value).collect(), (0..30).map(place).collect());
    fs::write(root.join(".envrc"), format!("{many}. {all}x\n")).unwrap();
    assert!(Pointers::of(&root, &root, None).is_cut);
}

/// Whether a file of a project counts, among others.
fn counts(texts: &[(&str, &str)], wanted: &str) -> bool {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    for (name, text) in texts {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), text).unwrap();
    }
    git_pointers(&root, None).contains(&root.join(wanted))
}

#[test]
fn patterns_at_the_top_stand_for_the_files_there() {
    let files = [("x", ". ./y.txt"), ("a/x", ""), ("a/b/x", ""), ("y.txt", ""), ("a/z.md", "")];
    for (text, wanted) in [
        ("for f in *; do source \"$f\"; done", &["x", "y.txt"][..]),
        ("for f in *;do . $f;done", &["x", "y.txt"]),
        ("for f in ./*\ndo\n  [ -f $f ] && . \"${f}\"\ndone", &["x", "y.txt"]),
        ("source *", &["x", "y.txt"]),
        ("source $PWD/*", &["x", "y.txt"]),
        ("for f in x*; do . $f; done", &["x", "y.txt"]),
        ("for f in */x; do . $f; done", &["a/x"]),
        ("for d in */; do . \"$d/x\"; done", &["a/x", "x", "y.txt"]),
        ("for d in *; do . \"$d/x\"; done", &["a/x", "x", "y.txt"]),
        (". ./*/*/x", &["a/b/x"]),
        ("for f in a/*; do . $f; done", &["a"]),
        ("for f in *; do echo $f; done; . ./a/x", &["a/x"]),
        ("for f in *; do echo $f; done", &[]),
    ] {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        for (name, text) in files.iter().chain(&[(".envrc", text)]) {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), text).unwrap();
        }
        let found = git_pointers(&root, None).into_iter().filter(|it| !it.ends_with(".envrc"));
        let found: Vec<_> = found.collect();
        let wanted: Vec<_> = wanted.iter().map(|name| root.join(name)).collect();
        assert_eq!(found, wanted, "{text}");
        let is_new = |name: &str| names(&root, None, &root.join(name));
        let is_deep = ["in */x", "$d/x"].iter().any(|it| text.contains(it));
        assert_eq!(is_new("c/x"), is_deep, "{text}");
        let is_any = wanted.contains(&root.join("y.txt")) && !text.contains('x');
        assert_eq!(is_new("new"), is_any, "{text}");
    }
}

#[test]
fn what_lies_beside_the_files_of_a_pattern_is_not_read() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    fs::create_dir(root.join("config")).unwrap();
    fs::write(root.join(".envrc"), "for f in config/*.sh; do source \"$f\"; done").unwrap();
    fs::write(root.join("config/a.sh"), ". ./b.inc").unwrap();
    fs::write(root.join("b.inc"), "").unwrap();
    // Neither of these could be read as a whole.
    fs::write(root.join("config/dump.sql"), " ".repeat(2 << 20)).unwrap();
    for number in 0..600 {
        fs::write(root.join(format!("config/{number}.json")), "{}").unwrap();
    }
    let found = Pointers::of(&root, &root, None);
    assert!(!found.is_cut);
    assert!(
        found.paths.contains(&root.join("config")) && found.paths.contains(&root.join("b.inc"))
    );
}

#[test]
fn what_is_run_over_several_lines_is_found() {
    for text in [
        "eval \"$(\n  cat vars\n)\"",
        "eval \\\n  \"$(cat vars)\"",
        "eval \"\n$(grep -v '#' vars)\n\"",
        "export \\\n $(cat vars | xargs)",
        "export $(\n  cat vars  # it's all\n)",
        "# don't\neval `\ncat vars\n`",
        "X=$(cat vars)\neval \"$X\"",
        "X=$(\n  cat vars\n)\neval \"${X}\"",
    ] {
        assert!(counts(&[(".envrc", text), ("vars", "")], "vars"), "{text}");
    }
    for text in [
        "eval \"$(direnv hook)\"\ncat vars",
        "eval \"$(direnv hook)\" # don't\ncat vars",
        "eval 'a \\'\ncat vars",
        "X=$(\n  cat vars\n)\necho $X",
        "X=$(cat vars)\neval \"$Y\"",
    ] {
        assert!(!counts(&[(".envrc", text), ("vars", "")], "vars"), "{text}");
    }
}

#[test]
fn places_of_tasks_count_where_mise_starts_some_by_itself() {
    let hook = "[hooks]\nenter = 'mise run t'\n";
    for (settings, wanted) in [
        ("[task_config]\nincludes = ['ci']", "ci"),
        ("[task_config]\nincludes = [\n  \"other\",\n  \"./ci\",\n]", "ci"),
        ("task_config.includes = [\"{{config_root}}/ci\"]", "ci"),
        ("task_config = { includes = ['ci/all.toml'] }", "ci/all.toml"),
        ("task_config = { includes = ['ci/all.toml'] }", "x.sh"),
        ("[task_config]\nincludes = ['ci/*.toml']", "ci"),
        ("[tasks.t]\nrun = './x.sh'", "x.sh"),
    ] {
        let files = [("ci/t", ""), ("ci/all.toml", "[t]\nrun = './x.sh'"), ("x.sh", "")];
        let both = format!("{settings}\n{hook}");
        let together = [&files[..], &[("mise.toml", &both)]].concat();
        assert!(counts(&together, wanted), "{settings}");
        let alone = [&files[..], &[("mise.toml", settings)]].concat();
        // Any other text in quotes may be a file.
        assert_eq!(counts(&alone, wanted), wanted == "ci/all.toml", "{settings}");
        let apart = [&alone[..], &[("mise.local.toml", hook)]].concat();
        assert!(counts(&apart, wanted), "{settings}");
    }
}

#[test]
fn what_is_listed_or_computed_is_found_where_it_lies() {
    let files = [
        ("a.sh", ""),
        ("sub/env.sh", ""),
        (".env.local", ""),
        ("scripts/a.sh", ""),
        ("services/api/bin/x", ""),
        ("local.inc", ""),
    ];
    for (text, wanted) in [
        ("for f in ./*.sh; do source \"$f\"; done", "a.sh"),
        ("for f in \"$PWD\"/*.sh; do source \"$f\"; done", "a.sh"),
        ("source ./*.sh", "a.sh"),
        ("for f in */env.sh; do . \"$f\"; done", "sub/env.sh"),
        ("for f in ./*/env.sh; do . \"$f\"; done", "sub/env.sh"),
        ("for f in .env.*; do dotenv \"$f\"; done", ".env.local"),
        ("for f in \\\n  scripts/*.sh; do . $f; done", "scripts"),
        ("for f in $(ls scripts); do . scripts/$f; done", "scripts"),
        ("for f in $(find scripts -name '*.sh'); do . $f; done", "scripts"),
        ("find scripts -name \"*.sh\" | while read f; do . \"$f\"; done", "scripts"),
        ("while read -r f; do\n. \"$f\"\ndone < <(find scripts)", "scripts"),
        ("for f in a b; do . ./$f.sh; done", "a.sh"),
        ("for f in {a,b}.sh; do . ./$f; done", "a.sh"),
        ("source .env.${ENV:-local}", ".env.local"),
        ("L=(local.inc b)\nfor f in \"${L[@]}\"; do . $f; done", "local.inc"),
        ("L=(\n  b\n  local.inc\n)\n. ${L[*]}", "local.inc"),
        ("F=$D/a.sh\nD=scripts\n. $F", "scripts/a.sh"),
        ("load() { [ -f \"$1\" ] && . \"$1\"; }\nload local.inc", "local.inc"),
    ] {
        assert!(counts(&[&files[..], &[(".envrc", text)]].concat(), wanted), "{text}");
    }
    for (text, other) in [
        ("source $HOME/.nvm/nvm.sh\nfor d in services/*/bin; do PATH_add \"$d\"; done", "services"),
        ("source $HOME/env.sh", "sub/env.sh"),
        ("source $PWD/env.sh", "sub/env.sh"),
        ("source \"$(dirname x)/b\"\ncat local.inc", "local.inc"),
        ("for f in b c; do . ./$f.sh; done", "a.sh"),
        ("cp -r . scripts; echo $X", "scripts"),
        ("cp -r \"$PWD\" scripts; . ./b", "scripts"),
    ] {
        assert!(!counts(&[&files[..], &[(".envrc", text)]].concat(), other), "{text}");
    }
}

#[test]
fn texts_that_would_take_for_ever_leave_it_open_what_they_name() {
    let lines = |line: &dyn Fn(u32) -> String| (0..12_000).map(line).collect::<String>();
    for (text, is_cut) in [
        (lines(&|it| format!(". q{it}*z\n")), true),
        (lines(&|it| format!(". e.d/q{it}*z\n")), true),
        (format!(". {}$q\n{}", "x".repeat(100_000), lines(&|it| format!("b{it}=1\n"))), true),
        (format!(". {}$b1\n{}", "x".repeat(100_000), lines(&|it| format!("b1={it}\n"))), true),
        (format!("read {}", lines(&|it| format!("a{it} "))), true),
        (lines(&|it| format!("eval $a{it}\n")), true),
        (lines(&|it| format!("for a in for b{it} in ")), true),
        (". *\n. */*\n. *.a\n. *.b\n. ./*.c\nfor f in x*; do . $f; done\n".to_owned(), false),
    ] {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        for number in 0..200 {
            fs::write(root.join(format!("{number}.txt")), "").unwrap();
        }
        fs::write(root.join(".envrc"), &text).unwrap();
        assert_eq!(Pointers::of(&root, &root, None).is_cut, is_cut, "{}", &text[..20]);
    }
}
