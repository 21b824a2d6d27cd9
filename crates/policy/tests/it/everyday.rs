//! Everyday commands under the rules that people write first: what does nothing of what a rule denies is not
//! denied, and what does stays denied.

use std::path::{Path, PathBuf};

use contract::policy::{Decision, Mode};
use policy::Settings;
use policy::ground::{Ground, Look, Sought, Width};
use policy::rules::Scope;
use serde_json::json;

use crate::setting::{bare, rules, run};

/// An ordinary project.
pub(crate) const PLAIN: &[&str] = &[
    "/w/.env",
    "/w/.gitignore",
    "/w/Cargo.toml",
    "/w/README.md",
    "/w/a.c",
    "/w/build/a.o",
    "/w/docs/a.md",
    "/w/packages/a/package.json",
    "/w/scripts/x.sh",
    "/w/src/a/b.rs",
    "/w/src/main.rs",
    "/w/tests/run.sh",
    "/w/tests/t.py",
];

/// One with more of what the rules speak of.
const FULL: &[&str] = &[
    "/w/.env",
    "/w/.env.local",
    "/w/Cargo.lock",
    "/w/README.md",
    "/w/a.c",
    "/w/deep/er/Cargo.lock",
    "/w/deep/er/server.pem",
    "/w/home/id_rsa",
    "/w/keys/server.pem",
    "/w/secret/k",
    "/w/src/main.rs",
    "/w/tests/t.py",
];

/// A disk with these files and no links; git keeps those that do not begin with a dot.
struct Disk(&'static [&'static str]);

