//! The memory of roles: it outlives processes, is part of prompts, and is managed by `memory`.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::Server;
use super::builtin::{exec, failure, output};
use super::documents::embeddings;
use crate::{project, project_with};

fn role(memory: &Value) -> String {
    json!({"name": "keeper", "prompt": "You keep notes.", "memory": memory}).to_string()
}

fn with_memory(memory: &Value) -> Project {
    let project = project();
    project.file("role.yaml", role(memory));
    project
}

fn system(request: &Value) -> &str {
    request["messages"][0]["content"].as_str().unwrap()
}

#[test]
fn memories_survive_and_are_recalled() {
    let project = with_memory(&json!({}));
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert_eq!(run.success().stderr, "", "{run}");
    assert_eq!(output(&project, "recall", &json!({"query": "tea"})), "No memories stored yet.");
    assert_eq!(output(&project, "list_memories", &json!({})), "No memories found.");
    let args = json!({"content": "Ada drinks green tea", "category": "Likes & Dislikes"});
    let run = exec(&project, "remember", &args, &["--mode", "read-only"]);
    assert_eq!(run.success().json()["output"], "Remembered (id=1, category=likes_dislikes)");
    let args = json!({"content": "Deployed the tea shop"});
    assert_eq!(
        output(&project, "record_episode", &args),
        "Recorded episode (id=2, category=general)"
    );
    let found = output(&project, "recall", &json!({"query": "Does Ada like teas?", "top_k": 1}));
    assert!(
        found.starts_with("[Type: semantic | Category: likes_dislikes | Score: 1.000 | 20"),
        "{found}"
    );
    assert!(found.ends_with("]\nAda drinks green tea"), "{found}");
    let episodes = json!({"query": "tea", "memory_types": ["episodic"]});
    assert!(output(&project, "recall", &episodes).ends_with("\nDeployed the tea shop"));
    let said = output(&project, "recall", &json!({"query": "coffee"}));
    assert_eq!(said, "No relevant memories found.");
    let list = output(&project, "list_memories", &json!({"category": "Likes & dislikes"}));
    assert!(list.starts_with("[semantic:likes_dislikes] (20"), "{list}");
    let said = failure(&project, "list_memories", &json!({"memory_type": "odd"}));
    assert!(said.starts_with("Error: unknown memory type 'odd'; there are semantic"), "{said}");
}

#[test]
fn embeddings_recall_memories_by_meaning() {
    let server = Server::start(embeddings);
    let model = ModelServer::start([Reply::text("Hello.")]).repeat_last();
    let project = project_with(&model).env("EMBEDDING_KEY", "s3cret");
    project.config_more("api: {allow_private: [127.0.0.1]}\n");
    let settings = |model: &str, key: &str| {
        let server = server.url();
        role(&json!({"embeddings": {"base_url": server, "model": model, "api_key_env": key}}))
    };
    project.file("role.yaml", settings("small", "EMBEDDING_KEY"));
    for content in ["heron", "fish"] {
        output(&project, "remember", &json!({"content": content}));
    }
    let recall = |query: &str| output(&project, "recall", &json!({"query": query, "top_k": 1}));
    assert!(recall("bird").ends_with("]\nheron"));
    let bodies = || server.seen().iter().map(|seen| seen.body().to_owned()).collect::<Vec<_>>();
    let both = json!({"model": "small", "input": ["heron", "fish"]}).to_string();
    assert_eq!(bodies().iter().filter(|body| **body == both).count(), 1, "{:?}", bodies());
    assert!(recall("a fish").ends_with("]\nfish"));
    assert_eq!(bodies().len(), 3, "vectors are made once: {:?}", bodies());
    project.file("role.yaml", settings("large", "EMBEDDING_KEY"));
    assert!(recall("bird").ends_with("]\nheron"));
    assert_eq!(bodies().len(), 5, "another model makes its own vectors: {:?}", bodies());
    project.brynhild(&["run", "role.yaml", "-p", "Which bird?"]).success();
    project.brynhild(&["run", "role.yaml", "--continue", "-p", "Which one?"]).success();
    let prompt = system(&model.chats()[1].body).to_owned();
    let heron = prompt.find("- [semantic] heron").unwrap_or_else(|| panic!("{prompt}"));
    assert!(heron < prompt.find("- [semantic] fish").unwrap(), "{prompt}");
    project.file("role.yaml", settings("large", "UNSET_KEY"));
    let run = exec(&project, "recall", &json!({"query": "heron"}), &["--yes"]);
    let wanted = "memories are searched by words: no embeddings: UNSET_KEY is not set";
    assert!(run.success().stderr.contains(wanted), "{run}");
}

#[test]
fn disabled_kinds_lose_their_tools() {
    let off = json!({"enabled": false});
    let project = with_memory(&json!({"episodic": off, "procedural": off}));
    let run = project.brynhild(&["tools", "list", "--role", "role.yaml"]);
    let list = &run.success().stdout;
    assert!(list.contains("remember") && list.contains("list_memories"), "{run}");
    assert!(!list.contains("record_episode") && !list.contains("learn_procedure"), "{run}");
}

