//! The items of a todo list, and its text.

use std::fmt;

use serde_json::Value;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Pending,
    InProgress,
    Completed,
    Failed,
    Skipped,
}

impl Status {
    fn parse(name: &str) -> Result<Self, String> {
        let all = [Self::Pending, Self::InProgress, Self::Completed, Self::Failed, Self::Skipped];
        let found = all.into_iter().find(|status| status.name() == name);
        found.ok_or_else(|| format!("Invalid status '{name}'"))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    fn mark(self) -> char {
        match self {
            Self::Pending => ' ',
            Self::InProgress => '>',
            Self::Completed => 'x',
            Self::Failed => '!',
            Self::Skipped => '-',
        }
    }

    fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Skipped)
    }
}

fn text<'a>(args: &'a Value, name: &str) -> &'a str {
    args.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Most important first.
const PRIORITIES: [&str; 4] = ["critical", "high", "medium", "low"];

/// The priority of a name; medium for an unknown one.
fn priority(name: &str) -> &'static str {
    PRIORITIES.into_iter().find(|it| *it == name).unwrap_or("medium")
}

struct Item {
    id: String,
    description: String,
    priority: &'static str,
    status: Status,
    notes: String,
    depends_on: Vec<String>,
}

impl Item {
    fn title(&self) -> String {
        format!("{} [{}] {}", self.id, self.priority.to_uppercase(), self.description)
    }
}

/// In the order in which items were added.
#[derive(Default)]
pub(crate) struct TodoList(Vec<Item>);

impl TodoList {
    /// Adds the item that `args` describes and returns its id.
    pub(crate) fn add(&mut self, args: &Value, max_items: usize) -> Result<String, String> {
        let depends_on = self
            .dependencies(args, &[])
            .map_err(|named| format!("Dependency '{named}' does not exist"))?;
        self.insert(args, depends_on, max_items)
    }

    /// Adds all items that have a description, or none if one of them is wrong.
    pub(crate) fn add_batch(
        &mut self,
        items: &[Value],
        max_items: usize,
    ) -> Result<Vec<String>, String> {
        let before = self.0.len();
        // An index counts the items of the call, skipped ones included.
        let mut batch = Vec::new();
        for item in items {
            if text(item, "description").is_empty() {
                batch.push(String::new());
                continue;
            }
            let depends_on = self.dependencies(item, &batch).map_err(|named| {
                format!("Dependency '{named}' not found (batch index or existing ID)")
            });
            let added = depends_on.and_then(|depends_on| self.insert(item, depends_on, max_items));
            batch.push(added.inspect_err(|_| self.0.truncate(before))?);
        }
        batch.retain(|id| !id.is_empty());
        Ok(batch)
    }

    fn insert(
        &mut self,
        args: &Value,
        depends_on: Vec<String>,
        max_items: usize,
    ) -> Result<String, String> {
        if self.0.len() >= max_items {
            return Err(format!("Todo list full ({max_items} items)"));
        }
        let id = format!("{:08x}", fastrand::u32(..));
        self.0.push(Item {
            id: id.clone(),
            description: text(args, "description").to_owned(),
            priority: priority(text(args, "priority")),
            status: Status::Pending,
            notes: String::new(),
            depends_on,
        });
        Ok(id)
    }

    /// The ids that `depends_on` names, items of `batch` by index. An error is an unknown name.
    fn dependencies(&self, args: &Value, batch: &[String]) -> Result<Vec<String>, String> {
        let resolve = |named: String| {
            let by_index = named.parse::<usize>().ok().and_then(|index| batch.get(index));
            let id = by_index.unwrap_or(&named).clone();
            if self.0.iter().any(|item| item.id == id) { Ok(id) } else { Err(named) }
        };
        names(&args["depends_on"]).into_iter().map(resolve).collect()
    }

    fn index(&self, id: &str) -> Result<usize, String> {
        let found = self.0.iter().position(|item| item.id == id);
        found.ok_or_else(|| format!("Todo item '{id}' not found"))
    }

    /// Changes the fields of an item that `args` has.
    pub(crate) fn update(&mut self, id: &str, args: &Value) -> Result<(), String> {
        let index = self.index(id)?;
        let item = &mut self.0[index];
        if let Some(status) = args.get("status").and_then(Value::as_str) {
            item.status = Status::parse(status)?;
        }
        if let Some(notes) = args.get("notes").and_then(Value::as_str) {
            notes.clone_into(&mut item.notes);
        }
        if let Some(name) = args.get("priority").and_then(Value::as_str) {
            item.priority = priority(name);
        }
        Ok(())
    }

    pub(crate) fn remove(&mut self, id: &str) -> Result<(), String> {
        let index = self.index(id)?;
        self.0.remove(index);
        self.0.iter_mut().for_each(|item| item.depends_on.retain(|it| it != id));
        Ok(())
    }

