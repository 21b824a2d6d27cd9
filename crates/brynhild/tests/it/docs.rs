//! The pages for users: their links resolve, and their commands print what they show.

mod console;

use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All Markdown files of `docs`, and those in the root.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut directories = vec![repository().join("docs")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                directories.push(entry);
            } else if entry.extension().is_some_and(|it| it == "md") {
                pages.push(entry);
            }
        }
    }
    let root = ["README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY", "CHANGELOG"];
    pages.extend(root.map(|name| repository().join(name).with_extension("md")));
    pages.push(repository().join("examples/README.md"));
    pages.sort();
    pages
}

/// The lines outside of fenced blocks.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    page.lines().scan(false, |fenced, line| {
        let is_fence = line.trim_start().starts_with("```");
        *fenced ^= is_fence;
        Some(if *fenced || is_fence { "" } else { line })
    })
}

/// The anchors that GitHub gives the headings of a page.
fn anchors(page: &str) -> Vec<String> {
    let headings = prose(page).filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let text = text.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
        text.map(|it| if it == ' ' { '-' } else { it }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_between_pages_resolve() {
    let mut broken = Vec::new();
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        let links = prose(&page)
            .flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split(')').next()));
        for link in links.filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = path.parent().unwrap().join(file);
            let target = if file.is_empty() { path.clone() } else { target };
            let holds = target.exists()
                && (anchor.is_empty()
                    || anchors(&fs::read_to_string(&target).unwrap())
                        .iter()
                        .any(|it| it == anchor));
            if !holds {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_picture_is_on_a_page() {
    let pages = pages().into_iter().map(|path| fs::read_to_string(path).unwrap());
    let text = pages.collect::<Vec<_>>().join("\n");
    for entry in fs::read_dir(repository().join("docs/pictures")).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        assert!(text.contains(&format!("pictures/{name})")), "{name} is on no page");
    }
}

#[test]
fn readme_links_every_plugin_system_to_its_limits() {
    let read = |path: &str| fs::read_to_string(repository().join(path)).unwrap();
    let (readme, systems) = (read("README.md"), read("docs/reference/plugin-systems.md"));
    assert!(readme.contains("(docs/extend/overview.md#support)"), "no link to the support");
    assert!(read("docs/extend/overview.md").contains("(../reference/plugin-systems.md)"));
    let names: Vec<&str> = systems.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert!(names.len() >= 4, "{names:?}");
    for name in names {
        assert!(readme.contains(name), "{name} is not in the README");
        let (_, section) = systems.split_once(&format!("## {name}\n")).unwrap();
        let section = section.split("\n## ").next().unwrap();
        assert!(section.contains("| no |"), "{name} has no part without support");
    }
}

#[test]
fn help_prints_every_listed_guide() {
    let project = crate::project();
    let help = project.brynhild(&["--help"]);
    let (_, topics) = help.stdout.rsplit_once("prints a guide:").unwrap();
    assert!(topics.split_whitespace().count() > 10, "{topics}");
    for topic in topics.split_whitespace() {
        let run = project.brynhild(&["help", topic]);
        assert!(run.success().stdout.starts_with("# "), "{topic}: {run}");
        assert!(!run.stdout.contains("<!--"), "{topic}");
    }
}

#[test]
fn every_guide_is_a_topic_of_help() {
    let project = crate::project();
    let help = project.brynhild(&["--help"]);
    let (_, topics) = help.stdout.rsplit_once("prints a guide:").unwrap();
    let run = |topic: &str| project.brynhild(&["help", topic]).success().stdout.clone();
    let titles: Vec<String> =
        topics.split_whitespace().map(|it| run(it).lines().next().unwrap().to_owned()).collect();
    for entry in fs::read_dir(repository().join("docs/guides")).unwrap().map(Result::unwrap) {
        let page = fs::read_to_string(entry.path()).unwrap();
        let title = page.lines().next().unwrap();
        assert!(titles.iter().any(|it| it == title), "{title} is not a topic of `brynhild help`");
    }
}

#[test]
fn unknown_help_topic_is_misuse() {
    let run = crate::project().brynhild(&["help", "sandbx"]);
    assert_eq!(run.code(2).stdout, "");
    assert!(run.stderr.contains("no command or guide `sandbx`"), "{run}");
}

/// The words of a page without its `console` blocks, which tests write, and without comments.
fn written_words(page: &str) -> usize {
    let (mut count, mut skipped) = (0, false);
    for line in page.lines() {
        let is_end = skipped && (line == "```" || line.ends_with("-->"));
        skipped |= line == "```console" || line.starts_with("<!--");
        if !skipped {
            count += line.split_whitespace().count();
        }
        skipped &= !(is_end || line.starts_with("<!--") && line.ends_with("-->"));
    }
    count
}

#[test]
fn handwritten_pages_stay_short() {
    // Most of each is generated.
    let generated = [
        "cli",
        "config",
        "events",
        "exit-codes",
        "files",
        "hooks",
        "inputs",
        "manifest",
        "plugin-systems",
        "python-api",
    ];
    let (mut for_users, mut internal) = (0, 0);
    for path in pages().iter().filter(|path| path.starts_with(repository().join("docs"))) {
        let page = fs::read_to_string(path).unwrap();
        let is_in = |name: &str| path.parent().unwrap().ends_with(name);
        let name = path.file_stem().unwrap().to_str().unwrap();
        if is_in("internals") {
            internal += page.split_whitespace().count();
        } else if !(is_in("reference") && generated.contains(&name)) {
            for_users += written_words(&page);
        }
    }
    assert!(for_users <= 25_000, "{for_users} words for users");
    assert!(internal <= 12_000, "{internal} words about internals");
}

#[test]
fn documented_servers_have_the_tested_versions() {
    let checks = fs::read_to_string(repository().join(".ci/run")).unwrap();
    let package = regex::Regex::new(r"(mcp-server-\w+|server-filesystem)(?:@|==)([0-9.]+[0-9])");
    let package = package.unwrap();
    let mut count = 0;
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        for (shown, [name, version]) in package.captures_iter(&page).map(|it| it.extract()) {
            if version == "1.2.3" {
                continue; // the form of a version, in a message
            }
            let is_tested =
                ["==", "@"].iter().any(|sign| checks.contains(&format!("{name}{sign}{version}")));
            assert!(is_tested, "{}: .ci/run does not install {shown}", path.display());
            count += 1;
        }
        // A package runner fetches its package, so it needs the network.
        for line in page.lines().filter(|line| line.contains("brynhild mcp add ")) {
            let is_runner = ["-- uvx ", "-- npx "].iter().any(|it| line.contains(it));
            let fetches = is_runner && line.contains('@');
            assert!(!fetches || line.contains("--allow-network"), "{}: {line}", path.display());
        }
    }
    assert!(count >= 4, "{count}");
}

#[test]
fn architecture_page_names_every_crate() {
    let page = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    for entry in fs::read_dir(repository().join("crates")).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        assert!(page.contains(&format!("\n| `{name}` | ")), "{name} is not in the table");
    }
    for path in page.split('`').skip(1).step_by(2).filter(|it| it.starts_with("crates/")) {
        assert!(repository().join(path).exists(), "{path} does not exist");
    }
}
