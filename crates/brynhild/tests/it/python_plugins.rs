//! Plugins as a stranger writes them from the public documents, run by the shipped program: tools,
//! providers, packages, broken ones, what they may do, what happens when they change, and the
//! examples that we ship.

mod broken;
mod confinement;
pub(crate) mod documents;
mod editable;
mod examples;
mod many;
mod packages;
mod providers;
mod reload;
mod settings;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{ModelServer, Project, Run};

/// Writes a file, with the directories around it.
fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A plugin of the user's own with these files; tools and providers count.
pub(crate) fn plugin(project: &Project, name: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = project.config_directory().join("plugins").join(name);
    let manifest =
        format!("name: {name}\nversion: '1.0.0'\ntools: [all]\nproviders: [all]\nhooks: true\n");
    write(&root.join("plugin.yaml"), &manifest);
    write(&root.join("hooks.yaml"), "version: 1\nhooks: {}\n");
    fs::create_dir_all(root.join("tools")).unwrap();
    fs::create_dir_all(root.join("providers")).unwrap();
    for (file, text) in files {
        write(&root.join(file), text);
    }
    root
}

/// A tool's file whose `execute` has this body, four spaces deep from the margin.
pub(crate) fn tool(name: &str, body: &str) -> String {
    let body = body.replace('\n', "\n        ");
    format!(
        "import asyncio, json, os, socket, subprocess, sys, time\n\
         from brynhild.tools.base import Tool as Base, ToolResult\n\n\n\
         class Tool(Base):\n    name = \"{name}\"\n    description = \"Tries {name}\"\n    \
         input_schema = {{\"type\": \"object\", \"properties\": {{}}}}\n    \
         requires_permission = False\n\n    \
         async def execute(self, input):\n        {body}\n"
    )
}

/// Runs one tool without any question.
fn exec(project: &Project, tool: &str, input: &Value) -> Run {
    let input = input.to_string();
    project.brynhild(&["--mode", "yolo", "tools", "exec", tool, "--input", &input, "--json"])
}

/// The output of a tool that must succeed.
fn output(run: &Run) -> String {
    let result = run.json();
    assert_eq!(result["success"], true, "{run}");
    result["output"].as_str().unwrap().to_owned()
}

/// The error of a tool that must fail.
fn error(run: &Run) -> String {
    let result = run.json();
    assert_eq!(result["success"], false, "{run}");
    result["error"].as_str().unwrap().to_owned()
}

/// The results of tools that a request carries, the last first.
fn results(server: &ModelServer, chat: usize) -> Vec<String> {
    let body = server.chats()[chat].body.clone();
    let messages = body["messages"].as_array().unwrap().iter().rev();
    messages
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns true if a process with this argument is alive.
fn runs(word: &str) -> bool {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.map(|entry| entry.path().join("cmdline")).any(|file| {
        let words = fs::read(file).unwrap_or_default();
        words.split(|&byte| byte == 0).any(|found| found == word.as_bytes())
    })
}