    /// The items that have a status; the whole list if none is named.
    pub(crate) fn filtered(&self, status: &str) -> Result<String, String> {
        if status.is_empty() {
            return Ok(self.to_string());
        }
        let wanted = Status::parse(status)?;
        let items = self.0.iter().filter(|item| item.status == wanted);
        let lines: Vec<String> = items.map(|item| format!("  {}", item.title())).collect();
        Ok(if lines.is_empty() {
            format!("No items with status '{status}'.")
        } else {
            format!("Todo items ({status}):\n{}", lines.join("\n"))
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if there are items and no work is left.
    pub(crate) fn is_done(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|item| item.status.is_terminal())
    }

    /// Names the oldest of the most important items whose dependencies are done.
    pub(crate) fn next(&self) -> String {
        let is_done = |id: &String| {
            self.0.iter().find(|item| item.id == *id).is_none_or(|item| item.status.is_terminal())
        };
        let is_ready =
            |item: &&Item| item.status == Status::Pending && item.depends_on.iter().all(is_done);
        let rank = |item: &&Item| PRIORITIES.iter().position(|it| *it == item.priority);
        if let Some(item) = self.0.iter().filter(is_ready).min_by_key(rank) {
            let notes = if item.notes.is_empty() {
                String::new()
            } else {
                format!(" (notes: {})", item.notes)
            };
            return format!("Next: {}{notes}", item.title());
        }
        String::from(if self.0.is_empty() || self.is_done() {
            "All todo items are done."
        } else {
            "No actionable items (pending items have unfinished dependencies)."
        })
    }
}

/// Ids or indices, as a list or separated by commas.
fn names(value: &Value) -> Vec<String> {
    let named: Vec<String> = match value {
        Value::String(text) => text.split(',').map(|id| id.trim().to_owned()).collect(),
        Value::Array(items) => {
            let name = |item: &Value| item.as_str().map_or(item.to_string(), str::to_owned);
            items.iter().map(name).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    named.into_iter().filter(|id| !id.is_empty()).collect()
}

impl fmt::Display for TodoList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("(No todo items)");
        }
        f.write_str("Todo List:")?;
        for item in &self.0 {
            write!(f, "\n  [{}] {} ({})", item.status.mark(), item.title(), item.status.name())?;
            if !item.depends_on.is_empty() {
                write!(f, " (deps: {})", item.depends_on.join(", "))?;
            }
            if !item.notes.is_empty() {
                write!(f, "\n       {}", item.notes)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn batch(list: &mut TodoList, items: &Value) -> Result<Vec<String>, String> {
        list.add_batch(items.as_array().unwrap(), 4)
    }

    #[test]
    fn items_are_listed_with_status_and_dependencies() {
        let mut list = TodoList::default();
        assert_eq!(list.to_string(), "(No todo items)");
        let items = json!([
            {"description": "read", "priority": "low"}, {"priority": "high"},
            {"description": "write", "priority": "critical", "depends_on": ["0"]},
        ]);
        let ids = batch(&mut list, &items).unwrap();
        let [read, write] = ids.as_slice() else { panic!("{ids:?}") };
        assert_eq!(list.next(), format!("Next: {read} [LOW] read"));
        list.update(read, &json!({"status": "completed", "notes": "short"})).unwrap();
        let wanted = format!(
            "Todo List:\n  [x] {read} [LOW] read (completed)\n       short\n  [ ] {write} \
             [CRITICAL] write (pending) (deps: {read})"
        );
        assert_eq!(list.to_string(), wanted);
        assert_eq!(list.next(), format!("Next: {write} [CRITICAL] write"));
        list.remove(read).unwrap();
        assert!(!list.to_string().contains("deps"), "{list}");
        list.update(write, &json!({"status": "skipped"})).unwrap();
        assert_eq!(list.next(), "All todo items are done.");
        assert_eq!(list.filtered("failed").unwrap(), "No items with status 'failed'.");
        assert_eq!(
            list.filtered("skipped").unwrap(),
            format!("Todo items (skipped):\n  {write} [CRITICAL] write")
        );
    }

    #[test]
    fn wrong_changes_are_named_and_change_nothing() {
        let mut list = TodoList::default();
        let said = batch(
            &mut list,
            &json!([{"description": "a"}, {"description": "b", "depends_on": "1"}]),
        );
        assert_eq!(said.unwrap_err(), "Dependency '1' not found (batch index or existing ID)");
        assert_eq!(list.to_string(), "(No todo items)");
        let said = list.add(&json!({"description": "a", "depends_on": ["zz"]}), 4);
        assert_eq!(said.unwrap_err(), "Dependency 'zz' does not exist");
        let many = json!([{"description": "a"}, {"description": "a"}, {"description": "a"},
            {"description": "a"}, {"description": "a"}]);
        assert_eq!(batch(&mut list, &many).unwrap_err(), "Todo list full (4 items)");
        assert_eq!(list.remove("zz").unwrap_err(), "Todo item 'zz' not found");
        assert_eq!(list.filtered("odd").unwrap_err(), "Invalid status 'odd'");
        let id = list.add(&json!({"description": "a", "priority": "odd"}), 4).unwrap();
        assert!(list.to_string().contains("[MEDIUM]"));
        let said = list.update(&id, &json!({"status": "done"}));
        assert_eq!(said.unwrap_err(), "Invalid status 'done'");
        list.add(&json!({"description": "b", "depends_on": [id.clone()]}), 4).unwrap();
        list.update(&id, &json!({"status": "in_progress"})).unwrap();
        let wanted = "No actionable items (pending items have unfinished dependencies).";
        assert_eq!(list.next(), wanted);
    }
}