#[test]
fn procedures_and_recalled_memories_are_in_prompts() {
    let model = ModelServer::start([
        Reply::calls([(
            "learn_procedure",
            json!({"content": "Answer in verse", "category": "style"}),
        )]),
        Reply::calls([("remember", json!({"content": "the harbor opens at nine"}))]),
        Reply::text("Noted."),
        Reply::text("Again."),
    ]);
    let project = project_with(&model);
    project.file("role.yaml", role(&json!({})));
    project.brynhild(&["run", "role.yaml", "-p", "when is the harbor open?"]).success();
    project.brynhild(&["run", "role.yaml", "-p", "and now?", "--continue"]).success();
    let chats = model.chats();
    assert!(!system(&chats[0].body).contains("## "), "{}", chats[0].body);
    let resumed = system(&chats[3].body);
    let wanted = "You keep notes.\n\n## Learned Procedures and Policies\n\n- [style] Answer in verse\
                  \n\n## Recalled Memories (from previous sessions)\n\n- [semantic] the harbor opens at nine";
    assert!(resumed.starts_with(wanted), "{resumed}");
}

#[test]
fn memory_is_exported_imported_listed_and_cleared() {
    let project = with_memory(&json!({}));
    output(&project, "remember", &json!({"content": "one", "category": "a"}));
    output(&project, "learn_procedure", &json!({"content": "two"}));
    let run = project.brynhild(&["memory", "export", "role.yaml"]);
    assert_eq!(run.success().stdout, "Exported 2 memories to memories.json.\n", "{run}");
    let exported: Value = serde_json::from_str(&project.read("memories.json")).unwrap();
    assert_eq!(exported[1]["content"], "one");
    assert_eq!(exported[0]["memory_type"], "procedural");
    let run = project.brynhild(&["memory", "clear", "role.yaml"]);
    assert!(run.code(1).stderr.contains("`--force` asks nothing"), "{run}");
    let run = project.brynhild(&["memory", "clear", "role.yaml", "--force"]);
    assert_eq!(run.success().stdout, "Cleared 2 memories and 0 sessions.\n", "{run}");
    let run = project.brynhild(&["memory", "list", "role.yaml"]);
    assert_eq!(run.success().stdout, "No memories found.\n", "{run}");
    let run = project.brynhild(&["memory", "import", "role.yaml", "memories.json"]);
    assert_eq!(run.success().stdout, "Imported 2 memories.\n", "{run}");
    let run = project.brynhild(&["memory", "list", "role.yaml", "--type", "semantic"]);
    let created = exported[1]["created_at"].as_str().unwrap();
    assert!(run.success().stdout.ends_with(&format!("[semantic:a] ({created}) one\n")), "{run}");
    for (records, wanted) in [
        ("{}", "bad.json: it is not JSON array of memories"),
        ("[{\"content\": \"x\"}, {\"content\": 1}]", "bad.json: record 1: `content` is not text"),
        ("[{\"content\": \"x\", \"memory_type\": \"y\"}]", "record 0: unknown memory type 'y'"),
        ("[", "bad.json: no JSON: "),
    ] {
        project.file("bad.json", records);
        let run = project.brynhild(&["memory", "import", "role.yaml", "bad.json"]);
        assert!(run.code(1).stderr.contains(wanted), "{run}");
    }
}

#[test]
fn episodes_are_consolidated_after_a_session() {
    let model = ModelServer::start([
        Reply::calls([("record_episode", json!({"content": "moved the server to Oslo"}))]),
        Reply::text("Done."),
        Reply::text("servers: the server is in Oslo\nthat is all"),
    ]);
    let project = project_with(&model);
    project.file("role.yaml", role(&json!({})));
    let run = project.command(&["run", "role.yaml", "-i"]).stdin("go\n").run();
    assert_eq!(run.success().stdout, "Done.\n", "{run}");
    let list = project.brynhild(&["memory", "list", "role.yaml", "--type", "semantic", "--json"]);
    let list = list.success().json();
    assert_eq!(list[0]["content"], "the server is in Oslo");
    assert_eq!(list[0]["metadata"], json!({"source": "consolidation"}));
    let run = project.brynhild(&["memory", "consolidate", "role.yaml"]);
    assert_eq!(run.success().stdout, "No episodes to consolidate.\n", "{run}");
}

#[test]
fn wrong_memory_settings_are_reported() {
    let project = project();
    for (memory, wanted) in [
        (json!({"max_memories": 5}), "memory.max_memories: it is called `semantic.max_memories`"),
        (
            json!({"semantic": {"max_memories": 0}}),
            "memory.semantic.max_memories: it is not a whole",
        ),
        (
            json!({"consolidation": {"interval": "daily"}}),
            "memory.consolidation.interval: it is none",
        ),
        (json!([1]), "memory: it is not a mapping"),
    ] {
        project.file("role.yaml", role(&memory));
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert!(run.code(1).stderr.contains(wanted), "{run}");
    }
    project.file("role.yaml", role(&json!({"store_path": "/outside.db"})));
    let run = project.brynhild(&["memory", "list", "role.yaml"]);
    let wanted = "Store path '/outside.db' is outside ~/.initrunner/. Set security.tools";
    assert!(run.code(1).stderr.contains(wanted), "{run}");
    project.file("role.yaml", json!({"name": "bare", "prompt": "x"}).to_string());
    let run = project.brynhild(&["memory", "list", "role.yaml"]);
    assert!(run.code(1).stderr.contains("No memory config in role definition."), "{run}");
}