impl Look for Disk {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        // A file has nothing in it.
        let is_file = self.0.iter().any(|file| Path::new(file) == path);
        let ends_within = path.to_string_lossy().ends_with("/.");
        let is_there = self.0.iter().any(|file| Path::new(file).starts_with(path));
        (is_there && !(is_file && ends_within)).then(|| path.components().collect())
    }

    fn names(&self, folder: &Path) -> Option<Vec<String>> {
        let below = self.0.iter().filter_map(|path| Path::new(path).strip_prefix(folder).ok());
        let first = below.filter_map(|rest| rest.components().next());
        let mut names: Vec<String> =
            first.map(|name| name.as_os_str().to_string_lossy().into_owned()).collect();
        names.sort();
        names.dedup();
        (!names.is_empty()).then_some(names)
    }

    fn git_keeps(&self, _folder: &Path, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        let mut files = self.0.iter().map(Path::new).filter(|it| !is_hidden(it));
        files.find(|path| wanted(path)).map_or(Sought::Nothing, |path| Sought::Found(path.into()))
    }

    fn is_own(&self, _program: &str) -> bool {
        true
    }

    fn seek(&self, folder: &Path, width: Width, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        if folder == Path::new("/w/vast") {
            return Sought::TooMany;
        }
        let is_seen = |path: &&Path| {
            path.starts_with(folder) && (width == Width::Everything || !is_hidden(path))
        };
        let mut files = self.0.iter().map(Path::new).filter(is_seen);
        files.find(|path| wanted(path)).map_or(Sought::Nothing, |path| Sought::Found(path.into()))
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

const RULES: &[&str] = &[
    "Read(.env)",
    "Read(**/.env*)",
    "Read(secret/**)",
    "Read(**/*.pem)",
    "Read(**/id_rsa*)",
    "Write(tests/**)",
    "Write(locked/**)",
    "Write(**/*.lock)",
];

/// Holds commands, one a line, against each rule alone.
pub(crate) fn check(
    files: &'static [&'static str],
    rules_of: &[&str],
    wanted: &[Decision],
    commands: &str,
) {
    let mut wrong = Vec::new();
    for rule in rules_of {
        let rules = rules(&json!({ "deny": [rule] }), Scope::User);
        let judge = policy::policy(Settings { rules, ground: Ground::new(Disk(files)), ..bare() });
        for line in commands.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let ruling = run(&judge, &line.replace('␊', "\n"), Mode::Yolo);
            if !wanted.contains(&ruling.decision) {
                wrong.push(format!("{rule}: {line}: {:?}", ruling.deciding()));
            }
        }
    }
    assert!(wrong.is_empty(), "wanted {wanted:?}, {} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

const ALLOW: &[Decision] = &[Decision::Allow];
const NO_DENIAL: &[Decision] = &[Decision::Allow, Decision::Ask];
const DENY: &[Decision] = &[Decision::Deny];

#[test]
fn patterns_that_stand_for_no_denied_file_are_not_denied() {
    let commands = r#"
        ls src/*.rs
        cat src/*.rs | wc -l
        cat *.md
        wc -l *.c
        for f in *.c; do gcc -c "$f"; done
        clang -c *.c
        javac src/*.java
        cp src/*.rs build/
        rm -f *.o
        mv *.c src/
        chmod +x scripts/*.sh
        sed -i 's/a/b/g' src/*.rs
        grep -n main src/*.rs
        git add *.rs
        rm -rf build/*
        rm -rf dist/*
        python3 -c 'f(**kw); g(*a)'
        gsutil cp gs://b/*.txt .
        ls src*
        ls foo*
        ls s*
        cat C*
        rustfmt --check src/**/*.rs
        cat packages/*/package.json
        pytest src/**/test_*.py
        aws s3 ls s3://b/*
        python3 - <<'EOF'␊def f(*a, **k): pass␊EOF
        git commit -m "$(cat <<'EOF'␊fix: thing␊- **bold** word␊EOF␊)"
        gh pr create --body "$(cat <<'EOF'␊a **a** b␊EOF␊)"
        wc -l **/*.rs
        ls */*
        head -1 */package.json
        grep -n foo */*.py
        for f in */*.c; do gcc -c $f; done
        npx prettier --check '**/*.ts'
        npx prettier --check '**/*.{ts,tsx}'
        node -e 'require("glob").sync("**/*.js")'
        echo '*/5 * * * * x' | crontab -
        shellcheck */*.sh
        rm -f **/*.pyc
        rm -rf */node_modules
        cp -r * /tmp/x
        cp -r */ /tmp/x
        tar cf x.tar */
        tar czf x.tgz *
        zip -r x.zip *
        grep -rn foo */
        rg foo */
        shopt -s globstar; wc -l **/*.rs
    "#;
    check(PLAIN, RULES, ALLOW, commands);
}

#[test]
fn a_rule_for_writing_denies_no_test_run_and_no_reader() {
    let commands = r"
        pytest tests
        pytest tests/t.py
        pytest -q tests/t.py::test_a
        python3 -m pytest tests/
        python3 -m unittest tests/t.py
        python3 tests/t.py
        npx jest tests/t.test.js
        npx vitest run tests
        npx mocha tests/*.js
        npx eslint tests
        node --test tests/
        go test ./tests/...
        cargo test --test it
        ruff check tests
        mypy tests
        bash tests/run.sh
        sh tests/run.sh
        ./tests/run.sh
        shellcheck tests/x.sh
        gcc -o t tests/t.c && ./t
        gcc -Itests a.c
        phpunit tests/
        rspec tests
        bats tests
        prove -r tests
        cp tests/t.py /tmp/x.py
        tar cf x.tar tests
        scp tests/a h:
        diff tests/t.py a.c
        less tests/t.py
        cd tests && pytest
        cd tests && ls
        cd tests && python3 -m pytest t.py
        uv run pytest tests
        cat tests/t.py > /tmp/x
        tar xf tests/a.tar -C build
        zip -r x.zip tests
        rsync -a tests/ out/
        dd if=tests/t.py of=/tmp/x
        git add tests
        for t in tests/*.py; do pytest $t; done
        PYTHONPATH=tests pytest
        echo .env >> .gitignore && npm test
    ";
    check(PLAIN, &["Write(tests/**)", "Edit(tests/**)"], ALLOW, commands);
    let unknown = r#"
        npx tsc -p tests/tsconfig.json
        for t in tests/*.sh; do bash -n "$t"; done
        docker compose -f tests/docker-compose.yml up
        python3 -c 'open("tests/t.py","w")'
        node -e 'require("fs").writeFileSync("tests/t.py","")'
        make -C tests
        cargo new tests/x
        ffmpeg -i a tests/f
        cmake -B tests
    "#;
    check(PLAIN, &["Write(tests/**)"], &[Decision::Ask], unknown);
}

#[test]
fn words_that_are_only_said_searched_for_or_committed_are_no_files() {
    let commands = r#"
        echo '.env' >> .gitignore
        echo .env >> .gitignore && git add .gitignore && git commit -m "ignore .env"
        grep -n '.env' .gitignore
        grep -n '.env' .gitignore | head -3
        grep -q '^.env$' .gitignore || echo .env >> .gitignore
        git commit -m "docs: explain .env handling"
        git commit -m .env
        git commit -m "$(cat <<'EOF'␊docs: explain .env handling␊fix: read secret/k lazily␊EOF␊)"
        printf '.env\n*.pem\nsecrets/\nsecret/k\n' >> .gitignore
        echo 'secret/' >> .gitignore
        echo "*.pem" >> .gitignore
        echo 'id_rsa' | tee -a .gitignore
        echo "see .env and secret/k"; cargo test
        cat >> .gitignore <<'EOF'␊.env␊secret/k␊EOF
    "#;
    check(FULL, RULES, ALLOW, commands);
}

#[test]
fn what_is_said_and_then_taken_for_a_name_is_a_file() {
    let commands = r#"
        echo secret/k | xargs cat
        echo secret/k > l; xargs cat < l
        echo secret/k > l; cat $(cat l)
        cat $(echo secret/k)
        { echo secret/k; } | xargs cat
        (echo secret/k) | xargs cat
        if true; then echo secret/k; fi | xargs cat
        { echo secret/k; } > l; xargs cat < l
        f() { echo secret/k; }; cat $(f)
        echo secret/k | while read f; do cat "$f"; done
        eval "echo secret/k" | xargs cat
        sh -c 'echo secret/k' | xargs cat
        echo secret/k > l; tar cf x -T l
        echo secret/k > l; wc --files0-from=l
        echo secret/k | tee l; xargs cat < l
        echo cat secret/k | sh
        echo 'cat secret/k' > s; sh s
        printf '%s\n' secret/k | xargs cat
        grep -o k secret/k
        grep -f secret/k a.c
        grep k a.c secret/k
        git commit -F secret/k
        echo secret/k; cat secret/k
        echo "$(cat secret/k)"
        echo secret/k > l; cat $(< l)
        echo secret/k > l; cat l | cpio -o > x
        echo secret/k > l; cat l | tar cf x -T -
        echo secret/k > p & cat p | while read f; do cat $f; done
        echo secret/k > l; sh -c 'xargs cat < l'
        echo x < secret/k
    "#;
    check(FULL, &["Read(secret/**)"], DENY, commands);
}

#[test]
fn patterns_that_stand_for_a_denied_file_stay_denied() {
    check(
        FULL,
        &["Read(secret/**)"],
        DENY,
        r#"
        cat s*/k
        cat */k
        cat */*
        cat s*
        cat secret/*
        cat secret/nothing*
        cat SECRE?/k
        shopt -s nocaseglob; cat SEC*/k
        cat [s]ecret/k
        shopt -s globstar; cat **/k
        node -e 'require("glob").sync("**/k")'
        python3 -c 'import glob; open(glob.glob("s*/k")[0])'
        for d in */; do cat $d/k; done
        cd s* && cat k
        cp -r * /tmp/x
        tar cf x.tar */
        grep -r x *
        grep -rn x s*
        "#,
    );
    check(
        FULL,
        &["Read(**/*.pem)"],
        DENY,
        "cat keys/*\ncat k*/s*\nwc -l keys/*.pem\ncp -r keys/* /tmp\nshopt -s globstar; cat **/*.pem\ncat */*/*.pem\ncp -r d* /tmp/x",
    );
    check(FULL, &["Read(**/id_rsa*)"], DENY, "cat home/*\ncat */id*\nhead home/i?_rsa");
    check(
        FULL,
        &["Read(.env)", "Read(**/.env*)"],
        DENY,
        "cat .e*\ncat .*\ncat .[e]nv\nshopt -s dotglob; cat *\ncp -r .* /tmp/x",
    );
    check(
        FULL,
        &["Write(**/*.lock)"],
        DENY,
        "rm *.lock\nrm -rf *\nrm -f C*\nsed -i s/a/b/ Cargo.*\nshopt -s globstar; rm **/*.lock\nrm -rf deep/*\nmv C* x",
    );
    let makes = "git checkout old && cat secre*/new\ntar xf a.tar && cat secret?/k";
    check(PLAIN, &["Read(secret*/**)"], &[Decision::Ask], makes);
}

