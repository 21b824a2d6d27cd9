//! Packages that are installed with `pip install -e`: files as pip and setuptools write them.

use std::fmt::Write as _;
use std::path::Path;

use testkit::{Project, Run};

use super::documents::{site, venv};
use super::write;
use crate::{has_bubblewrap, project};

const TOOL: &str = "from brynhild.tools.base import Tool, ToolResult\n\
    class Shout(Tool):\n\
    \x20   name = 'Shout'\n\
    \x20   description = 'Shouts'\n\
    \x20   input_schema = {'type': 'object', 'properties': {}}\n\
    \x20   async def execute(self, input):\n\
    \x20       import loudly\n\
    \x20       return ToolResult(success=True, output=loudly.shout('hello'))\n";

/// Installs a project with one module, as pip and setuptools do: the module is in `src`.
fn install(site: &Path, directory: &Path, (name, points): (&str, &str), source: &str) {
    write(&directory.join("pyproject.toml"), &format!("[project]\nname = '{name}'\n"));
    write(&directory.join("src").join(name).join("__init__.py"), source);
    let pth = format!("{}\n", directory.join("src").display());
    write(&site.join(format!("__editable__.{name}-0.1.pth")), &pth);
    let metadata = site.join(format!("{name}-0.1.dist-info"));
    write(&metadata.join("METADATA"), &format!("Name: {name}\nVersion: 0.1\n"));
    if !points.is_empty() {
        write(&metadata.join("entry_points.txt"), points);
    }
    let mut url = String::from("file://");
    for byte in directory.to_str().unwrap().bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                url.push(char::from(byte));
            }
            byte => write!(url, "%{byte:02X}").unwrap(),
        }
    }
    let direct = format!("{{\"dir_info\": {{\"editable\": true}}, \"url\": \"{url}\"}}");
    write(&metadata.join("direct_url.json"), &direct);
}

/// A project whose interpreter has the tool `Shout`, developed in this directory of the home.
fn developed(directory: &str) -> (Project, std::path::PathBuf) {
    let project = project();
    let environment = project.home().join("environment");
    venv(&environment);
    let site = site(&environment);
    let points = "[brynhild.tools]\nShout = shouter:Shout\n";
    install(&site, &project.home().join(directory), ("shouter", points), TOOL);
    project.config("plugins: {python: ~/environment/bin/python}\n");
    (project, site)
}

fn shout(project: &Project) -> Run {
    project.brynhild(&["tools", "exec", "Shout", "--yes", "--input", "{}"])
}

#[test]
fn editable_package_and_library_are_found_in_odd_paths() {
    if !has_bubblewrap() {
        return;
    }
    let (project, site) = developed("my plugins/schrei ü 100%");
    let library = project.home().join("my libraries/ö");
    install(&site, &library, ("loudly", ""), "def shout(text):\n    return text.upper()\n");
    let run = shout(&project);
    assert_eq!(run.success().stdout.trim(), "HELLO", "{run}");
}

#[test]
fn missing_module_of_a_package_is_installed_beside_it() {
    if !has_bubblewrap() {
        return;
    }
    let (project, _) = developed("shouter");
    let run = shout(&project);
    assert!(run.code(1).to_string().contains("-m pip install loudly"), "{run}");
    assert!(!run.to_string().contains("plugin.yaml"), "{run}");
}

#[test]
fn editable_entry_opens_only_python_projects() {
    if !has_bubblewrap() {
        return;
    }
    let (project, site) = developed("shouter");
    let library = project.home().join("private");
    install(&site, &library, ("loudly", ""), "def shout(text):\n    return text.upper()\n");
    std::fs::remove_file(library.join("pyproject.toml")).unwrap();
    shout(&project).code(1);
}
