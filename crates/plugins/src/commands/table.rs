//! Which command a typed name means.

use std::collections::BTreeMap;
use std::path::Path;

use super::Command;
use crate::problem::Problem;

/// The right to take another command's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rank {
    #[default]
    Full,
    /// It only gets a name that is free.
    Guest,
}

#[derive(Clone, Debug, Default)]
pub struct Table {
    commands: Vec<Command>,
    names: BTreeMap<String, usize>,
    /// Commands without a short name.
    pub problems: Vec<Problem>,
}

impl Table {
    /// Orders commands; `reserved` names are the program's own.
    pub fn new(commands: Vec<Command>, reserved: &[&str]) -> Self {
        let mut table = Self { commands, ..Self::default() };
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for (index, command) in table.commands.iter().enumerate() {
            let name = command.name.to_lowercase();
            if reserved.contains(&name.as_str()) {
                table.problems.push(hidden(command, &command.name, "a built-in command"));
                continue;
            }
            match names.get(&name).map(|index| &table.commands[*index]) {
                Some(earlier) if command.rank == Rank::Guest => {
                    table.problems.push(hidden(command, &command.name, &earlier.source));
                    continue;
                }
                Some(earlier) => {
                    table.problems.push(hidden(earlier, &command.name, &command.source));
                }
                None => {}
            }
            names.insert(name, index);
        }
        let own = names.clone();
        for (index, command) in table.commands.iter().enumerate() {
            for alias in &command.aliases {
                let alias = alias.to_lowercase();
                let is_free = !own.contains_key(&alias) && !reserved.contains(&alias.as_str());
                let yields = command.rank == Rank::Guest && names.contains_key(&alias);
                if is_free && !yields {
                    names.insert(alias, index);
                }
            }
        }
        for (index, command) in table.commands.iter().enumerate() {
            let owner = command.plugin.as_deref().unwrap_or(&command.source).to_lowercase();
            for name in std::iter::once(&command.name).chain(&command.aliases) {
                let name = format!("{owner}:{}", name.to_lowercase());
                names.entry(name).or_insert(index);
            }
        }
        table.names = names;
        table
    }

    /// The command of a name or alias, alone or after its plugin's name and a colon.
    pub fn find(&self, name: &str) -> Option<&Command> {
        self.names.get(&name.to_lowercase()).map(|index| &self.commands[*index])
    }

    /// The shortest name that a command can be typed by.
    pub fn shortest(&self, command: &Command) -> String {
        match self.find(&command.name) {
            Some(found) if found == command => command.name.clone(),
            _ => command.qualified(),
        }
    }

    pub fn commands(&self) -> &[Command] {
        &self.commands
    }
}

fn hidden(command: &Command, name: &str, by: &str) -> Problem {
    let place = command.path.as_deref().map_or_else(
        || std::borrow::Cow::Owned(Path::new(&format!("<{}>", command.source)).to_path_buf()),
        std::borrow::Cow::Borrowed,
    );
    let what = format!("`/{name}` means {by}; this command is `/{}`", command.qualified());
    Problem::new(&place, what, "give it another name to have the short one")
}
