//! Words that leave something out name no file that is read, and what they leave out for certain is not.

use contract::policy::{Decision, Mode};

use crate::sweeps::decisions;

const DENY: &[&str] = &["Read(.env)", "Read(secret/**)"];

#[test]
fn what_leaves_the_denied_file_out_is_allowed() {
    let commands = [
        "grep -rn foo . --exclude=.env --exclude-dir=secret",
        "grep -rn foo . --exclude='.env*' --exclude-dir=secret",
        "grep -rn --exclude .env --exclude-dir secret foo .",
        "find . -type f -not -name .env -not -path './secret/*' -exec cat {} +",
        "find . -type f ! -name '.env*' ! -path '*/secret/*' -exec cat {} +",
        "find . -type f ! -name .env ! -path './secret/*' | xargs wc -l",
        "find . -path ./secret -prune -o -name .env -prune -o -type f -print | xargs wc -l",
        "rsync -a --exclude .env --exclude secret ./ /tmp/c/",
        "rsync -av --exclude=.env --exclude=secret ./ /tmp/c/",
        "tar czf x.tgz --exclude=.env --exclude=secret .",
        "tar -czf x.tgz --exclude .env --exclude secret .",
        "git log --grep=.env",
        "git log --all --grep='secret/'",
        "git log --author=.env",
        "ls -la .env",
        "ls -la .env | head -3",
    ];
    for (command, decision) in decisions(DENY, Mode::Yolo, &commands) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
    let asked = ["zip -r x.zip . -x .env -x 'secret/*'"];
    for (command, decision) in decisions(DENY, Mode::Yolo, &asked) {
        assert_eq!(decision, Decision::Ask, "{command}");
    }
}

#[test]
fn what_does_not_leave_it_out_for_certain_is_not() {
    let commands = [
        "grep -n foo .env --exclude=.env",
        "grep -f .env --exclude=.env foo",
        "grep -rn foo . --exclude=.env",
        "grep -rn foo . --exclude-dir=secret",
        "grep -rn foo . --exclude=.en",
        "grep -rn foo . --exclude=.env --include=.env --exclude-dir=secret",
        "grep -Rn foo . --exclude=.env --exclude-dir=secret",
        "grep -rn --exclude-from=.env foo src",
        "grep -rn -e --exclude=.env --exclude-dir=secret foo .",
        "grep -rn foo --exclude-dir=secret -- --exclude=.env .",
        "grep -rn --exclude='[x].env' --exclude-dir=secret foo .",
        "grep -rn --exclude=$x --exclude-dir=secret foo .",
        "find . -type f -name .env -exec cat {} +",
        "find . -type f -not -name .env -exec cat {} +",
        "find . -type f -not -name .env -not -path './secret/*' -o -name .env -exec cat {} +",
        "find . -not -name .env -not -path './secret/*' -exec cat {} +",
        "find -L . -type f -not -name .env -not -path './secret/*' -exec cat {} +",
        "find . -type f -not -name .env -not -path './secret/*' -exec cat {} .env \\;",
        "find . -type f -exec cat {} + -not -name .env -not -path './secret/*'",
        "find . src -type f -not -name .env -not -path './secret/*' -exec cat {} +",
        "find secret -type f -not -path './secret/*' -exec cat {} +",
        "find /w -type f -not -name .env -not -path './secret/*' -exec cat {} +",
        "find . -path ./secret -prune -o -name .env -prune -o -type f | xargs cat",
        "find . -depth -path ./secret -prune -o -name .env -prune -o -type f -print | xargs cat",
        "find .env -type f ! -name .env -exec cat {} + .env",
        "find . -type f ! ! -name .env -exec cat {} +",
        "find . -type f -not -not -name .env -exec cat {} +",
        "find . -type f ! -name .env ! -path './secret/*' | echo ! -name .env | xargs cat",
        "echo ! -name .env | xargs cat",
        "find . -type f ! -name .env | xargs cat",
        "rsync -a --include .env --exclude .env --exclude secret ./ /tmp/c/",
        "rsync -aL --exclude .env --exclude secret ./ /tmp/c/",
        "rsync -a -f --exclude .env ./ /tmp/c/",
        "rsync -a --exclude=/secret ./ /tmp/c/",
        "rsync -a --exclude secret .env /tmp/c/",
        "tar czf x.tgz . --exclude=.env --exclude=secret",
        "tar czhf x.tgz --exclude=.env --exclude=secret .",
        "tar czf x.tgz --anchored --exclude=.env --exclude=secret .",
        "tar czf x.tgz --exclude=.env --exclude=secret .env",
        "tar cf --exclude .env",
        "zip x.zip .env -x .env",
        "zip -r x.zip . -x src -r .env",
        "git log -p --grep=x -- .env",
        "git grep --author=x foo .env",
        "ls -la .env | xargs cat",
        "cat $(ls .env)",
        "ls secret",
        "ls -la secret/",
        "find .// -type f ! -name .env ! -path './secret/*' -exec cat {} +",
        "find .// -path ./secret -prune -o -name .env -prune -o -type f -exec cat {} +",
        "find . -name secret -prune -o -name .env -prune -o -mindepth 2 -type f -exec cat {} +",
        "find . -name .env -prune -o -name secret -prune -o -type f -mindepth 2 -print | xargs cat",
        "find . ! -type f ! -name .env ! -path './secret/*' -exec cat {} +",
        "find . -type f ! -name .env ! -path './secret/*' -exec true \\; , -exec cat {} +",
        "find . -type f ! -name .env ! -path './secret/*' -exec true \\; -o -exec cat {} +",
        "find . -type f -exec true \\; -exec cat {} +",
        "find -H . -type f ! -name .env ! -path './secret/*' -exec cat {} +",
        "find . -follow -type f ! -name .env ! -path './secret/*' -exec cat {} +",
        "find . -type f -printf '%p\\n' ! -name .env ! -path './secret/*' | xargs cat",
        "grep -rn K . --exclude=.env --exclude-dir=secret --inc='.e*'",
        "grep -rn K . --exclude=.env --exclude-dir=secret --inc '*'",
        "grep -rn K . --include='*.rs' --inc=.env",
        "grep -n --der K . --exclude=.env --exclude-dir=secret",
        "grep --rec K .",
        "grep --der K .",
        "grep --di=recurse K .",
        "egrep --dir recurse K .",
        "tar fc --exclude=.env --exclude=secret .",
        "tar cfv --exclude=.env --exclude=secret .",
        "tar cff x.tar --exclude=.env --exclude=secret .",
    ];
    for (command, decision) in decisions(DENY, Mode::Yolo, &commands) {
        assert_ne!(decision, Decision::Allow, "{command}");
    }
}
