//! The folders of processes, and those that a descriptor stands for, may be the project's.

use contract::policy::{Decision, Mode};

use crate::sweeps::decisions;

#[test]
fn a_search_of_the_folder_of_a_process_may_come_upon_all_of_the_project() {
    let commands = [
        "grep -rn K /dev/fd/9/ 9< .",
        "grep -rn K /dev/fd/9 9<.",
        "grep -rn K /proc/self/fd/9/ 9<.",
        "find /dev/fd/9/ -type f -exec cat {} + 9< .",
        "tar cf x /dev/fd/9/ 9< .",
        "cd src && grep -rn K /proc/self/fd/9/ 9<..",
        "cd src && grep -rn K /proc/self/cwd/..",
        "cd src && grep -rn K /proc/$$/cwd/..",
        "cd src; grep -rn K /proc/self/task/1/cwd/..",
        "cd src; grep -rn K ../../proc/self/cwd/..",
        "cd src; grep -rn K /proc/self/c*/..",
        "cd src; cat /proc/self/cwd/../.env",
        "cd src; cat /proc/self/cwd/./../.env",
        "cd src && cat /proc/$$/cwd/../.env",
        "cd src; cd /proc/self/cwd/..; grep -rn K .",
        "cat /dev/fd/9/.env 9<.",
    ];
    for (command, decision) in decisions(&["Read(/w/.env)"], Mode::Yolo, &commands) {
        assert_ne!(decision, Decision::Allow, "{command}");
    }
    let others = [
        "cat /proc/cpuinfo",
        "cat /proc/self/status",
        "grep -r x /proc/sys/kernel",
        "echo x > /dev/fd/2",
        "grep -rn x src 2>/dev/fd/1",
        "ls /dev/fd",
    ];
    for (command, decision) in decisions(&["Read(/w/.env)"], Mode::Yolo, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}
