//! Ways to a folder above that are not spelled `..`: patterns that fit it, expansions that stand for it, and a folder
//! that is moved while one is in it.

use contract::policy::Decision;

use crate::everyday::{PLAIN, check};

const RULE: &[&str] = &["Read(/w/.env)"];

fn denied(commands: &[&str]) {
    check(PLAIN, RULE, &[Decision::Deny], &commands.join("\n"));
}

fn allowed(commands: &[&str]) {
    check(PLAIN, RULE, &[Decision::Allow], &commands.join("\n"));
}

#[test]
fn a_pattern_that_fits_the_folder_above_leads_there() {
    denied(&[
        "cd src && grep -rn K .?",
        "cd src && grep -rn K .[a.]",
        "cd src && grep -rn K .[!a]",
        "cd src && grep -rn K .*",
        "cd src && cat .?/.env",
        "cd src && cat ./.[.]/.env",
        "cat src/.*/.env",
        "cat src/a/.?/.?/.env",
        "cat src/.*/main.rs/.*/.env < x",
        "cat < src/.?/.env",
        "grep -rn K src/.?",
        "grep -rn K */..",
        "grep -rn K */../../w",
        "tar cf x.tar src/.?",
        "cp -r src/.* /tmp/x",
        "cp -r s*/.. /tmp/x",
        "diff -r src/.? /tmp/x",
    ]);
    allowed(&[
        "cp -r src/.[!.]* /tmp/x",
        "cp -r src/.??* /tmp/x",
        "cp -r src/.[a-z]* /tmp/x",
        "grep -rn K src/.[^.]*",
        "grep -rn K src/a*",
        "rm -f src/.*.swp",
        "ls */..",
    ]);
}

#[test]
fn an_expansion_for_a_folder_above_is_a_place_like_any_other() {
    denied(&[
        "cp -r $(git rev-parse --show-toplevel) ..",
        "cp -r \"$(git rev-parse --show-toplevel)\" /tmp/x",
        "cd src && cp -r $(git rev-parse --show-toplevel) /tmp/x",
        "cp -r $(pwd) /tmp/x",
        "cp -r \"$(pwd -P)\" /tmp/x",
        "cp -r `pwd` /tmp/x",
        "cp -r ~+ /tmp/x",
        "tar cf /tmp/x.tar \"$PWD\"",
        "rsync -a \"$(pwd)/\" host:/x",
        "D=$PWD; tar cf /tmp/x.tar \"$D\"",
        "D=$(pwd); cp -r $D /tmp/x",
        "ROOT=$(git rev-parse --show-toplevel); cp -r \"$ROOT\" /tmp/x",
        "ROOT=$(cd \"$(dirname \"$0\")/..\" && pwd); cp -r \"${ROOT}\" /tmp/x",
        "cd src && cp -r ${PWD%/*} /tmp/x",
        "cd src && cp -r \"${PWD%/src}\" /tmp/x",
        "cd src && cp -r $OLDPWD /tmp/x",
        "cd src && cp -r ~- /tmp/x",
        "cd src && tar cf /tmp/x.tar $(dirname $PWD)",
        "cd src && zip -r /tmp/x.zip $(realpath ..)",
        "cd src && diff -r $OLDPWD /tmp/x",
        "cd src && cp -r $OLDPWD/.e* /tmp/x",
    ]);
    allowed(&[
        "cp -r \"$(git rev-parse --show-toplevel)/src\" /tmp/x",
        "ROOT=$(git rev-parse --show-toplevel); cp -r \"$ROOT/src\" /tmp/x",
        "cp -r $(pwd)/src /tmp/x",
        "cp -r build \"$OLDPWD\"",
        "cp -r build \"$(git rev-parse --show-toplevel)/out\"",
        "cp -r \"$(dirname \"$f\")\" /tmp/x",
        "cp -r \"$a\" \"$b\"",
        "tar czf \"${PWD##*/}.tgz\" src",
        "tar czf x.tgz -C \"$(dirname \"$D\")\" \"$(basename \"$D\")\"",
        "docker run -v \"$(pwd)\":/app node npm test",
        "PYTHONPATH=$(pwd) pytest",
    ]);
}

#[test]
fn who_is_in_a_folder_that_is_moved_goes_along() {
    denied(&[
        "cd src/a && mv /w/src/a /w/b && cat ../.env",
        "cd src/a && mv ../a ../../b && cat ../.env",
        "cd src/a; mv ../a ../../b; cat ../.env",
        "cd src/a && mv $PWD ../../b && cat ../.env",
        "cd src/a && mv -t /w /w/src/a && cat ../.env",
        "cd src/a && git mv ../a ../../b && grep -rn K ..",
        "cd src/a && mv ../../src /w/docs && cat ../../../.env",
    ]);
    allowed(&[
        "cd src/a && mv b.rs c.rs && cat ../.env",
        "cd src && git mv main.rs x.rs && grep -rn foo .",
        "cd src && mv a b && cat b/.env",
    ]);
}