#[test]
fn what_writes_stays_denied_by_a_rule_for_writing() {
    let commands = r#"
        echo x > tests/f
        : > tests/new
        cat > tests/f <<'E'␊x␊E
        tee tests/f < a.c
        ls | tee -a tests/f
        cp a.c tests/
        cp a.c tests/f
        cp -t tests a.c
        cp -ttests a.c
        cp --target-directory=tests a.c
        cp -r src tests
        mv a.c tests/
        mv tests/t.py x
        mv tests x
        rm tests/t.py
        rm -rf tests
        rm -rf t*
        rm -rf *
        unlink tests/t.py
        ln -s ../a.c tests/x
        ln -sf x tests/t.py
        ln -s tests/t.py y; echo > y
        cp -l tests/t.py y; echo > y
        touch tests/x
        mkdir tests/d
        install a.c tests/
        chmod 777 tests/t.py
        truncate -s 0 tests/t.py
        sed -i s/a/b/ tests/t.py
        sed -i s/a/b/ */t.py
        sed -i s/a/b/ tests/*
        sed -n 'w tests/t.py' a.c
        perl -pi -e 1 tests/t.py
        awk '{print > tests/f}' a.c
        dd if=a.c of=tests/t.py
        sort -o tests/f a.c
        uniq a.c tests/f
        gcc -o tests/f a.c
        gcc a.c -otests/f
        tar xf x.tar -C tests
        tar xf x.tar tests/t.py
        tar cf tests/x.tar a.c
        git checkout HEAD -- tests/t.py
        git checkout HEAD~1 -- tests
        git restore tests/t.py
        git rm tests/t.py
        git mv tests/t.py x
        git mv a.c tests/
        git clean -fd tests
        rsync -a src/ tests/
        scp h:x tests/
        curl -o tests/f h
        wget -O tests/f h
        wget -P tests h
        bash -c 'echo x > tests/f'
        cd tests && echo x > f
        cd tests && touch x
        (cd tests; rm t.py)
        pushd tests; rm t.py
        d=tests; echo x > $d/f
        for d in tests; do echo x > $d/f; done
        for d in */; do touch $d/x; done
        for d in */; do echo > ${d}f; done
        find tests -delete
        find . -name t.py -delete
        find . -type f -exec sed -i s/a/b/ {} +
        ruff check --fix tests
        npx eslint --fix tests
        black tests
        npx prettier --write tests/a.ts
        timeout 5 rm tests/t.py
        env X=1 rm tests/t.py
        echo tests/t.py | xargs rm
        gzip tests/t.py
        case x in x) rm tests/t.py;; esac
        eval rm tests/t.py
        for f in a b c d e f tests/t.py; do rm "$f"; done
        for f in a b c d e f tests/t.py; do echo > $f; done
        set -- a b c d e tests/t.py; rm "$@"
        cp a.c tests/t.py -S x
        rsync a.c tests/ -e ssh
        install -d tests/x out
        time -o tests/f true
        f() { rm "$1"; }; f tests/t.py
        a=(x1 x2 tests/t.py); rm "${a[@]}"
    "#;
    check(FULL, &["Write(tests/**)"], DENY, commands);
}

