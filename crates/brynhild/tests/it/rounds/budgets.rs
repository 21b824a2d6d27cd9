//! What a run may cost where providers tell little: tokens that nobody counts, models without a
//! price, a context whose size only the provider knows.

use serde_json::json;
use testkit::{ModelServer, Reply};

use crate::project_with;

fn inspect_replies(count: usize) -> Vec<Reply> {
    let look = |number| {
        Reply::calls([("Glob", json!({"pattern": format!("*.{number}")}))]).usage(1000, 100)
    };
    (0..count).map(look).chain([Reply::text("done").usage(1000, 100)]).collect()
}

fn offer(fields: &str) -> Reply {
    Reply::bytes(format!(r#"{{"data": [{{"id": "test-model", {fields}}}]}}"#))
        .header("content-type", "application/json")
}

#[test]
fn uncounted_tokens_are_estimated() {
    let calls = [Reply::calls([("Glob", json!({"pattern": "*"}))]), Reply::text("done")];
    let server = ModelServer::start(calls).repeat_last();
    let project = project_with(&server);
    let run = project.brynhild(&["chat", "--json", "--max-tokens", "600", "go"]);
    let answer = run.code(5).json();
    assert_eq!(server.chats().len(), 1, "{run}");
    assert_eq!(answer["usage"]["estimated"], true, "{answer:#}");
    assert!(answer["usage"]["input_tokens"].as_u64().unwrap() > 600, "{answer:#}");
}

#[test]
fn cost_limit_stops_if_the_price_is_unknown() {
    let server = ModelServer::start(inspect_replies(3));
    let run = project_with(&server).brynhild(&["chat", "--json", "--max-cost", "5", "go"]);
    let answer = run.code(5).json();
    assert_eq!(server.chats().len(), 1, "{run}");
    let error = answer["error"].as_str().unwrap();
    assert!(error.contains("--max-cost ($5): the price of the model is not known"), "{error}");
    assert_eq!(answer["stop_reason"], "limit");
}

#[test]
fn cost_limit_fetches_provider_prices() {
    let prices = offer(r#""pricing": {"prompt": "0.0001", "completion": "0.0001"}"#);
    let server = ModelServer::start(inspect_replies(3)).models_reply(prices);
    let run = project_with(&server).brynhild(&["chat", "--json", "--max-cost", "0.2", "go"]);
    let answer = run.code(5).json();
    assert_eq!(server.chats().len(), 2, "{run}");
    assert!(answer["error"].as_str().unwrap().contains("--max-cost ($0.2)"), "{answer:#}");
    assert!(answer["cost_usd"].as_f64().unwrap() > 0.2, "{answer:#}");
}

#[test]
fn context_size_comes_from_the_provider() {
    let prices = r#""context_length": 1200, "pricing": {"prompt": "0", "completion": "0"}"#;
    let server = ModelServer::start(inspect_replies(6)).repeat_last().models_reply(offer(prices));
    let run = project_with(&server).brynhild(&["chat", "--max-cost", "9", "go"]);
    run.success();
    let is_summary = |text: &str| text.contains("Write a summary of this conversation");
    assert!(server.chats().iter().any(|chat| is_summary(&chat.text)), "{run}");
}

#[test]
fn model_data_is_fetched_only_for_longer_conversations() {
    let single = ModelServer::start([Reply::text("done")]);
    project_with(&single).brynhild(&["chat", "go"]).success();
    assert_eq!(single.requests().len(), 1);

    let longer = ModelServer::start([
        Reply::calls([("Glob", json!({"pattern": "*"}))]),
        Reply::text("done").withhold(),
    ]);
    let project = project_with(&longer);
    let running = project.command(&["chat", "go"]).stdin("").spawn();
    let requests = longer.wait_for_requests(3);
    assert_eq!(requests.iter().filter(|request| request.method == "GET").count(), 1);
    longer.release();
    running.wait().success();
}

#[test]
fn cached_tokens_are_shown() {
    let reply = || Reply::text("done").usage(1000, 10).cached(800);
    let server = ModelServer::start([reply(), reply()]);
    let project = project_with(&server);
    let shown = project.brynhild(&["chat", "--show-cost", "go"]);
    assert_eq!(shown.success().stderr, "Tokens: 1000 in (800 cached) / 10 out | cost unknown\n");
    let answer = project.brynhild(&["chat", "--json", "go"]).success().json();
    assert_eq!(answer["usage"]["cached_tokens"], 800);
    assert_eq!((&answer["cost_usd"], &answer["cost_incomplete"]), (&json!(null), &json!(true)));
}

#[test]
fn earlier_replies_are_priced_later() {
    let prices = || offer(r#""pricing": {"prompt": "0.000001", "completion": "0.000002"}"#);
    // The list is asked for beside the second request, so that the first reply has come before it.
    let mut replies = inspect_replies(3);
    replies[2] = replies[2].clone().withhold();
    let server = ModelServer::start(replies).models_reply(prices());
    let project = project_with(&server);
    let running = project.command(&["chat", "--json", "go"]).stdin("").spawn();
    server.wait_for_requests(4);
    server.release();
    let answer = running.wait().success().json();
    // Four replies of 1000 and 100 tokens.
    assert!((answer["cost_usd"].as_f64().unwrap() - 0.0048).abs() < 1e-9, "{answer:#}");
    assert_eq!(answer["cost_incomplete"], json!(null));

    let single = ModelServer::start(inspect_replies(0)).models_reply(prices());
    let project = project_with(&single);
    let answer = project.brynhild(&["chat", "--json", "go"]).success().json();
    assert_eq!(answer["cost_incomplete"], true, "{answer:#}");
    let spent =
        || project.brynhild(&["stats", "--json"]).success().json()["total"]["spent"].clone();
    assert_eq!((&spent()["cost_usd"], &spent()["unpriced_replies"]), (&json!(null), &json!(1)));
    project.brynhild(&["models", "list"]).success();
    assert!((spent()["cost_usd"].as_f64().unwrap() - 0.0012).abs() < 1e-9, "{}", spent());
    assert_eq!(spent()["unpriced_replies"], 0);
    let shown = project.command(&["--plain", "--continue"]).stdin("/cost\n").run();
    assert!(shown.success().stdout.contains("$0.0012"), "{shown}");
}

#[test]
fn displayed_cost_causes_no_delay() {
    let server =
        ModelServer::start(inspect_replies(0)).models_reply(offer(r#""pricing": {}"#).withhold());
    let project = project_with(&server);
    let shown = project.brynhild(&["chat", "--show-cost", "go"]);
    assert!(shown.success().stderr.contains("cost unknown"), "{shown}");
}

#[test]
fn role_cost_limit_ignores_free_models() {
    let role =
        "name: clerk\nprompt: Help.\ntools: [{type: datetime}]\nguardrails: {cost_limit: 5}\n";
    let prices = offer(r#""pricing": {"prompt": "0.000001", "completion": "0.000002"}"#);
    for (kind, list) in [("openai", prices), ("lmstudio", offer(r#""object": "model""#))] {
        let server = ModelServer::start(inspect_replies(1)).models_reply(list);
        let project = project_with(&server);
        let config = project.read(project.config_directory().join("config.yaml"));
        project.config(&config.replace("type: openai", &format!("type: {kind}")));
        project.file("role.yaml", role);
        project.brynhild(&["run", "role.yaml", "-p", "go"]).success();
        assert_eq!(server.chats().len(), 2, "{kind}");
    }
}

#[test]
fn negative_prices_are_refused() {
    let server = ModelServer::start(inspect_replies(0));
    let project = project_with(&server);
    project.config_more(
        "models:\n  registry:\n    test-model:\n      bindings: {test: {pricing_tiers: [{input: -1, \
         output: 2}]}}\n",
    );
    let run = project.brynhild(&["chat", "go"]);
    let wanted =
        "models.registry.test-model.bindings.test.pricing_tiers is -1, expected prices from 0";
    assert!(run.code(2).stderr.contains(wanted), "{run}");
}

#[test]
fn summary_that_spends_the_budget_is_the_last_request() {
    let server = ModelServer::respond_with(|request| {
        if request.text.contains("Write a summary of this conversation") {
            return Reply::text("A summary.").usage(1_000_000, 10);
        }
        if request.body["messages"].as_array().unwrap().len() > 8 {
            return Reply::failure(400)
                .body(r#"{"error": {"message": "maximum context length exceeded"}}"#);
        }
        let number = request.text.len();
        Reply::calls([("Glob", json!({"pattern": format!("*.{number}")}))]).usage(10, 1)
    });
    let project = project_with(&server);
    let run = project.brynhild(&["chat", "--json", "--max-tokens", "300000", "go"]);
    assert_eq!(run.code(5).json()["limit"], "max_tokens", "{run}");
    assert!(server.chats().last().unwrap().text.contains("Write a summary"), "{run}");
}

/// A server that refuses what is longer than it takes, as often as it must.
fn strict(longest: usize) -> ModelServer {
    let mut number = 0;
    ModelServer::respond_with(move |request| {
        let messages = request.body["messages"].as_array().unwrap();
        let is_summary = messages.last().unwrap()["content"]
            .as_str()
            .is_some_and(|text| text.contains("Write a summary of this conversation"));
        if is_summary {
            return Reply::text("A summary.");
        }
        if messages.len() > longest {
            return Reply::failure(400)
                .body(r#"{"error": {"message": "maximum context length exceeded"}}"#);
        }
        number += 1;
        let pattern = format!("*.{number}");
        if number > 40 {
            Reply::text("done")
        } else {
            Reply::calls([("Glob", json!({"pattern": pattern}))])
        }
    })
}

#[test]
fn too_long_history_is_compacted_repeatedly() {
    let server = strict(16);
    let project = project_with(&server);
    let run = project.brynhild(&["chat", "--max-turns", "90", "go"]);
    assert_eq!(run.success().stdout, "done\n", "{run}");
    let chats = server.chats();
    let length = |chat: &&testkit::Recorded| chat.body["messages"].as_array().unwrap().len();
    let refused = chats.iter().filter(|chat| length(chat) > 16);
    assert!(refused.count() > 2, "{run}");
}

#[test]
fn cost_of_a_scenario_without_all_prices_is_incomplete() {
    let project = project_with(&ModelServer::start([]));
    let turns = "turns:\n  - {tool_calls: [{name: Glob, input: {pattern: '*'}}], \
                 usage: {input: 9, output: 4, cost: 0.002}}\n  - {text: done}\n";
    project.file("priced.yaml", turns);
    let script = ["--provider", "script", "--model", "priced.yaml"];
    let run = project.brynhild(&[&script[..], &["chat", "--json", "go"]].concat());
    let answer = run.success().json();
    assert_eq!((&answer["cost_usd"], &answer["cost_incomplete"]), (&json!(0.002), &json!(true)));
    let run = project.brynhild(&[&script[..], &["chat", "--show-cost", "go"]].concat());
    assert!(run.success().stderr.contains("$0.0020 + unknown"), "{run}");
}
