//! Which files command lines lead to.

use super::*;
use crate::trust::snapshot::Snapshot;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn paths(root: &Path) -> Vec<String> {
    let snapshot = Snapshot::read(root).unwrap();
    let is_named = |entry: &&Entry| entry.part.is_named && entry.part.kind == Kind::File;
    let named = snapshot.entries.iter().filter(is_named);
    named.map(|entry| entry.part.path.clone()).collect()
}

#[test]
fn what_command_lines_name_counts_and_what_that_names_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let hooks = "hooks:\n  a:\n    - {command: './h.sh >> hooks.log'}\n    - {script: ../h2.py}\n\
                 \x20   - {command: 'make check'}\n";
    write(&root, ".brynhild/hooks.yaml", hooks);
    let servers = format!(
        r#"{{"mcpServers": {{"a": {{"command": "node", "args": ["{}/m.js", "${{X}}/conf.json", "two words"]}}}}}}"#,
        root.display()
    );
    write(&root, ".mcp.json", &servers);
    for (path, text) in [
        ("h.sh", "#!/bin/sh\n. ./lib/common.sh; cat notes.txt src/main.rs\n"),
        ("lib/common.sh", "python3 -m tool.deep\n"),
        ("tool/deep.py", "import helper\n"),
        ("tool/helper.py", ""),
        ("h2.py", "from package import x\n"),
        ("package/__init__.py", ""),
        ("m.js", "require('./side')"),
        ("side.js", ""),
        ("conf.json", "{}"),
        ("two words", ""),
        ("Makefile", "check:\n"),
        ("hooks.log", "x"),
        ("notes.txt", "x"),
        ("src/main.rs", ""),
        ("other.sh", ""),
    ] {
        write(&root, path, text);
    }
    let wanted = [
        "Makefile",
        "conf.json",
        "h.sh",
        "h2.py",
        "lib/common.sh",
        "m.js",
        "package/__init__.py",
        "side.js",
        "tool/deep.py",
        "tool/helper.py",
        "two words",
    ];
    assert_eq!(paths(&root), wanted);
}

/// Without a memory of where it was, the search would take as long as the levels to the power
/// of two, and a text of blanks as long as its square.
#[test]
fn links_in_circles_and_long_texts_of_nothing_end() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let hooks =
        format!("hooks: {{a: [{{command: 'sh lib/$m/{}x.sh; ./y.sh'}}]}}\n", "a/".repeat(60));
    write(&root, ".brynhild/hooks.yaml", &hooks);
    write(&root, "lib/x.sh", "");
    for name in ["a", "b", "c"] {
        std::os::unix::fs::symlink(".", root.join("lib").join(name)).unwrap();
    }
    std::os::unix::fs::symlink("/", root.join("lib/all")).unwrap();
    let nothing = [" ", "${a}", "`a`", "'"].map(|it| it.repeat((1 << 19) / it.len())).concat();
    write(&root, "y.sh", &nothing);
    assert_eq!(paths(&root), ["lib/x.sh", "y.sh"]);
}

/// Finds of each command line just these files, and no others beside them.
fn assert_followed(shapes: &[(&str, &[(&str, &str)])]) {
    for (command, files) in shapes {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let hooks = serde_json::json!({"hooks": {"a": [{"command": command}]}});
        write(&root, ".brynhild/hooks.yaml", &hooks.to_string());
        write(&root, "other.txt", "");
        write(&root, "far/other.py", "");
        for (path, text) in *files {
            write(&root, path, text);
        }
        let mut wanted: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
        wanted.sort_unstable();
        assert_eq!(paths(&root), wanted, "{command}");
    }
}

