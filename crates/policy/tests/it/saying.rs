//! Texts in other languages that say what is denied, tools that run nothing they are given, and what is only looked
//! at or for.

use contract::policy::{Decision, Mode};

use crate::sweeps::decisions;

#[test]
fn what_another_language_says_may_be_run_by_what_it_is_given_to() {
    let calm = ["docker ps -q | xargs docker stop"];
    for (command, decision) in decisions(&["Bash(git push:*)"], Mode::Yolo, &calm) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
    let run = [
        "python3 -c \"import os; os.system('git push')\"",
        "python3 -c \"import subprocess; subprocess.run(['git', 'push'])\"",
        "python3 -c \"print(__import__('os').system('git push'))\"",
        "python3 -c \"print('git push')\" | sh",
        "python3 -c \"print('git push')\" | perl -ne 'system $_'",
        "sh -c \"$(python3 -c \"print('git push')\")\"",
        "eval \"$(node -e \"console.log('git push')\")\"",
        "node -e \"require('child_process').execSync('git push')\"",
        "node -e \"console.log('git push'.replace('git push', child_process.execSync))\"",
        "node -e \"'git push'.replaceAll('git push', child_process.execSync)\"",
        "nodejs -e \"console.log('git push'.replace('git push', x => fs.log(x)))\"",
        "python3 -c \"print(sorted(['git push'], key=x))\"",
        "node -e \"console.log(1)\" -r ./x \"git push\"",
        "ruby -e \"print(%x(git push))\"",
        "cat x | xargs docker run",
        "docker ps -q | xargs docker exec",
    ];
    for (command, decision) in decisions(&["Bash(git push:*)"], Mode::Yolo, &run) {
        assert_ne!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn what_a_file_is_called_or_when_it_changed_is_not_what_it_holds() {
    let commands = [
        "stat .env",
        "stat -c %s .env",
        "ls -l .env",
        "test -f .env",
        "[ -s .env ] && echo there",
        "git log --grep .env",
        "git log --oneline --grep=.env --author x",
        "git log --grep x -- .env",
    ];
    for (command, decision) in decisions(&["Read(.env)"], Mode::Yolo, &commands) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
    let others = [
        "cat $(stat -c %n .env)",
        "stat -c %n .env | xargs cat",
        "git log -p --grep x .env",
        "stat x && cat .env",
    ];
    for (command, decision) in decisions(&["Read(.env)"], Mode::Yolo, &others) {
        assert_ne!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn a_label_is_no_command() {
    let deny = ["Bash(kubectl delete:*)"];
    let calm = ["kubectl logs -l app=delete", "kubectl get pods -l app=delete"];
    for (command, decision) in decisions(&deny, Mode::Yolo, &calm) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
    let denied =
        ["kubectl delete pod x", "kubectl -n x delete pod y", "kubectl --namespace=x delete y"];
    for (command, decision) in decisions(&deny, Mode::Yolo, &denied) {
        assert_eq!(decision, Decision::Deny, "{command}");
    }
}

#[test]
fn what_another_program_tells_a_program_is_asked_about_where_some_of_it_is_denied() {
    let told = [
        "git $(cat x)",
        "git \"$(base64 -d x)\"",
        "git -C . `cat x`",
        "cat x | xargs git",
        "xargs -a x -n1 git",
        "cat x | xargs -I{} git {}",
        "timeout 5 git $(cat x)",
    ];
    for (command, decision) in decisions(&["Bash(git push:*)"], Mode::Yolo, &told) {
        assert_ne!(decision, Decision::Allow, "{command}");
    }
    let others = [
        "git add $(git ls-files -m)",
        "git ls-files -m | xargs git add",
        "git checkout $(cat branch)",
        "git log $(git merge-base HEAD main)..",
        "git $(echo status)",
        "git -C $(pwd) status",
        "cat x | xargs ls",
        "cat x | xargs -I{} ls {}",
    ];
    for (command, decision) in decisions(&["Bash(git push:*)"], Mode::Yolo, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
    let files = ["rm $(cat list)", "rm -i $(cat list)"];
    for (command, decision) in decisions(&["Bash(rm -rf:*)"], Mode::Yolo, &files) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}