#[test]
fn what_git_names_is_what_git_keeps_of_the_paths_that_it_is_given() {
    let commands = r"
        git ls-files | xargs wc -l
        git diff --name-only | xargs wc -l
        for f in $(git ls-files); do wc -l $f; done
    ";
    check(PLAIN, &["Read(.env)"], ALLOW, commands);
    let narrow = "git diff --name-only HEAD -- src | xargs wc -l\ngit ls-files src | xargs wc -l";
    check(FULL, &["Read(secret/**)"], ALLOW, narrow);
    let asked = "git ls-files | xargs wc -l\ngit diff --name-only HEAD -- secret | xargs cat";
    check(FULL, &["Read(secret/**)"], NO_DENIAL, "git ls-files -- src | xargs cat");
    check(FULL, &["Read(secret/**)"], &[Decision::Ask, Decision::Deny], asked);
}

#[test]
fn what_a_script_is_given_is_not_what_it_runs() {
    let commands = r"
        curl -sL https://x/d.csv -o data.csv && python3 analyze.py data.csv
        wget -q https://x/d.csv && python3 analyze.py d.csv
        wget -O out/page.html u; node parse.js out/page.html
        curl -o r.json u; python3 -m json.tool r.json
        openssl genrsa -out key.pem 2048; python3 server.py --key key.pem
        cargo test 2>&1 | tee log.txt; python3 summarize.py log.txt
        make > log; perl -ne 'print' log
        python3 gen.py > data.json; node use.js data.json
    ";
    check(PLAIN, &["Bash(git push:*)"], ALLOW, commands);
    let run = r#"
        base64 -d x > s; sh s
        base64 -d x > s; bash -x s
        base64 -d x > s; node -r ./s x.js
        base64 -d x > s; python3 s
        base64 -d x > s; python3 -u s
        base64 -d x > s; perl -e 'do shift' s
        base64 -d x > s; bash -c '. "$1"' _ s
        wget -O s u; sh s
    "#;
    check(PLAIN, &["Bash(git push:*)"], &[Decision::Ask, Decision::Deny], run);
}

