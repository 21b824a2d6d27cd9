//! `WebFetch` and `WebSearch` with real servers on loopback.

use serde_json::{Value, json};
use testkit::{Project, Run};

use crate::initrunner::{Answer, Seen, Server};
use crate::project;

fn exec(project: &Project, tool: &str, input: &Value, flags: &[&str]) -> Run {
    let input = input.to_string();
    project.brynhild(&[&["tools", "exec", tool, "--input", &input], flags].concat())
}

fn page(seen: &Seen) -> Answer {
    let html = |text: &str| (200, vec![("Content-Type", "text/html".to_owned())], text.to_owned());
    let moved = |to: &str| (302, vec![("Location", to.to_owned())], String::new());
    match seen.line.as_str() {
        "GET /page" => {
            html("<h1>News</h1><p>Read <a href='/more'>more</a>.</p><script>no()</script>")
        }
        "GET /moved" => moved("/page"),
        "GET /away" => moved("http://elsewhere.test/x"),
        "GET /circle" => moved("/circle"),
        "GET /picture" => (200, vec![("Content-Type", "image/png".to_owned())], "x".to_owned()),
        "GET /text" => (200, vec![("Content-Type", "text/plain".to_owned())], "a < b".to_owned()),
        _ => (404, Vec::new(), "gone".to_owned()),
    }
}

#[test]
fn web_fetch_asks_for_the_host_and_returns_markdown() {
    let server = Server::start(page);
    let project = project();
    let url = |path: &str| json!({"url": format!("{}{path}", server.url())});
    let run = exec(&project, "WebFetch", &url("/page"), &[]);
    assert!(run.code(3).stderr.contains("needs approval"), "{run}");
    assert_eq!(server.seen().len(), 0, "nothing is sent before approval");
    for path in ["/page", "/moved"] {
        let run = exec(&project, "WebFetch", &url(path), &["--yes"]);
        let wanted = format!("# News\n\nRead [more]({}/more).\n", server.url());
        assert_eq!(run.success().stdout, wanted);
    }
    let run = exec(&project, "WebFetch", &url("/text"), &["--yes"]);
    assert_eq!(run.success().stdout, "a < b\n");
    let host = server.url().replace("http://", "");
    project.config(&format!("permissions: {{allow: ['Host({host})']}}\n"));
    exec(&project, "WebFetch", &url("/page"), &[]).success();
    project.config(&format!("permissions: {{deny: ['Host({host})']}}\n"));
    exec(&project, "WebFetch", &url("/page"), &["--yes"]).code(1);
}

#[test]
fn web_fetch_reports_pages_that_cannot_be_read() {
    let server = Server::start(page);
    let project = project();
    for (url, wanted) in [
        (format!("{}/none", server.url()), "HTTP 404: gone"),
        (format!("{}/picture", server.url()), "/picture is not text: its type is image/png"),
        (format!("{}/away", server.url()), "redirects to http://elsewhere.test/x; fetch that URL"),
        (format!("{}/circle", server.url()), "more than 5 redirects"),
        ("file:///etc/passwd".to_owned(), "it must start with http:// or https://"),
        ("http://169.254.169.254/".to_owned(), "private address"),
        ("http://u:p@example.com/".to_owned(), "it contains a user name or password"),
    ] {
        let run = exec(&project, "WebFetch", &json!({"url": url}), &["--yes"]);
        let text = format!("{}{}", run.stdout, run.stderr);
        assert!(text.contains(wanted), "{url}: {text}");
        assert!(!run.status.success(), "{url}");
    }
}

fn results(seen: &Seen) -> Answer {
    let hit =
        |text: &str| json!({"title": "Rust", "url": "https://rust.test/", text: "A language"});
    let reply = match seen.line.as_str() {
        "GET /res/v1/web/search?q=rust+lang&count=2" => {
            json!({"web": {"results": [hit("description")]}})
        }
        "GET /sub/search?q=rust+lang&format=json" | "POST /search" => {
            json!({"results": [hit("content")]})
        }
        _ => return (404, Vec::new(), seen.line.clone()),
    };
    (200, Vec::new(), reply.to_string())
}

#[test]
fn web_search_asks_the_configured_engine() {
    let server = Server::start(results);
    let input = json!({"query": "rust lang", "count": 2});
    let project = project();
    let run = exec(&project, "WebSearch", &input, &["--yes"]);
    assert!(run.code(1).stderr.contains("WebSearch"), "{run}");
    for (engine, path) in [("brave", ""), ("tavily", ""), ("searxng", "/sub")] {
        let url = format!("{}{path}", server.url());
        project.config(&format!(
            "web: {{search: {engine}, search_url: '{url}', search_key_env: SEARCH_KEY}}\n"
        ));
        let run = exec(&project, "WebSearch", &input, &["--yes"]);
        let wanted = "WebSearch is not available: set the environment variable SEARCH_KEY";
        assert!(run.stderr.contains(wanted), "{run}");
        let input = input.to_string();
        let words = ["tools", "exec", "WebSearch", "--input", &input, "--yes"];
        let run = project.command(&words).env("SEARCH_KEY", "secret-1").run();
        let wanted = "1. Rust\n   https://rust.test/\n   A language\n";
        assert_eq!(run.success().stdout, wanted, "{engine}");
    }
    let seen = server.seen();
    assert_eq!(seen[0].header("x-subscription-token"), Some("secret-1"));
    assert_eq!(seen[1].header("authorization"), Some("Bearer secret-1"));
    assert_eq!(seen[1].body, r#"{"query":"rust lang","max_results":2}"#);
}
