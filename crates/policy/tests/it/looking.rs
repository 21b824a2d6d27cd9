//! What only looks for a file, or asks when it was changed, reads nothing of it; and ways to go to a folder that
//! people write.

use contract::policy::Decision;

use crate::everyday::{PLAIN, check};

const RULES: &[&str] = &["Read(.env)", "Read(/w/.env)"];

fn denied(commands: &str) {
    check(PLAIN, RULES, &[Decision::Deny, Decision::Ask], commands);
}

fn allowed(commands: &str) {
    check(PLAIN, RULES, &[Decision::Allow], commands);
}

#[test]
fn what_only_looks_for_a_file_reads_nothing_of_it() {
    allowed(
        "git log -- .env
        git log --oneline --all -- .env
        git log --stat .env
        git status -- .env
        git status --short .env
        find . -name .env
        find . -name .env -type f -not -path './build/*'
        find . -name '.env*' | head -3
        find . -name .env | wc -l
        ls -la .env*
        ls -d .*
        ls -lah | grep .env
        git ls-files | grep .env
        git check-ignore -v .env
        test -f .env && echo yes
        echo .env >> .gitignore
        rg -n TODO --glob '!.env'",
    );
    denied(
        "git log -p -- .env
        git log -u .env
        git log -L1,3:.env
        git log -S K -- .env
        git log --stat -p .env
        git status -v .env
        find . -name .env -exec cat {} +
        find . -name .env | xargs cat
        find . -name .env -print0 | xargs -0 cat
        find . -name .env | while read f; do cat $f; done
        find . -name .env | head -1 | xargs cat
        find . -name .env > list; xargs cat < list
        cat $(find . -name .env)
        for f in $(find . -name .env); do cat $f; done
        find .env -exec cat {} \\;
        find . -name .env | tar cf x -T -
        ls -d .e* | xargs cat
        cat $(ls -d .e*)
        ls -a | grep .env | xargs cat
        ls | grep x .env
        ls | grep -f .env
        ls | cat .env",
    );
}

#[test]
fn folders_that_are_gone_to_in_other_words_are_the_only_ones_too() {
    allowed(
        "X=1; cd src && grep -rn foo .
        X=1 && cd src && grep -rn foo .
        export X=1; cd src && grep -rn foo .
        name=a; cd src && grep -rn foo .
        export NODE_ENV=test && cd src && grep -rn foo .
        set -x; cd src && grep -rn foo .
        time cd src && grep -rn foo .
        cd src && grep -rn foo . &
        (cd src && grep -rn foo .) &
        (cd docs && grep -rn foo .); (cd src && grep -rn foo .)
        (cd docs && ls) && (cd src && grep -rn foo .) || (cd tests && grep -rn foo .)
        (cd docs && ls)␊(cd src && grep -rn foo .)
        cd src && timeout 10 grep -rn foo .
        cd src && timeout 2m cargo test && grep -rn foo .
        cd src && grep -rn \"$(date +%Y)\" .",
    );
    denied(
        "X=..; cd src && grep -rn K $X
        x=..; cd src && grep -rn K \"$x\"
        X=1; cd src; grep -rn K .
        CDPATH=/; cd src && grep -rn K .
        HOME=/w/src; cd ~ && grep -rn K ..
        X=1; cd src && grep -rn K ..
        (cd docs && ls); (grep -rn K .)
        (cd docs && ls); grep -rn K .
        (cd docs && ls) && (cd src && grep -rn K ..)
        (cd docs && mv l ../src); (cd src && grep -rn K .)
        (cd docs && ls # ) ; (cd src && ls)␊grep -rn K ..)
        (cd docs && ls); (cd src && ls; grep -rn K .)
        (cd docs && ls); (cd none; grep -rn K .)
        time cd src; grep -rn K .
        cd src & grep -rn K .
        cd src && ls & grep -rn K .
        cd src && ls && grep -rn K .. &
        cd src && timeout 5 sh -c 'cd ..; grep -rn K .'
        cd src && grep -rn K $(date +..)
        cd src && grep -rn K $(date +%%..)",
    );
}

#[test]
fn the_home_may_be_spelled_where_a_text_goes() {
    const HOME: &[&str] = &["/home/u/p/src/a.rs", "/home/u/p/.env", "/w/.env"];
    let rules = &["Read(.env)"];
    let allowed = "cd ~/p/src && grep -rn foo .
        cd $HOME/p/src && grep -rn foo .
        cd \"$HOME/p/src\" && grep -rn foo .
        cd \"${HOME}/p/src\" && grep -rn foo .";
    check(HOME, rules, &[Decision::Allow], allowed);
    let denied = "cd ~/p && grep -rn K .
        cd '~/p/src' && grep -rn K .
        cd \"~/p/src\" && grep -rn K .
        cd '$HOME/p/src' && grep -rn K .
        cd ~u/p/src && grep -rn K .
        HOME=/w; cd ~/p/src && grep -rn K .";
    check(HOME, rules, &[Decision::Deny, Decision::Ask], denied);
}

#[test]
fn a_program_that_only_prints_runs_nothing_of_what_it_prints() {
    let rules = &["Bash(git push:*)"];
    let allowed = "python3 -c \"print('git push')\"
        python3 -c 'print(\"please git push later\"); print(\"b\")'
        node -e \"console.log('git push')\"
        python3 -c \"print('git push')\" | head -1";
    check(PLAIN, rules, &[Decision::Allow], allowed);
    let stopped = "python3 -c \"import os; os.system('git push')\"
        python3 -c \"print(__import__('os').popen('git push').read())\"
        python3 -c \"exec(print('git push'))\"
        python3 -c \"print('git push')\" | sh
        python3 -c \"print('git push')\" | xargs -I{} sh -c {}
        $(python3 -c \"print('git push')\")
        eval \"$(python3 -c \"print('git push')\")\"
        python3 -c \"print('git push')\" > x; sh x
        python3 -c \"print('git push')\" | tee x; sh x";
    check(PLAIN, rules, &[Decision::Deny, Decision::Ask], stopped);
}
