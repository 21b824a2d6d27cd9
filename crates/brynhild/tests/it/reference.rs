//! Reference pages that are generated from the program. `UPDATE=1` rewrites them.

mod files;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::project;

fn check(name: &str, current: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    #[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
    let update = std::env::var_os("UPDATE").is_some();
    if update {
        std::fs::write(&path, current).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == current,
        "docs/{name} is stale; run `UPDATE=1 cargo test -p brynhild reference`"
    );
}

#[test]
fn the_schema_of_events_is_published() {
    let run = project().brynhild(&["schema"]);
    run.success();
    check("reference/events.schema.json", &run.stdout);
    check("reference/events.md", &event_page(&run.json()));
}

#[test]
fn the_schema_of_inputs_is_published() {
    let run = project().brynhild(&["schema", "--inputs"]);
    check("reference/inputs.schema.json", &run.success().stdout);
    check("reference/inputs.md", &input_page(&run.json()));
}

/// A section for each kind of input: its meaning and its fields.
fn input_page(schema: &Value) -> String {
    let mut page = String::from(
        "# Inputs\n\n`brynhild chat --input-format stream-json --output-format stream-json` reads one input per \
         line from standard input. [inputs.schema.json](inputs.schema.json) is the JSON Schema; \
         `brynhild schema --inputs` prints the one of your version. The key `input` names the kind.\n",
    );
    for kind in schema["oneOf"].as_array().unwrap() {
        let name = kind["properties"]["input"]["const"].as_str().unwrap();
        let meaning = kind["description"].as_str().unwrap_or_default();
        let gap = if meaning.is_empty() { "" } else { "\n\n" };
        write!(page, "\n## `{name}`\n\n{meaning}{gap}{}{}", fields(kind), forms(kind)).unwrap();
    }
    page.push_str(&types(schema));
    page
}

/// A section for each kind of event: its meaning and its fields.
fn event_page(schema: &Value) -> String {
    let mut page = String::from(
        "# Events\n\n`--output-format stream-json` prints one event per line, and a session's log is made of them. \
         [events.schema.json](events.schema.json) is the JSON Schema; `brynhild schema` prints the one of your \
         version.\n\n## Every event\n\n",
    );
    page.push_str("- `type` (text): One of the kinds below.\n");
    page.push_str(&fields(schema));
    for kind in schema["oneOf"].as_array().unwrap() {
        let name = kind["properties"]["type"]["const"].as_str().unwrap();
        let meaning = kind["description"].as_str().unwrap_or_default();
        let gap = if meaning.is_empty() { "" } else { "\n\n" };
        let (fields, forms) = (fields(kind), forms(kind));
        write!(page, "\n## `{name}`\n\n{meaning}{gap}{fields}{forms}").unwrap();
    }
    page.push_str(&types(schema));
    page
}

fn types(schema: &Value) -> String {
    let mut page = String::from("\n## Types\n");
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        let meaning = definition["description"].as_str().unwrap_or_default();
        let meaning = if meaning.is_empty() { type_name(definition) } else { meaning.to_owned() };
        write!(page, "\n### {name}\n\n{}\n", meaning.replace('\n', " ")).unwrap();
        let fields = fields(definition) + &forms(definition);
        if !fields.is_empty() {
            write!(page, "\n{fields}").unwrap();
        }
    }
    page
}

/// The fields of an object of a schema, as a list.
fn fields(schema: &Value) -> String {
    let mut list = String::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if field.get("const").is_some() {
            continue;
        }
        let meaning = field["description"].as_str().unwrap_or_default().replace('\n', " ");
        let colon = if meaning.is_empty() { "" } else { ": " };
        let is_required = |it: &Value| it.as_array().is_some_and(|it| it.contains(&json!(name)));
        let optional = if is_required(&schema["required"]) { "" } else { ", optional" };
        writeln!(list, "- `{name}` ({}{optional}){colon}{meaning}", type_name(field)).unwrap();
    }
    list
}

/// The forms that a value of a schema can have, as a list.
fn forms(schema: &Value) -> String {
    let mut list = String::new();
    for form in schema["oneOf"].as_array().into_iter().flatten() {
        let part = |(name, field): (&String, &Value)| match field["const"].as_str() {
            Some(value) => format!("`{name}: {value}`"),
            None => format!("`{name}` ({})", type_name(field)),
        };
        let parts: Vec<String> =
            form["properties"].as_object().into_iter().flatten().map(part).collect();
        let shown = if parts.is_empty() { type_name(form) } else { parts.join(", ") };
        let meaning = form["description"].as_str().unwrap_or_default().replace('\n', " ");
        let colon = if meaning.is_empty() { "" } else { ": " };
        writeln!(list, "- {shown}{colon}{meaning}").unwrap();
    }
    list
}