#[test]
fn every_usual_way_to_name_a_script_is_followed() {
    let shapes: &[(&str, &[(&str, &str)])] = &[
        ("./h.sh", &[("h.sh", ". \"$(dirname \"$0\")/lib.sh\""), ("lib.sh", "")]),
        ("cd tools && ./x.sh", &[("tools/x.sh", "")]),
        ("\"$PWD\"/x.sh", &[("x.sh", "")]),
        ("sh ./x.s*", &[("x.sh", "")]),
        ("PATH=./bin:$PATH foo", &[("bin/foo", "#!/bin/sh")]),
        ("python3 -m tools.h", &[("tools/h.py", "")]),
        ("python3 -m tools", &[("tools/__main__.py", "")]),
        ("python3 tools", &[("tools/__main__.py", "")]),
        ("python3 -c \"import x\"", &[("x.py", "")]),
        ("python3 h.py", &[("h.py", "from lib import x"), ("lib/x.py", "")]),
        ("python3 h.py", &[("h.py", "from p import (\n x,\n)"), ("p/x.py", "")]),
        (
            "python3 h.py",
            &[("h.py", "import lib.helper"), ("lib/__init__.py", ""), ("lib/helper.py", "")],
        ),
        ("python3 h.py", &[("h.py", "exec(open('x.txt').read())"), ("x.txt", "")]),
        ("make hook", &[("Makefile", "include m.mk"), ("m.mk", "")]),
        (
            "node h.js",
            &[
                ("h.js", "require(\"dep\")"),
                ("node_modules/dep/package.json", "{\"main\": \"lib/a.js\"}"),
                ("node_modules/dep/lib/a.js", ""),
            ],
        ),
        ("node h.js", &[("h.js", "require(\"dep\")"), ("node_modules/dep/index.js", "")]),
        ("run-parts hooks.d", &[("hooks.d/a", "#!/bin/sh"), ("hooks.d/b", "#!/bin/sh")]),
        ("node .", &[("package.json", "{\"main\": \"m.js\"}"), ("m.js", "")]),
        ("node ./srv", &[("srv/package.json", "{\"main\": \"m\"}"), ("srv/m.js", "")]),
        ("python3 .", &[("__main__.py", "")]),
        ("perl -Ilib -MY::Z -e1", &[("lib/Y/Z.pm", "")]),
        ("git -c alias.z='!./x.sh' z", &[("x.sh", "")]),
        (
            "bash x.sh",
            &[
                ("x.sh", "for m in a b; do . lib/$m.sh; . \"parts/${m}/go.sh\"; done"),
                ("lib/a.sh", ""),
                ("lib/b.sh", ""),
                ("parts/a/go.sh", ""),
            ],
        ),
        ("bash tools/x.sh", &[("tools/x.sh", ". \"$(dirname \"$0\")/$m.sh\""), ("tools/y.sh", "")]),
        (
            "node x.js",
            &[
                (
                    "x.js",
                    "readdirSync(\"lib\").forEach(f => require(\"./lib/\" + f)); \
                     import(`./more/${n}`)",
                ),
                ("lib/y.js", ""),
                ("more/z.js", ""),
            ],
        ),
        (
            "python3 x.py",
            &[
                ("x.py", "for n in os.listdir('lib'): importlib.import_module('lib.' + n)"),
                ("lib/y.py", ""),
            ],
        ),
    ];
    assert_followed(shapes);
}

#[test]
fn names_behind_signs_and_search_paths_and_in_packages_are_followed() {
    let shapes: &[(&str, &[(&str, &str)])] = &[
        (
            "node t/x.mjs",
            &[
                ("package.json", "{\"imports\": {\"#y\": \"./t/y.mjs\"}}"),
                ("t/x.mjs", "import '#y'"),
                ("t/y.mjs", ""),
            ],
        ),
        (
            "node t/x.mjs",
            &[
                ("package.json", "{\"name\": \"me\", \"exports\": \"./t/y.mjs\"}"),
                ("t/x.mjs", "import 'me'"),
                ("t/y.mjs", ""),
            ],
        ),
        ("node --test t/", &[("t/a.test.js", "")]),
        ("NODE_PATH=u node x.js", &[("u/zz.js", ""), ("x.js", "require(name)")]),
        ("sh t/my\\ x.sh", &[("t/my x.sh", "")]),
        ("sh t/x\\.sh", &[("t/x.sh", "sh u/my\\ y.sh"), ("u/my y.sh", "")]),
        ("./x", &[("t/interp", "#!/bin/sh"), ("x", "#!./t/interp")]),
        ("sh x.sh", &[("u/y.sh", ""), ("x.sh", ". \"${CFG:-u/y.sh}\"")]),
    ];
    assert_followed(shapes);
}

#[test]
fn what_a_script_loads_or_gives_to_an_interpreter_counts_whatever_it_looks_like() {
    let shapes: &[(&str, &[(&str, &str)])] = &[
        ("sh h.sh", &[("h.sh", "here=$(dirname \"$0\")\n. \"$here/sub/lib\""), ("sub/lib", "")]),
        ("sh t/h.sh", &[("t/h.sh", ". \"${0%/*}/lib\""), ("t/lib", ". ./more"), ("t/more", "")]),
        ("sh h.sh", &[("h.sh", ". lib/$name"), ("lib/a", ""), ("lib/b.txt", "")]),
        ("sh h.sh", &[("cmds", ""), ("h.sh", "xargs -a cmds sh -c")]),
        ("sh h.sh", &[("cmds", ""), ("h.sh", "cat cmds | sh")]),
        ("Rscript x.R", &[("x.R", "source(\"y.R\"); source(\"z\")"), ("y.R", ""), ("z", "")]),
        ("make x", &[("Makefile", "include settings"), ("settings", "")]),
    ];
    assert_followed(shapes);
}

