//! `todo`: a list of things to do that lasts for one run.

use async_trait::async_trait;
use contract::tool::Risk;
use serde_json::{Value, json};

use super::function::{self, Function};
use super::options::Options;
use super::{About, Built, ToolHost, text};
use crate::task::{RunScope, Task};

pub(super) const KEYS: &[&str] = &["max_items", "shared", "shared_path"];

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let max_items = options.count_within("max_items", 30, 1..=100)?;
    // A shared list is accepted and has no effect, as where it comes from.
    if options.flag("shared", false)? && options.text("shared_path")?.is_none() {
        return Err(String::from("'shared_path' is required when shared is true"));
    }
    let made = |work| {
        let todo = Todo { work, max_items, run: tool_host.run.clone() };
        function::stateful(todo, described(work).spec(tool_host))
    };
    let works = [Work::Add, Work::AddBatch, Work::Update, Work::Remove, Work::List, Work::Next];
    Ok(Built::of(works.map(made)))
}

#[derive(Clone, Copy)]
enum Work {
    Add,
    AddBatch,
    Update,
    Remove,
    List,
    Next,
}

fn described(work: Work) -> About<'static> {
    let item_id = || json!({"type": "string", "description": "The id of the item"});
    let priority = || {
        json!({
            "type": "string", "default": "medium",
            "description": "critical, high, medium or low",
        })
    };
    let depends_on = || {
        json!({
            "anyOf": [
                {"type": "array", "items": {"type": "string"}}, {"type": "string"},
                {"type": "null"},
            ],
            "default": null,
            "description": "Ids of the items that must be done before",
        })
    };
    let description = || json!({"type": "string", "description": "What is to be done"});
    let optional = |what: &str| json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "description": what});
    let status = "pending, in_progress, completed, failed or skipped";
    let (name, about, properties, required) = match work {
        Work::Add => (
            "add_todo",
            "Add an item to the todo list and return the list.",
            json!({
                "description": description(), "priority": priority(), "depends_on": depends_on(),
            }),
            &["description"][..],
        ),
        Work::AddBatch => (
            "batch_add_todos",
            "Add several items to the todo list at once. `depends_on` of an item names ids, or \
             earlier items of the batch by index (\"0\" is the first).",
            json!({"items": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "description": description(), "priority": priority(),
                    "depends_on": depends_on(),
                },
            }}}),
            &["items"][..],
        ),
        Work::Update => (
            "update_todo",
            "Change the status, the notes or the priority of an item and return the list.",
            json!({
                "item_id": item_id(), "status": optional(status),
                "notes": optional("Notes on the item"),
                "priority": optional("critical, high, medium or low"),
            }),
            &["item_id"][..],
        ),
        Work::Remove => (
            "remove_todo",
            "Remove an item, also from the dependencies of others, and return the list.",
            json!({"item_id": item_id()}),
            &["item_id"][..],
        ),
        Work::List => (
            "list_todos",
            "Show the todo list, or the items that have one status.",
            json!({"status_filter": optional(status)}),
            &[][..],
        ),
        Work::Next => (
            "get_next_todo",
            "Show the most important item that can be worked on now.",
            json!({}),
            &[][..],
        ),
    };
    let (kind, risk) = ("todo", Risk::ReadOnly);
    About { name, description: about, kind, risk, properties, required }
}

struct Todo {
    work: Work,
    max_items: usize,
    run: RunScope,
}

#[async_trait]
impl Function for Todo {
    async fn call(&self, args: &Value) -> Result<String, String> {
        let id = text(args, "item_id");
        self.run.with_task(|Task { list, .. }| match self.work {
            Work::Add => {
                let added = list.add(args, self.max_items)?;
                Ok(format!("Added: {added}\n{list}"))
            }
            Work::AddBatch => {
                let items = args.get("items").and_then(Value::as_array);
                let added = list.add_batch(items.map_or(&[], Vec::as_slice), self.max_items)?;
                Ok(format!("Added {} items: {}\n{list}", added.len(), added.join(", ")))
            }
            Work::Update => list.update(id, args).map(|()| list.to_string()),
            Work::Remove => list.remove(id).map(|()| list.to_string()),
            Work::List => list.filtered(text(args, "status_filter")),
            Work::Next => Ok(list.next()),
        })
    }
}
