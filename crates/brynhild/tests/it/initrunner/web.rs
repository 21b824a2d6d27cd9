//! The built-in tool types that talk to servers: pages, requests, messages.

use serde_json::{Value, json};
use testkit::{Project, Run};

use super::{Answer, Seen, Server};
use crate::project;

/// A project whose role has this tool, and whose configuration lets it reach the server.
fn with_tool(entry: &Value) -> Project {
    let project = project();
    project.config("api: {allow_private: [127.0.0.1]}\n");
    project.file("role.yaml", format!("name: helper\nprompt: You help.\ntools: [{entry}]\n"));
    project
}

fn exec(project: &Project, tool: &str, input: &Value, flags: &[&str]) -> Run {
    let input = input.to_string();
    let words = ["tools", "exec", tool, "--role", "role.yaml", "--input", &input, "--json"];
    project.brynhild(&[&words, flags].concat())
}

fn output(run: &Run) -> String {
    let object = run.json();
    let text = object["error"].as_str().or(object["output"].as_str());
    text.unwrap_or_else(|| panic!("{object}")).to_owned()
}

fn page(seen: &Seen) -> Answer {
    let html = |text: &str| (200, vec![("Content-Type", "text/html".to_owned())], text.to_owned());
    match seen.line.as_str() {
        "GET /page" => html(
            "<html><head><title>t</title></head><body><h1>News</h1><p>Read <a href='/more'>more</a>.</p>\
             <script>no()</script></body></html>",
        ),
        "GET /plain" => (200, vec![("Content-Type", "text/plain".to_owned())], "a < b".repeat(200)),
        "GET /picture" => (200, vec![("Content-Type", "image/png".to_owned())], "x".to_owned()),
        "GET /moved" => (301, vec![("Location", "/page".to_owned())], String::new()),
        "GET /away" => {
            (302, vec![("Location", "http://elsewhere.test/x".to_owned())], String::new())
        }
        "GET /inside" => {
            (302, vec![("Location", "http://169.254.169.254/meta".to_owned())], String::new())
        }
        "GET /circle" => (302, vec![("Location", "/circle".to_owned())], String::new()),
        "GET /v1/things?q=1" => (200, Vec::new(), "[1, 2]".to_owned()),
        line if line.starts_with("POST /v1") => (201, Vec::new(), seen.body.clone()),
        line if line.starts_with("POST /hook") => (200, Vec::new(), "ok".to_owned()),
        _ => (404, Vec::new(), "<p>gone</p>".to_owned()),
    }
}

#[test]
fn page_is_read_and_scraped_as_markdown() {
    let server = Server::start(page);
    let url = |path: &str| json!({"url": format!("{}{path}", server.url())});
    let project = with_tool(&json!({"type": "web_reader", "user_agent": "Reader/1"}));
    exec(&project, "fetch_page", &url("/page"), &[]).code(3);
    let run = exec(&project, "fetch_page", &url("/moved"), &["--yes"]);
    let wanted = format!("# News\n\nRead [more]({}/more).", server.url());
    assert_eq!(output(run.success()), wanted);
    assert_eq!(server.seen()[0].header("user-agent"), Some("Reader/1"));
    let scraper = with_tool(&json!({"type": "web_scraper", "max_content_bytes": 60}));
    let run = exec(&scraper, "scrape_page", &url("/page"), &["--yes"]);
    assert_eq!(output(run.success()), wanted);
    let cut = output(exec(&scraper, "scrape_page", &url("/plain"), &["--yes"]).success());
    assert!(cut.len() <= 60 && cut.ends_with("\n[truncated]"), "{cut}");
}

#[test]
fn unavailable_pages_are_reported() {
    let server = Server::start(page);
    let project = with_tool(&json!({"type": "web_reader", "blocked_domains": ["evil.test"]}));
    for (url, wanted) in [
        (format!("{}/none", server.url()), "HTTP 404: "),
        (format!("{}/picture", server.url()), "The page is not text: its type is 'image/png'"),
        (format!("{}/away", server.url()), "The page has moved to http://elsewhere.test/x"),
        (format!("{}/inside", server.url()), "The page has moved to http://169.254.169.254/meta"),
        (format!("{}/circle", server.url()), "The page has moved more than 5 times"),
        ("http://a.evil.test/".to_owned(), "Domain 'a.evil.test' is blocked"),
        ("file:///etc/passwd".to_owned(), "is not an http or https address"),
        ("http://localhost:1/".to_owned(), "SSRF blocked: 'localhost' is a private address"),
        ("http://169.254.169.254/".to_owned(), "SSRF blocked: '169.254.169.254'"),
    ] {
        let run = exec(&project, "fetch_page", &json!({"url": url}), &["--yes"]);
        let text = output(run.code(1));
        assert!(text.contains(wanted), "{url}: {text}");
    }
}

