//! `skill`, `command`, `rules`, `profile` and `agents`: lists, shows and checks what the user, the
//! project and plugins contribute.

use std::path::{Path, PathBuf};

use args::{CommandCommand, ProfileCommand, RulesCommand, SkillCommand};
use assemble::agent_list::{self, Agent, AgentList, Kind};
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::mcp;
use assemble::output::{self, table};
use assemble::run_context::RunContext;
use contract::skill::Skill;
use serde_json::{Value, json};

use super::plugin::in_plugins;
use super::{print_problems, shortened, text};
use crate::frontends::slash::{self, Offer};

pub(crate) fn skill(assembly: &Assembly, command: &SkillCommand) -> Outcome {
    match command {
        SkillCommand::List => list_skills(assembly),
        SkillCommand::Show { name, body } => show_skill(assembly, name, *body),
        SkillCommand::Validate { path } => validate_skill(assembly, path),
    }
}

fn skill_data(skill: &Skill) -> Value {
    let shown = |paths: Vec<PathBuf>| {
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
    };
    json!({
        "name": skill.name,
        "description": skill.description,
        "path": skill.directory.as_ref().map(|directory| directory.display().to_string()),
        "source": skill.source,
        "license": skill.license,
        "allowed_tools": skill.allowed_tools,
        "body_lines": plugins::skills::body_lines(skill),
        "exceeds_limit": plugins::skills::exceeds_limit(skill),
        "reference_files": shown(plugins::skills::references(skill)),
        "scripts": shown(plugins::skills::scripts(skill)),
    })
}

fn list_skills(assembly: &Assembly) -> Outcome {
    let root = assembly.place();
    let skills = assemble::skills::find(assembly, root);
    let rows: Vec<Value> = skills.iter().map(skill_data).collect();
    let root = root.display().to_string();
    let data = json!({"project_root": root, "skill_count": rows.len(), "skills": rows});
    let row = |skill: &Skill| {
        [&skill.name, &skill.source, &*shortened(&skill.description, 80)].map(str::to_owned)
    };
    assembly.report(&data, table(skills.iter().map(row)))
}

fn show_skill(assembly: &Assembly, name: &str, with_body: bool) -> Outcome {
    let skills = assemble::skills::find(assembly, assembly.place());
    let skill = skills.iter().find(|skill| skill.name == name.to_lowercase());
    let skill = skill.ok_or_else(|| {
        Problem::failed(format!("Skill not found: {name}"))
            .hint("`brynhild skill list` lists all skills")
    })?;
    let mut data = skill_data(skill);
    let title = format!("{} ({})", skill.name, skill.source);
    let mut lines = vec![title, skill.description.clone()];
    if let Some(directory) = &skill.directory {
        lines.push(format!("in {}", directory.display()));
    }
    if with_body {
        data["body"] = json!(skill.body);
        lines.push(format!("\n{}", skill.body));
    }
    assembly.report(&data, lines.join("\n"))
}

fn validate_skill(run: &RunContext, path: &Path) -> Outcome {
    let problems = plugins::skills::validate(&run.environment.cwd.join(path));
    let path = path.display().to_string();
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let data = json!({"path": path, "valid": problems.is_empty(), "problems": texts});
    if problems.is_empty() {
        return run.report(&data, format_args!("{path} is a valid skill."));
    }
    run.report(&data, "")?;
    if !run.wants_json() {
        print_problems(&problems);
    }
    Ok(Exit::Failed)
}

pub(crate) async fn command(assembly: &Assembly, command: &CommandCommand) -> Outcome {
    match command {
        CommandCommand::List => list_commands(assembly),
        CommandCommand::Render { name, words } => render(assembly, name, &words.join(" ")).await,
    }
}

fn list_commands(assembly: &Assembly) -> Outcome {
    let offer = Offer::with_prompts(assembly);
    let is_of_plugin = in_plugins(assembly, &[]);
    let is_command = |path: &Path| path.components().any(|part| part.as_os_str() == "commands");
    assembly.release_problems(|path| is_command(path) || !is_of_plugin(path));
    offer.report();
    let data = |name: &str, description: &str, args: &str, source: &str| {
        json!({
            "name": name, "description": description, "aliases": [], "args": args,
            "source": source, "plugin": null, "path": null,
        })
    };
    let builtin = slash::BUILTIN.iter().map(|it| data(it.name, it.description, it.args, "builtin"));
    let own = offer.table.commands().iter().map(|command| {
        let mut row = command.to_json();
        row.as_object_mut().and_then(|fields| fields.shift_remove("body"));
        row["typed"] = format!("/{}", offer.table.shortest(command)).into();
        row
    });
    let prompts = offer.prompts.iter().map(|it| {
        let mut row = data(&it.name, &it.description, &it.usage, &format!("mcp:{}", it.server));
        row["typed"] = format!("/{}", it.name).into();
        row
    });
    let rows: Vec<Value> = builtin.chain(own).chain(prompts).collect();
    let cells = |row: &Value| {
        let typed = row["typed"].as_str().and_then(|typed| typed.strip_prefix('/'));
        let typed = format!("/{} {}", typed.unwrap_or(text(row, "name")), text(row, "args"));
        [typed.trim_end(), text(row, "source"), &*shortened(text(row, "description"), 70)]
            .map(str::to_owned)
    };
    let words = table(rows.iter().map(cells));
    assembly.report(&json!({"commands": rows, "count": rows.len()}), words)
}

