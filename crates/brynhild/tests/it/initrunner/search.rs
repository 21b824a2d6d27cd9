//! The tool types `search` and `clarify`, and the skills that a role finds by itself.

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::Server;
use super::builtin::{exec, failure, output, role, with_tools};
use crate::project_with;

fn with_search(server: &Server, entry: &Value) -> Project {
    let project = with_tools(&json!([entry])).env("INITRUNNER_SEARCH_URL", server.url());
    project.config("api: {allow_private: [127.0.0.1]}\n");
    project.env("SEARCH_KEY", "k3y")
}

/// The text of the last tool result of a request.
fn result(request: &Value) -> &str {
    request["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap()
}

#[test]
fn providers_are_asked_as_they_document() {
    let hit = |url: &str, text: &str| json!([{"title": "T", url: "https://t.test/", text: "S"}]);
    let server = Server::start(move |seen| {
        let body = match seen.line.split(['?', ' ']).nth(1).unwrap() {
            "/res/v1/web/search" => json!({"web": {"results": hit("url", "description")}}),
            "/res/v1/news/search" => json!({"results": hit("url", "description")}),
            "/search" if seen.line.starts_with("POST") => json!({"results": hit("url", "content")}),
            "/search" => json!({
                "organic_results": hit("link", "snippet"), "news_results": hit("link", "snippet"),
            }),
            "/news.js" => json!({"results": hit("url", "excerpt")}),
            "/" => return (200, Vec::new(), String::from("<script>vqd=\"4-12\";</script>")),
            "/html/" => {
                let page = "<a class=\"result__a\" href=\"//duckduckgo.com/l/?uddg=https%3A%2F%2F\
                            t.test%2F\"><b>T</b></a><a class=\"result__snippet\">S</a>";
                return (200, Vec::new(), page.to_owned());
            }
            other => panic!("{other}"),
        };
        (200, Vec::new(), body.to_string())
    });
    for (provider, web, news) in [
        (
            "brave",
            "GET /res/v1/web/search?q=a+b&count=2&safesearch=moderate",
            "GET /res/v1/news/search?q=a+b&count=2&safesearch=moderate",
        ),
        (
            "serpapi",
            "GET /search?q=a+b&num=2&api_key=k3y&safe=active&engine=google",
            "GET /search?q=a+b&num=2&api_key=k3y&safe=active&engine=google_news",
        ),
        ("tavily", "POST /search", "POST /search"),
        (
            "duckduckgo",
            "GET /html/?q=a+b&kp=-1",
            "GET /news.js?l=wt-wt&o=json&noamp=1&q=a+b&vqd=4-12&p=-1&df=d",
        ),
    ] {
        let entry = json!({"type": "search", "provider": provider, "api_key": "${SEARCH_KEY}", "max_results": 2});
        let project = with_search(&server, &entry);
        for (tool, line) in [("web_search", web), ("news_search", news)] {
            let mut input = json!({"query": "a b", "num_results": 9});
            if tool == "news_search" {
                input["days_back"] = 1.into();
            }
            let said = output(&project, tool, &input);
            assert_eq!(said, "1. **T**\n   https://t.test/\n   S\n", "{provider} {tool}");
            let seen = server.seen().pop().unwrap();
            assert_eq!(seen.line, line);
            let is_brave = provider == "brave";
            assert_eq!(seen.header("x-subscription-token"), is_brave.then_some("k3y"));
            if provider == "tavily" {
                let topic = if tool == "web_search" { "general" } else { "news" };
                let body: Value = serde_json::from_str(seen.body()).unwrap();
                let wanted = json!({
                    "query": "a b", "max_results": 2, "api_key": "k3y", "topic": topic,
                });
                assert_eq!(body, wanted);
            }
        }
    }
}

#[test]
fn failed_search_is_reported_without_the_key() {
    let server = Server::start(|seen| {
        let is_empty = seen.line.contains("nothing");
        let body = if is_empty { "{}".to_owned() } else { format!("no: {}", seen.line) };
        (if is_empty { 200 } else { 403 }, Vec::new(), body)
    });
    let entry = json!({"type": "search", "provider": "serpapi", "api_key": "${SEARCH_KEY}"});
    let project = with_search(&server, &entry);
    let run = exec(&project, "web_search", &json!({"query": "a"}), &[]);
    run.code(3);
    let said = failure(&project, "web_search", &json!({"query": "a"}));
    assert!(said.starts_with("Error: search failed: HTTP 403: no: GET /search"), "{said}");
    assert!(said.contains("[redacted]") && !said.contains("k3y"), "{said}");
    assert_eq!(output(&project, "web_search", &json!({"query": "nothing"})), "No results found.");
    project.config("permissions: {deny: ['Host(127.0.0.1)']}\napi: {allow_private: [127.0.0.1]}\n");
    let run = exec(&project, "web_search", &json!({"query": "a"}), &["--yes"]);
    assert_eq!(run.code(1).json()["outcome"], "denied", "{run}");
    let entry = json!({"type": "search", "provider": "brave", "api_key": "${NOT_SET_X}"});
    project.config("api: {allow_private: [127.0.0.1]}\n").file("role.yaml", role(&json!([entry])));
    let said = failure(&project, "web_search", &json!({"query": "a"}));
    assert_eq!(said, "Error: search failed: the variable in `api_key` is not set");
    for (entry, wanted) in [
        (json!({"type": "search", "provider": "brave"}), "provider 'brave' requires 'api_key'"),
        (json!({"type": "search", "provider": "odd"}), "`provider: odd` is not known"),
    ] {
        project.file("role.yaml", role(&json!([entry])));
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert!(run.code(1).stderr.contains(wanted), "{run}");
    }
}

#[test]
fn clarification_without_a_terminal_is_not_available() {
    let project = with_tools(&json!(["clarify"]));
    assert_eq!(
        output(&project, "clarify", &json!({"question": "Which one?"})),
        "Clarification is not available in this execution mode. Proceed with your best judgment."
    );
}

#[test]
fn clarification_asks_at_the_terminal_until_its_limit() {
    let ask = |question: &str| Reply::calls([("clarify", json!({"question": question}))]);
    let model = ModelServer::start([ask("Which color?"), ask("Which size?"), Reply::text("Done.")]);
    let project = project_with(&model);
    project.file("role.yaml", role(&json!([{"type": "clarify", "max_clarifications": 1}])));
    let terminal = project.terminal(&["run", "role.yaml", "-p", "paint"], (80, 24));
    terminal.wait_for("Which color?");
    terminal.wait_for("Answer:");
    terminal.send("blue\r");
    terminal.wait_for("Done.");
    assert_eq!(terminal.wait_for_end(), Some(0));
    let chats = model.chats();
    assert_eq!(result(&chats[1].body), "User response: blue");
    assert_eq!(
        result(&chats[2].body),
        "Clarification limit reached (1). Proceed with your best judgment based on available \
         information."
    );
}

fn skill(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: About <{name}>\n---\n{body}\n")
}

#[test]
fn role_finds_skills_and_activates_one() {
    let activate = |name: &str| Reply::calls([("activate_skill", json!({"name": name}))]);
    let model = ModelServer::start([
        activate("tea"),
        activate("tea"),
        activate("milk"),
        Reply::text("Done."),
        Reply::text("Done."),
    ]);
    let project = project_with(&model);
    project
        .file("role.yaml", "name: r\nprompt: You cook.\ntools: [datetime]\nskills: [named]\n")
        .file("skills/named/SKILL.md", skill("named", "Named body."))
        .file("skills/tea/SKILL.md", skill("tea", "Boil water."))
        .file("skills/tea/notes/a.txt", "x")
        .file("skills/nameless/SKILL.md", "---\ndescription: x\n---\nNo.\n")
        .file(".agents/skills/tea/SKILL.md", skill("tea", "Second."))
        .file(".agents/skills/soup/SKILL.md", skill("soup", "Stir."));
    let own = project.home().join(".agents/skills/bread/SKILL.md");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(own, skill("bread", "Bake.")).unwrap();
    project.brynhild(&["run", "role.yaml", "-p", "x"]).success();
    let chats = model.chats();
    let system = chats[0].body["messages"][0]["content"].as_str().unwrap();
    let list = "<available_skills>\n<skill name=\"tea\">About &lt;tea&gt;</skill>\n<skill \
                name=\"soup\">About &lt;soup&gt;</skill>\n<skill name=\"bread\">About \
                &lt;bread&gt;</skill>\n</available_skills>";
    assert!(system.starts_with("You cook.\n\n## Skills\n") && system.ends_with(list), "{system}");
    assert!(
        system.contains("Named body.\n\n\n## Available Skills\n")
            || system.contains("Named body.\n\n## Available Skills\n"),
        "{system}"
    );
    assert_eq!(
        result(&chats[1].body),
        "<skill_content name=\"tea\">\nBoil water.\n<skill_resources>\n<file>notes/a.txt</file>\n\
         </skill_resources>\n</skill_content>"
    );
    assert_eq!(result(&chats[2].body), "Skill 'tea' is already active in this session.");
    assert_eq!(result(&chats[3].body), "Unknown skill 'milk'. Check available_skills.");
    project.file(
        "role.yaml",
        "name: r\nprompt: You cook.\ntools: []\nauto_skills: {enabled: false}\n",
    );
    let run = project.brynhild(&["run", "role.yaml", "-p", "x"]);
    assert!(!run.success().stderr.contains("auto_skills"), "{run}");
    assert_eq!(model.chats()[4].body["messages"][0]["content"], "You cook.");
    project.file("role.yaml", "name: r\nprompt: p\nauto_skills: {max_skills: 201}\n");
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert!(run.code(1).stderr.contains("auto_skills.max_skills"), "{run}");
}
