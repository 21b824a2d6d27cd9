//! Names that programs obey, by what leads to them: settings of git that name the project itself as the place of hooks,
//! links of such names, and links with the names of files that choose a version.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use testkit::Project;

use super::exec;
use crate::rungs::Rung;

const HOOK: &str = "#!/bin/sh\ntouch ran\n";

/// A project that is a repository with a folder in it, and another repository further down.
fn repository(rung: Rung) -> Project {
    let project = rung.project();
    for name in ["", "hk/n/"] {
        project.file(format!("{name}.git/HEAD"), "ref: refs/heads/main\n");
        project.file(format!("{name}.git/config"), "[core]\n\tbare = false\n");
        for folder in ["objects", "refs"] {
            fs::create_dir_all(project.path().join(name).join(".git").join(folder)).unwrap();
        }
    }
    project
}

fn runs(project: &Project, script: &str) -> testkit::Run {
    project.brynhild(&["sandbox", "run", "--", "sh", "-c", script])
}

#[test]
fn where_hooks_lie_at_the_top_of_the_project_none_is_planted() {
    for rung in Rung::here() {
        for (config, value) in [
            (".git/config", "."),
            (".git/config", "./"),
            (".git/config", "FULL"),
            (".git/config", "hk/.."),
            (".git/config", "hooks-link"),
            ("hk/n/.git/config", "FULL"),
            ("hk/n/.git/config", "../.."),
            ("hk/n/.git/config", "../../hooks-link"),
            ("../home/.gitconfig", "FULL"),
        ] {
            let project = repository(rung);
            symlink(".", project.path().join("hooks-link")).unwrap();
            let full = project.path().canonicalize().unwrap().display().to_string();
            let value = value.replace("FULL", &full);
            project.file(config, format!("[core]\n\thooksPath = {value}\n"));
            project.file("pre-push", "mine\n");
            let case = format!("{rung:?} {config} {value}");
            let run = runs(&project, "echo x > free; chmod +x free");
            run.success();
            assert_eq!(project.read("free"), "x\n", "{case} {run}");
            let run = runs(&project, "echo evil > pre-commit; chmod +x pre-commit");
            assert!(!project.path().join("pre-commit").exists(), "{case} {run}");
            let run = runs(&project, "echo evil > pre-push");
            assert_eq!(project.read("pre-push"), "mine\n", "{case} {run}");
            for name in ["pre-commit", "pre-push", "hooks-link/pre-commit"] {
                let input = json!({"file_path": name, "content": HOOK});
                let run = exec(&project, "Write", &input);
                assert_ne!(run.status.code(), Some(0), "{case} {name} {run}");
            }
            assert!(!project.path().join("pre-commit").exists(), "{case}");
            let input = json!({"file_path": "other", "content": "x"});
            exec(&project, "Write", &input).success();
        }
    }
}

#[test]
fn what_a_link_with_the_name_of_a_version_file_leads_to_names_no_path() {
    const EVIL: &str = "[toolchain]\npath = \"/w/evil\"\n";
    const PLAIN: &str = "[toolchain]\nchannel = \"stable\"\n";
    for rung in Rung::here() {
        for (link, target) in [
            ("rust-toolchain.toml", "tc"),
            ("sub/rust-toolchain.toml", "../tc"),
            ("sub/rust-toolchain", "../between"),
        ] {
            let project = rung.project();
            project.file("tc", PLAIN).file("sub/x", "");
            symlink("tc", project.path().join("between")).unwrap();
            symlink(target, project.path().join(link)).unwrap();
            let case = format!("{rung:?} {link}");
            let run = runs(&project, &format!("printf '{}' > tc", EVIL.replace('\n', "\\n")));
            let left = fs::read_to_string(project.path().join(link)).unwrap_or_default();
            assert!(!left.contains("evil"), "{case} {run}");
            project.file("tc", PLAIN);
            if !project.path().join(link).is_symlink() {
                symlink(target, project.path().join(link)).unwrap();
            }
            for name in [link, "tc", "between"] {
                let run = exec(&project, "Write", &json!({"file_path": name, "content": EVIL}));
                assert_ne!(run.status.code(), Some(0), "{case} {name} {run}");
                assert_eq!(project.read("tc"), PLAIN, "{case} {name} {run}");
                let change =
                    json!({"file_path": name, "old_string": "channel", "new_string": "path"});
                let run = exec(&project, "Edit", &change);
                assert_ne!(run.status.code(), Some(0), "{case} {name} {run}");
            }
            let other = PLAIN.replace("stable", "1.90");
            exec(&project, "Write", &json!({"file_path": "tc", "content": other})).success();
        }
    }
}

#[test]
fn what_links_of_protected_names_lead_to_is_not_written() {
    for rung in Rung::here() {
        for (link, target, obeyed) in [
            ("sub/.vscode", "../vs", "vs/tasks.json"),
            ("sub/.vscode", "..", "tasks.json"),
            ("sub/.vscode", ".", "sub/tasks.json"),
            ("sub/deep/.vscode", "../..", "tasks.json"),
            ("sub/.envrc", "e", "sub/e"),
        ] {
            let project = rung.project();
            project.file("vs/x", "").file("sub/deep/x", "").file("hooks/y", "");
            symlink(target, project.path().join(link)).unwrap();
            let case = format!("{rung:?} {link} -> {target}");
            let run = runs(&project, &format!("echo evil > {obeyed}"));
            assert!(!is_evil(&project.path().join(obeyed)), "{case} {run}");
            let input = json!({"file_path": obeyed, "content": "evil"});
            let run = exec(&project, "Write", &input);
            assert!(!is_evil(&project.path().join(obeyed)), "{case} {run}");
        }
    }
}

fn is_evil(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.contains("evil"))
}