#[test]
fn a_script_of_javascript_that_loads_its_own_package_leads_to_what_that_names() {
    for (script, says) in [
        ("lib/a.js", "require('..')"),
        ("lib/a.js", "require(\"../\")"),
        ("lib/a.js", "import x from '..'"),
        ("lib/b/a.js", "export * from '../..'"),
        ("a.js", "require('.')"),
        ("a.js", "require('./')"),
        ("lib/a.js", "require('./..')"),
    ] {
        for (file, text) in [("package.json", r#"{"main": "deep/y.js"}"#), ("index.js", "")] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            let hook = format!("hooks: {{a: [{{command: 'node {script}'}}]}}");
            for (path, text) in [
                (".brynhild/hooks.yaml", hook.as_str()),
                (script, says),
                (file, text),
                ("deep/y.js", ""),
            ] {
                write(&root, path, text);
            }
            let found = paths(&root);
            let wanted = if file == "index.js" { file } else { "deep/y.js" };
            let has = |path: &str| found.iter().any(|it| it == path);
            assert!(has(file) && has(wanted), "{script} {says} {file}: {found:?}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (path, text) in [
        (".brynhild/hooks.yaml", "hooks: {a: [{command: python3 lib/a.py}]}"),
        ("lib/a.py", "import sys\nsys.exit('..' in sys.argv[1].split('.'))"),
        ("package.json", "{}"),
    ] {
        write(&root, path, text);
    }
    assert_eq!(paths(&root), ["lib/a.py"]);
}

#[test]
fn folders_of_modules_that_another_text_names_are_looked_into() {
    let shapes: &[(&str, &[(&str, &str)])] = &[
        ("perl -Ilib x.pl", &[("lib/Foo/Bar.pm", ""), ("x.pl", "use Foo::Bar;")]),
        (
            "perl x.pl; sh y.sh",
            &[
                ("lib/Foo/Bar.pm", ""),
                ("x.pl", "use Foo::Bar;"),
                ("y.sh", "PERL5LIB=$PWD/lib perl x.pl"),
            ],
        ),
        ("python3 -m a.b.h", &[("a/b/h.py", "from ..c import z"), ("a/c/z.py", "")]),
    ];
    assert_followed(shapes);
}

#[test]
fn names_are_found_in_the_ways_in_which_people_write_them() {
    for (line, file) in [
        ("python3 -m lib.b", "lib/b.py"),
        ("python3 -mlib.b", "lib/b.py"),
        ("\"$CLAUDE_PROJECT_DIR\"/scripts/a.sh", "scripts/a.sh"),
        ("sh ${CLAUDE_PLUGIN_ROOT}/../scripts/a.sh", "scripts/a.sh"),
        ("sh \"scripts\"/a.sh", "scripts/a.sh"),
        ("cd tools && sh a1.sh", "tools/a1.sh"),
        ("(cd tools; ./a1.sh)", "tools/a1.sh"),
        ("make -C tools x", "tools/Makefile"),
        ("npm --prefix tools run x", "tools/package.json"),
        ("D=lib; sh $D/a.sh", "lib/a.sh"),
        ("for f in lib/*.sh; do sh $f; done", "lib/a.sh"),
        ("sh $(dirname $0)/../scripts/a.sh", "scripts/a.sh"),
        ("task go", "Taskfile.yml"),
        ("\"$PWD\"/x.sh", "x.sh"),
        ("sh ./x.s*", "x.sh"),
        ("PATH=./bin:$PATH foo", "bin/foo.sh"),
        ("python3 tools", "tools/__main__.py"),
        ("python3 -c \"import x\"", "x.py"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let hooks = serde_json::json!({"hooks": {"a": [{"command": line}]}});
        write(&root, ".brynhild/hooks.yaml", &hooks.to_string());
        write(&root, file, "");
        write(&root, "unrelated/z.sh", "");
        assert_eq!(paths(&root), [file], "{line}");
    }
}

#[test]
fn a_server_s_own_folder_and_a_script_s_neighbours_count() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let server =
        r#"{"mcpServers": {"a": {"command": "python3", "args": ["s.py"], "cwd": "tools"}}}"#;
    write(&root, ".mcp.json", server);
    write(&root, "tools/s.py", "");
    write(&root, ".brynhild/hooks.yaml", "hooks: {a: [{command: sh s/o.sh}]}\n");
    write(&root, "s/o.sh", ". \"$(dirname \"$0\")/p1.sh\"\n. \"$(dirname \"$0\")\"/p2.sh\n");
    write(&root, "s/p1.sh", "");
    write(&root, "s/p2.sh", "cd deep && ./in.sh\n");
    write(&root, "s/deep/in.sh", "python3 h.py\nmake -f ../m.mk\n");
    write(&root, "s/deep/h.py", "from lib import (\n  x,\n)\nimport q.r\n");
    write(&root, "s/deep/lib/x.py", "");
    write(&root, "s/deep/q/__init__.py", "");
    write(&root, "s/deep/q/r.py", "");
    write(&root, "s/m.mk", "");
    let wanted = [
        "s/deep/h.py",
        "s/deep/in.sh",
        "s/deep/lib/x.py",
        "s/deep/q/__init__.py",
        "s/deep/q/r.py",
        "s/m.mk",
        "s/o.sh",
        "s/p1.sh",
        "s/p2.sh",
        "tools/s.py",
    ];
    assert_eq!(paths(&root), wanted);
}

#[test]
fn nothing_outside_of_the_project_is_named_and_links_count_by_where_they_lead() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let root = base.join("w");
    write(&base, "outside.sh", "");
    write(&root, "real.sh", "");
    std::os::unix::fs::symlink("real.sh", root.join("link.sh")).unwrap();
    std::os::unix::fs::symlink("../outside.sh", root.join("out.sh")).unwrap();
    let hooks = "hooks: {a: [{command: './link.sh ../outside.sh ./out.sh /etc/passwd'}]}\n";
    write(&root, ".brynhild/hooks.yaml", hooks);
    assert_eq!(paths(&root), ["real.sh"]);
}

#[test]
fn links_that_lead_out_of_the_project_or_nowhere_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let root = base.join("w");
    write(&base, "outside.py", "");
    write(&root, "h.py", "exec('a.sh'); exec('b.sh')");
    write(&root, ".brynhild/hooks.yaml", "hooks: {a: [{command: python3 h.py}]}\n");
    for (link, target) in
        [("a.sh", "../outside.py"), ("b.sh", "none"), ("json.py", "../outside.py")]
    {
        std::os::unix::fs::symlink(target, root.join(link)).unwrap();
    }
    let outward: Vec<String> = Snapshot::read(&root).unwrap().outward.into_iter().collect();
    assert_eq!(outward, ["a.sh", "b.sh", "json.py"]);
}

#[test]
fn a_text_that_names_too_many_folders_is_not_followed_in_part() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let folders: Vec<String> = (0..=MOST_FOLDERS).map(|number| format!("d{number}")).collect();
    for folder in &folders {
        fs::create_dir(root.join(folder)).unwrap();
    }
    write(&root, ".brynhild/hooks.yaml", "hooks: {a: [{command: sh h.sh}]}\n");
    write(&root, "h.sh", &folders[1..].join(" "));
    assert_eq!(paths(&root), ["h.sh"]);
    write(&root, "h.sh", &folders.join(" "));
    assert!(Snapshot::read(&root).unwrap_err().contains("more than 128 folders"));
}

