//! Skills of these plugins, read leniently: what can be understood is taken.

use std::path::Path;

use contract::skill::Skill;

use super::document::{self, Document};
use super::values::{Reader, Values};
use crate::hidden;
use crate::problem::Problem;
use crate::skills::fault_of_name;

const DESCRIPTION: usize = 1024;

pub(crate) struct FoundSkill {
    pub(crate) skill: Skill,
    pub(crate) document: Document,
    pub(crate) is_for_model: bool,
    pub(crate) is_for_people: bool,
    pub(crate) remark: Option<String>,
}

pub(crate) fn parse(
    directory: &Path,
    file: &Path,
    text: &str,
    (source, values): (&str, &Values),
) -> Result<FoundSkill, Problem> {
    let stripped = hidden::strip(text);
    let mut remark = stripped.report;
    let document = document::read(&stripped.text)
        .map_err(|error| Problem::new(file, error.what, error.hint))?;
    let own = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let said = document.words("name").unwrap_or_else(|| own.clone());
    let name = if fault_of_name(&said).is_none() { said } else { plain(&own) };
    if let Some(fault) = fault_of_name(&name) {
        let what = format!("the name {name:?} {fault}");
        return Err(Problem::new(file, what, "rename the skill's directory"));
    }
    let Some(description) = document.words("description") else {
        let hint = "add `description:` and say what the skill does and when to use it";
        return Err(Problem::new(file, "`description` is missing", hint));
    };
    let description = match document.words("when_to_use") {
        Some(when) => format!("{description} {when}"),
        None => description,
    };
    if description.chars().count() > DESCRIPTION {
        remark = Some(format!("its description is cut to {DESCRIPTION} characters"));
    }
    let body = values.put_into(&document.body, Reader::Model);
    let body = body.replace("${CLAUDE_SKILL_DIR}", &directory.display().to_string());
    let skill = Skill {
        name,
        description: description.chars().take(DESCRIPTION).collect(),
        source: source.to_owned(),
        license: document.words("license"),
        allowed_tools: document.names("allowed-tools"),
        body,
        directory: Some(directory.to_path_buf()),
    };
    let is_for_model = document.switch("disable-model-invocation") != Some(true);
    let is_for_people = document.switch("user-invocable") != Some(false);
    Ok(FoundSkill { skill, document, is_for_model, is_for_people, remark })
}

fn plain(name: &str) -> String {
    let lower = name.to_lowercase();
    let usable = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = lower.chars().map(usable).take(64).collect();
    name.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skill_with_a_title_is_named_after_its_directory() {
        let values = Values { root: "/p".into(), ..Values::default() };
        let text = "---\nname: Front End\ndescription: Makes pages\nwhen_to_use: On request.\n\
                    disable-model-invocation: yes\n---\nSee ${CLAUDE_SKILL_DIR}/a and \
                    ${CLAUDE_PLUGIN_ROOT}/b";
        let directory = Path::new("/p/skills/Front_End");
        let found =
            parse(directory, &directory.join("SKILL.md"), text, ("plugin:x", &values)).unwrap();
        assert_eq!(found.skill.name, "front-end");
        assert_eq!(found.skill.description, "Makes pages On request.");
        assert_eq!(found.skill.body, "See /p/skills/Front_End/a and /p/b");
        assert!(!found.is_for_model && found.is_for_people);
    }
}