#[test]
fn a_filter_narrows_a_search_only_where_it_is_one() {
    let narrow = r"
        grep -rn --include='*.rs' TOP .
        grep -rn -C2 --include='*.rs' TOP .
        grep -r TOP --include='*.rs' --include='*.c' .
        rg TOP -g '*.rs'
        rg --hidden -g '*.rs' TOP
    ";
    check(FULL, &["Read(secret/**)"], ALLOW, narrow);
    let others = r"
        grep -r TOP --exclude=x --include='*.rs' .
        grep -r TOP . -- --include='*.md'
        grep -r -e --include='*.md' -e TOP .
        grep -r TOP --include='\k' .
        rg -- TOP . -g x
        rg -e '-g*.md' -e TOP
        rg TOP -g ''
        rg TOP -g '\k'
        find . -name '\k' -exec cat {} +
    ";
    check(FULL, &["Read(secret/**)"], DENY, others);
}

#[test]
fn a_loop_over_a_pattern_is_a_pattern_within_quotes_too() {
    let commands = r#"
        for d in */; do cat "$d/k"; done
        for d in *; do cat "$d/k"; done
        for d in */; do cat "${d}k"; done
        for d in ./*; do cat "$d/k"; done
        for d in */; do cat < "$d/k"; done
        shopt -s globstar; cat **
        shopt -s globstar; for f in **; do cat "$f"; done
    "#;
    check(FULL, &["Read(secret/**)"], DENY, commands);
    let writing = r#"
        for d in */; do echo hi > "$d/k"; done
        for d in */; do touch "$d/k"; done
    "#;
    check(FULL, &["Write(secret/**)"], DENY, writing);
    check(FULL, &["Read(secret/**)"], ALLOW, "for f in src/*.rs; do wc -l \"$f\"; done");
}

#[test]
fn where_there_are_too_many_files_to_tell_no_mode_lifts_the_question() {
    const VAST: &[&str] = &["/w/vast/a"];
    let commands = "grep -r TOP vast\nfind vast -type f -exec cat {} +";
    check(VAST, &["Read(**/*.pem)"], &[Decision::Ask], commands);
    check(VAST, &["Write(**/*.pem)"], ALLOW, "grep -r TOP vast");
}

#[test]
fn a_search_that_leaves_the_denied_folder_out_is_not_denied() {
    let commands = r"
        grep -r TOP --exclude-dir=secret .
        grep -rn --exclude-dir=secret TOP
        rg TOP -g '!secret'
        rg TOP --glob '!secret'
        diff -r src tests
        diff -rq src tests
        diff a b
        diff <(sort a) <(sort b)
    ";
    check(FULL, &["Read(secret/**)"], ALLOW, commands);
    let others = r"
        grep -r TOP .
        grep -r --exclude-dir=src TOP .
        grep --exclude-dir=src TOP secret/k
        rg TOP -g '!src'
        rg -e -g '!secret' secret
        rg TOP -g '!secret' -g 'k'
        rg TOP -r -g '!secret' .
        rg TOP -g '!secret' secret
        grep -r TOP -- --exclude-dir=secret .
        grep -r -e --exclude-dir=secret -e TOP .
        diff -r src secret
        diff -r . src
        diff secret/k a.c
    ";
    check(FULL, &["Read(secret/**)"], DENY, others);
}

#[test]
fn a_message_that_is_put_in_elsewhere_is_no_data() {
    let commands = r#"
        eval "$(cat <<'E'␊cat secret/k␊E␊)"
        sh -c "$(cat <<'E'␊cat secret/k␊E␊)"
        cat $(cat <<'E'␊secret/k␊E␊)
        $(cat <<'E'␊cat secret/k␊E␊)
        git() { sh -c "$3"; }; git commit -m "$(cat <<'E'␊cat secret/k␊E␊)"
        git commit -m "$(cat <<E␊$(cat secret/k)␊E␊)"
        git commit -m "$(cat <<'E'␊x␊E␊cat secret/k)"
        git commit -m "$(cat secret/k)"
        git commit -F "$(cat <<'E'␊secret/k␊E␊)"
        git -c alias.commit='!sh -c' commit -m "$(cat <<'E'␊cat secret/k␊E␊)"
    "#;
    check(FULL, &["Read(secret/**)"], DENY, commands);
}