/// What does not count can become what does without another name in its folder.
#[test]
fn files_that_do_not_count_are_among_what_was_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    write(&root, ".brynhild/hooks.yaml", "hooks: {a: [{command: 'node sub/h.js'}]}\n");
    write(&root, "sub/h.js", "if (fs.existsSync('./tool')) run('./tool')\n");
    write(&root, "sub/tool", "x");
    write(&root, "sub/package.json", "{}");
    write(&root, "sub/other", "x");
    let snapshot = Snapshot::read(&root).unwrap();
    assert_eq!(paths(&root), ["sub/h.js"]);
    for (path, is_looked_at) in [("tool", true), ("package.json", true), ("other", false)] {
        let path = root.join("sub").join(path);
        assert_eq!(snapshot.looked.contains(&path), is_looked_at, "{}", path.display());
    }
}

/// The names in a folder stand for all that is not in it.
#[test]
fn folders_that_are_not_there_are_not_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    write(&root, ".brynhild/hooks.yaml", "hooks: {a: [{command: 'sh h.sh'}]}\n");
    write(&root, "h.sh", "sh gone/away.sh; cat lost/found/a; sh ./far/off.sh\n");
    let looked = Snapshot::read(&root).unwrap().looked;
    assert!(looked.contains(&root) && !looked.contains(&root.join("gone")), "{looked:?}");
    write(&root, "gone/away.sh", "");
    assert_eq!(paths(&root), ["gone/away.sh", "h.sh"]);
}