#[test]
fn ineffective_domain_lists_stop_the_role() {
    let server = Server::start(page);
    let url = json!({"url": format!("{}/page", server.url())});
    for (entry, wanted) in [
        (json!({"type": "web_reader", "allowed_domains": []}), "`allowed_domains` is empty"),
        (json!({"type": "web_reader", "blocked_domains": ["*.vm"]}), "as in `vm`"),
        (json!({"type": "web_scraper", "blocked_domains": ["127.0.0.1:80"]}), "as in `127.0.0.1`"),
        (json!({"type": "web_reader", "allowed_domains": ["http://127.0.0.1"]}), "names no host"),
    ] {
        let project = with_tool(&entry);
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert!(run.code(1).stderr.contains(wanted), "{entry}: {run}");
        let run = exec(&project, "fetch_page", &url, &["--yes"]);
        assert!(run.code(2).stdout.contains(wanted), "{entry}: {run}");
    }
    let project = with_tool(&json!({"type": "web_reader", "blocked_domains": ["bücher.de"]}));
    let run = exec(&project, "fetch_page", &json!({"url": "http://bücher.de/"}), &["--yes"]);
    assert!(output(run.code(1)).contains("'xn--bcher-kva.de' is blocked"), "{run}");
    assert!(server.seen().is_empty());
}

#[test]
fn requests_stay_below_their_address() {
    let server = Server::start(page);
    let entry = json!({
        "type": "http", "base_url": format!("{}/v1", server.url()), "allowed_methods": ["GET", "POST"],
        "headers": {"X-Key": "${NOT_FILLED}"},
    });
    let project = with_tool(&entry);
    let ask = |method: &str, path: &str, body: &str| {
        let input = json!({"method": method, "path": path, "body": body});
        exec(&project, "http_request", &input, &["--yes"])
    };
    assert_eq!(output(ask("get", "things?q=1", "").success()), "HTTP 200\n[1, 2]");
    assert_eq!(output(ask("POST", "/things", "{\"a\": 1}").success()), "HTTP 201\n{\"a\": 1}");
    let seen = server.seen();
    assert_eq!(seen[0].header("x-key"), Some("${NOT_FILLED}"));
    assert_eq!(seen[1].header("content-type"), Some("application/json"));
    assert!(output(ask("GET", "/none", "").code(1)).starts_with("HTTP 404\n"));
    assert!(
        output(ask("DELETE", "/things", "").code(1))
            .contains("Error: HTTP method DELETE is not allowed")
    );
    for away in ["/../page", "/..%2f..%2Fpage"] {
        assert!(output(ask("GET", away, "").code(1)).contains("the path leaves"), "{away}");
    }
    assert_eq!(server.seen().len(), 3);
    let denied = project;
    denied.config_more("permissions: {deny: ['Host(127.0.0.1)']}\n");
    let input = json!({"method": "GET", "path": "/"});
    exec(&denied, "http_request", &input, &["--yes"]).code(1);
    assert_eq!(server.seen().len(), 3);
}

#[test]
fn message_is_sent_without_showing_its_address() {
    let server = Server::start(page);
    let entry = json!({
        "type": "slack", "webhook_url": "${SLACK_HOOK}", "default_channel": "#general", "username": "bot",
    });
    let project = with_tool(&entry).env("SLACK_HOOK", format!("{}/hook/T0-s3cret", server.url()));
    let input = json!({"text": "Hi", "blocks": "[{\"type\": \"divider\"}]"});
    exec(&project, "send_slack_message", &input, &[]).code(3);
    let run = exec(&project, "send_slack_message", &input, &["--yes"]);
    assert_eq!(output(run.success()), "Message sent: ok");
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "POST /hook/T0-s3cret");
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    let blocks = json!([{"type": "divider"}]);
    let wanted = json!({"text": "Hi", "channel": "#general", "username": "bot", "blocks": blocks});
    assert_eq!(body, wanted);
    assert!(!run.stdout.contains("s3cret") && !run.stderr.contains("s3cret"), "{run}");
    let other = json!({"text": "Hi", "channel": "#other"});
    exec(&project, "send_slack_message", &other, &["--yes"]).success();
    assert!(server.seen()[1].body.contains("#other"));
    let unset = with_tool(&json!({"type": "slack", "webhook_url": "${NOT_SET}"}));
    let run = exec(&unset, "send_slack_message", &other, &["--yes"]);
    assert!(output(run.code(1)).contains("${NOT_SET} is not set"), "{run}");
}
