//! After `cd folder &&` only that folder counts, where the folder is there and nothing leads back.

use contract::policy::{Decision, Mode};

use crate::sweeps::decisions;

const DENY: &[&str] = &["Read(/w/.env)", "Read(/w/secret/**)", "Write(/w/secret/**)"];

#[test]
fn behind_a_cd_that_has_worked_only_the_new_folder_counts() {
    let commands = [
        "cd src && grep -rn foo .",
        "cd src && tar czf ../x.tgz .",
        "cd src && rm -f * && ls",
        "cd src && sed -i s/a/b/ *",
        "cd './src' && chmod 644 *",
        "(cd src && rm -f *)",
        "pushd src && rm -f * && popd",
        "cd src || exit 1; rm -f *",
        "cd src || exit 1\nrm -f *",
        "set -e; cd src; rm -f *",
        "set -euo pipefail\ncd src\nrm -f *\nls",
        "cd src && find . -type f -delete",
        "cd src && find . -delete 2>&1 | head -3",
        "cd d && cd 1 && rm -f *",
        "cd src && cat .env",
        "cd /w/src && cat .env",
        "cd src && python3 - <<'EOF'\nopen('.env')\nEOF",
    ];
    for (command, decision) in decisions(DENY, Mode::Yolo, &commands) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn where_it_is_not_certain_every_folder_counts() {
    let commands = [
        "cd nothere && cat .env",
        "cd src; cat .env",
        "cd src && ls; cat .env",
        "cd src && ls || cat .env",
        "cd src && ls & cat .env",
        "cd src && ls\ncat .env",
        "cd src || true; cat .env",
        "cd src || echo exit; cat .env",
        "cd src && cd .. && cat .env",
        "cd src && cd - && cat .env",
        "cd src && cd \"-\" && cat .env",
        "cd src && cd $OLDPWD && cat .env",
        "cd src && a=c && $a\"d\" - && cat .env",
        "cd src && c'd' - && cat .env",
        "cd src && \\cd - && cat .env",
        "cd src && command cd - && cat .env",
        "cd src && eval 'c''d -' && cat .env",
        "pushd src && popd && cat .env",
        "pushd src && ls && popd && cat .env",
        "cd src && cat ../.env",
        "cd src && cat /w/.env",
        "cd src && (cd ..; cat .env)",
        "(cd src && ls) && cat .env",
        "(cd src) && (cat .env)",
        "set -x; cd src; cat .env",
        "set +e; cd src; cat .env",
        "cd link && cat .env",
        "CDPATH=. cd src && cat .env",
        "CDPATH=/w/d; cd src && cat .env",
        "cd src && echo \"${x#'\"'}\" ; cat .env #'",
        "cd src && cat <<'EOF'\nx\nEOF\ncat .env",
        "cd src && { ls; cd ..; cat .env; }",
        "cd - && cat .env",
        "cd && cat .env",
        "cd src extra && cat .env",
        "cd -P src && cat .env",
        "cd src&&cat ../.env",
        "cd src && cat <<'EOF' || cat .env\nx\nEOF",
        "cd src && cat <<'EOF' & cat .env\nx\nEOF",
        "cd src && cat <<'EOF' && cd - && cat .env\nx\nEOF",
        "cd src && sh -c 'cd -; cat .env'",
        "cd src && sh -c \"cd - && cat .env\"",
        "cd src && bash <<'EOF'\ncd ..\ncat .env\nEOF",
        "cd src && python3 -c \"import os; os.chdir('/w'); print(open('.env').read())\"",
        "cd src && python3 -c \"import os; print(open(os.path.join('..', '.env')).read())\"",
        "set -e; cd src; sh -c 'cd -; cat .env'",
        "cd d/1/2 || exit 1; until [ -d .git ]; do cd ..; done; grep -rn K .",
        "cd d/1 && (while [ ! -d .git ]; do cd ..; done; cat .env)",
        "set -e; cd d/1; while [ ! -d .git ]; do cd ..; done; cat .env",
        "cd d/1 || exit 1; for i in 1 2; do pushd ..; done; cat .env",
        "cd d/1 && ln -s ../.. up && grep -rn K up/",
        "cd d/1 && env l''n -s ../.. up && grep -rn K up/",
        "cd d/1 && /bin/ln -s ../.. up && cat up/.env",
        "cd d/1 && mount --bind ../.. x && grep -rn K x/",
        "cd d/1 && f() (cd ..; cd ..; cat .env) && f",
        "cd d/1 || exit 1; eval x; cat .env",
        "cd d/1 || exit 1; . ./x; cat .env",
        "cd d/1 || exit 1; source x; cat .env",
    ];
    for (command, decision) in decisions(&["Read(/w/.env)"], Mode::Yolo, &commands) {
        assert_ne!(decision, Decision::Allow, "{command}");
    }
}
