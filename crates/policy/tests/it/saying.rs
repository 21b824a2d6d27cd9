//! Texts in other languages that say what is denied, and tools that run nothing they are given.

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