async fn render(assembly: &Assembly, name: &str, words: &str) -> Outcome {
    let name = name.strip_prefix('/').unwrap_or(name);
    let text = match Offer::new(assembly).rendered(assembly, name, words) {
        Some(text) => Some(text),
        None => mcp::prompt(assembly, name, words).await?,
    };
    let Some(text) = text else {
        let what = if slash::builtin(name).is_some() {
            format!("`/{name}` is built in and sends no text")
        } else {
            format!("Command not found: {name}")
        };
        return Err(Problem::failed(what).hint("`brynhild command list` shows all"));
    };
    if assembly.wants_json() {
        output::json(&json!({"name": name, "args": words, "text": text}))?;
    } else {
        output::line(text)?;
    }
    Ok(Exit::Done)
}

pub(crate) fn rules(assembly: &Assembly, command: &RulesCommand) -> Outcome {
    let rules = assemble::knowledge::rules(assembly, assembly.place()).rules;
    let row = |rule: &plugins::rules::RuleFile| {
        let path = rule.path.display().to_string();
        json!({"path": path, "text": rule.text, "truncated": rule.truncated})
    };
    let data = json!({"rules": rules.iter().map(row).collect::<Vec<_>>()});
    if rules.is_empty() {
        return assembly.report(&data, "No rules apply here.");
    }
    match command {
        RulesCommand::Show => assembly.report(&data, plugins::rules::prompt_block(&rules)),
        RulesCommand::List => {
            let row = |rule: &plugins::rules::RuleFile| {
                let count = rule.text.lines().count();
                let lines = format!("{count} line{}", if count == 1 { "" } else { "s" });
                let first = rule.text.lines().find(|line| !line.trim().is_empty());
                [rule.path.display().to_string(), lines, shortened(first.unwrap_or_default(), 60)]
            };
            assembly.report(&data, table(rules.iter().map(row)))
        }
    }
}

pub(crate) fn profile(assembly: &Assembly, command: &ProfileCommand) -> Outcome {
    let profiles = assemble::answering_model::profiles(assembly);
    match command {
        ProfileCommand::List => {
            let rows = profiles.iter().map(|it| [&it.name, &it.family, &it.description]);
            let data = json!({"profiles": profiles, "count": profiles.len()});
            assembly.report(&data, table(rows))
        }
        ProfileCommand::Show { name } => {
            let profile = plugins::profiles::find(&profiles, name)
                .ok_or_else(|| Problem::failed(format!("Profile not found: {name}")))?;
            output::json(profile)?;
            Ok(Exit::Done)
        }
        ProfileCommand::Resolve { model } => {
            let models = &assembly.config().models;
            let named = model.as_deref().or(assembly.global.model.as_deref());
            let named = named.unwrap_or(&models.default);
            let model = models.aliases.get(named).map_or(named, String::as_str);
            let configured = &assembly.config().providers.default;
            let provider = assembly.global.provider.as_ref().unwrap_or(configured);
            let profile = plugins::profiles::resolve(&profiles, model, provider);
            let data = json!({
                "model": model,
                "provider": provider,
                "resolved_profile": profile.name,
                "profile": profile,
            });
            assembly.report(&data, &profile.name)
        }
    }
}

pub(crate) fn agents(assembly: &Assembly) -> Outcome {
    let list = AgentList::find(assembly);
    output::problems(&list.problems);
    let row = |agent: &Agent| {
        let about = agent.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut about = shortened(&about, 80);
        if let Kind::File(file) = &agent.kind
            && !file.ignored.is_empty()
        {
            about = format!("{about} (without effect: {})", file.ignored.join(", "));
        }
        [agent.name.clone(), agent.source.clone(), about]
    };
    let data: Vec<Value> = list.agents.iter().map(agent_data).collect();
    assembly.report(&data, table(list.agents.iter().map(row)))
}

fn agent_data(agent: &Agent) -> Value {
    let mut object = json!({
        "name": agent.name,
        "description": agent.description,
        "source": agent.source,
        "path": agent_list::path(agent).map(|path| path.display().to_string()),
    });
    if let Kind::File(file) = &agent.kind {
        object["tools"] = json!(file.tools);
        object["disallowed_tools"] = json!(file.disallowed_tools);
        object["model"] = json!(file.model);
        object["max_turns"] = json!(file.max_turns);
        object["permission_mode"] = json!(file.permission_mode);
        object["skills"] = json!(file.skills);
        object["ignored"] = json!(file.ignored);
    }
    object
}