/// The type of a value of a schema, in words.
fn type_name(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|it| it.strip_prefix("#/$defs/")) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(all) = schema[key].as_array() {
            let mut names: Vec<String> =
                all.iter().filter(|it| it["type"] != "null").map(type_name).collect();
            names.dedup();
            return names.join(" or ");
        }
    }
    if let Some(value) = schema.get("const") {
        return format!("`{}`", value.as_str().unwrap_or_default());
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().filter_map(Value::as_str).map(|it| format!("`{it}`"));
        return values.collect::<Vec<_>>().join(", ");
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or("any");
    match kind {
        "string" => String::from("text"),
        "array" => format!("list of {}", type_name(&schema["items"])),
        "object"
            if schema
                .get("properties")
                .is_some_and(|it| it.as_object().is_some_and(|it| it.len() == 1)) =>
        {
            let (name, field) = schema["properties"].as_object().unwrap().iter().next().unwrap();
            format!("`{name}`: {}", type_name(field))
        }
        kind => kind.to_owned(),
    }
}

#[test]
fn tool_reference_names_every_argument() {
    let page = include_str!("../../../../docs/reference/tools.md");
    let project = project().env("BRAVE_API_KEY", "k");
    project.config("web: {search: brave}\n");
    let tools = project.brynhild(&["tools", "list", "--json"]).success().json();
    let tools = tools.as_array().unwrap();
    assert!(tools.len() > 10, "{tools:?}");
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` | ")));
        let row = row.unwrap_or_else(|| panic!("{name} is not in the table"));
        let schema = project.brynhild(&["tools", "schema", name]).success().json();
        for argument in schema["input_schema"]["properties"].as_object().unwrap().keys() {
            assert!(row.contains(&format!("`{argument}`")), "{name}: `{argument}` is missing");
        }
    }
}

#[test]
fn command_reference_equals_the_help() {
    let project = project();
    let mut page = String::from(
        "# Commands\n\nThe output of `--help`, for every command. All commands accept the options of the \
         first one, except those of `chat`, before and after the command's name.\n",
    );
    // Each command, then its own.
    let mut commands = vec![String::new()];
    while let Some(command) = commands.pop() {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let run = project.brynhild(&words);
        run.success();
        let help = run.stdout.trim_end();
        let title = format!("brynhild {command}");
        writeln!(page, "\n## {}\n\n```text\n{help}\n```", title.trim()).unwrap();
        let own: Vec<String> =
            subcommands(&run.stdout).map(|it| format!("{command} {it}")).collect();
        commands.extend(own.into_iter().rev());
    }
    check("reference/cli.md", &page);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the page is written by Python's own parser")]
fn python_reference_equals_the_docstrings() {
    let shims = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python-host/python/shim");
    let script = include_str!("reference/python_api.py");
    let run = Command::new("python3").args(["-I", "-c", script]).arg(shims).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    check("reference/python-api.md", &String::from_utf8(run.stdout).unwrap());
}

#[test]
fn exit_codes_equal_the_enum() {
    let source = include_str!("../../../line-ui/src/exit.rs");
    let (codes, rest) = (code_lines(source), source.split_once("pub enum Exit {").unwrap().1);
    let mut rows = Vec::new();
    let mut meaning = String::new();
    for line in rest.lines().take_while(|line| *line != "}").map(str::trim) {
        if let Some(text) = line.strip_prefix("/// ") {
            meaning = format!("{meaning} {text}");
            continue;
        }
        let name = line.split(['(', ',']).next().unwrap();
        if !name.is_empty() {
            rows.push((codes(name), meaning.trim().to_owned()));
            meaning.clear();
        }
    }
    rows.push((
        Some(101),
        String::from("The program crashed. The message names the session to resume."),
    ));
    rows.sort_by_key(|(code, _)| code.unwrap_or(u8::MAX));
    let mut page = String::from("# Exit codes\n\n| code | meaning |\n|---|---|\n");
    for (code, meaning) in rows {
        let code = code.map_or_else(|| String::from("other"), |code| code.to_string());
        writeln!(page, "| {code} | {meaning} |").unwrap();
    }
    check("reference/exit-codes.md", &page);
}

/// Finds the code of a variant in the function `code`.
fn code_lines(source: &str) -> impl Fn(&str) -> Option<u8> {
    move |name| {
        let mut arms = source.lines().filter_map(|line| line.split_once("=>"));
        let is_named = |left: &str| left.split('|').any(|it| it.trim() == format!("Self::{name}"));
        let (_, code) = arms.find(|(left, _)| is_named(left))?;
        code.trim().trim_end_matches(',').parse().ok()
    }
}

/// The names in the list of commands of a help text.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = list.take_while(|line| !line.is_empty());
    let names = names.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help")
}

#[test]
fn completions_and_the_manual_are_generated() {
    let project = project();
    for shell in ["bash", "zsh", "fish"] {
        let run = project.brynhild(&["completions", shell]);
        run.success();
        assert!(run.stdout.contains("brynhild"), "{shell}");
    }
    let manual = project.brynhild(&["man"]);
    manual.success();
    assert!(manual.stdout.contains(".TH"), "{}", manual.stdout);
}
