use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::request::{Prepared, prepare};
use super::*;

fn api(endpoint: &Value) -> Value {
    json!({
        "type": "api", "name": "test", "base_url": "https://example.com/v1/",
        "headers": {"X-Key": "${KEY}", "X-Same": "api"}, "auth": {"X-Same": "auth"},
        "endpoints": [endpoint],
    })
}

fn prepared(endpoint: &Value, args: &Value) -> Result<Prepared, String> {
    let (api, problems) = Api::read(&api(endpoint), Path::new("role.yaml"));
    assert!(problems.is_empty(), "{problems:?}");
    let api = api.unwrap();
    let variables = BTreeMap::from([("KEY".to_owned(), "sesame-open".to_owned())]);
    prepare(&api.endpoints[0], &api.base, args, &variables)
}

fn problems(value: &Value) -> Vec<String> {
    let (_, problems) = Api::read(value, Path::new("role.yaml"));
    problems.iter().map(ToString::to_string).collect()
}

fn endpoint() -> Value {
    json!({
        "name": "find", "method": "POST", "path": "/repos/{owner}/x?in={owner}",
        "parameters": [
            {"name": "owner", "type": "string", "required": true, "description": "Who"},
            {"name": "page", "type": "integer", "default": 1},
            {"name": "ratio", "type": "number"},
            {"name": "draft", "type": "boolean", "default": false},
        ],
        "query_params": {"p": "{page}", "r": "{ratio}", "d": "{draft}", "q": "{owner}!"},
        "headers": {"X-Owner": "{owner}"},
        "body_template": {"o": "{owner}", "n": 3, "deep": {"l": ["{page}", "{ratio}"], "r": "{ratio}"}},
    })
}

#[test]
fn values_stay_in_their_url_component() {
    let args = json!({"owner": "a/../b?c&d=e #{page}", "ratio": 2, "draft": true});
    let prepared = prepared(&endpoint(), &args).unwrap();
    assert_eq!(
        prepared.url.as_str(),
        "https://example.com/v1/repos/a%2F..%2Fb%3Fc%26d%3De%20%23%7Bpage%7D/x\
         ?in=a%2F..%2Fb%3Fc%26d%3De%20%23%7Bpage%7D&p=1&r=2.0&d=True\
         &q=a%2F..%2Fb%3Fc%26d%3De%20%23%7Bpage%7D%21"
    );
    assert_eq!(prepared.headers["x-owner"], "a/../b?c&d=e #{page}");
    assert_eq!(prepared.headers["x-key"], "sesame-open");
    assert_eq!(prepared.headers["x-same"], "auth");
    let deep = json!({"l": ["1", "2.0"], "r": "2.0"});
    assert_eq!(prepared.body.unwrap(), json!({"o": "a/../b?c&d=e #{page}", "n": 3, "deep": deep}));
}

#[test]
fn parameters_without_a_value_are_omitted() {
    let prepared = prepared(&endpoint(), &json!({"owner": "a"})).unwrap();
    let query = prepared.url.query().unwrap();
    assert_eq!(query, "in=a&p=1&d=False&q=a%21");
    assert_eq!(prepared.body.unwrap(), json!({"o": "a", "n": 3, "deep": {"l": ["1"]}}));
}

#[test]
fn value_cannot_traverse_paths_or_split_headers() {
    for owner in [".", ".."] {
        let error = prepared(&endpoint(), &json!({"owner": owner})).unwrap_err();
        assert!(error.contains("must not be"), "{error}");
    }
    let error = prepared(&endpoint(), &json!({"owner": "a\r\nX-Evil: 1"})).unwrap_err();
    assert!(error.contains("`X-Owner`"), "{error}");
    let secret = prepared(&endpoint(), &json!({"owner": "${KEY}"})).unwrap();
    assert_eq!(secret.headers["x-owner"], "${KEY}");
}

#[test]
fn schema_shows_the_declared_parameters() {
    let (api, _) = Api::read(&api(&endpoint()), Path::new("role.yaml"));
    let schema = api.unwrap().endpoints[0].schema();
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "owner": {"type": "string", "description": "Who"},
                "page": {"type": "integer", "default": 1},
                "ratio": {"type": "number", "default": null},
                "draft": {"type": "boolean", "default": false},
            },
            "required": ["owner"],
            "additionalProperties": false,
        })
    );
}

type Change<'a> = &'a dyn Fn(&mut Value);

#[test]
fn invalid_endpoint_is_reported_with_its_place() {
    let one = |change: &dyn Fn(&mut Value)| {
        let mut value = api(&json!({"name": "get", "path": "/"}));
        change(&mut value);
        problems(&value)[0].clone()
    };
    let cases: [(Change<'_>, &str); 10] = [
        (&|api| api["base_url"] = Value::Null, "role.yaml: api test: `base_url` is missing"),
        (&|api| api["base_url"] = "ftp://x".into(), "is not an http or https address"),
        (&|api| api["base_url"] = "https://a:b@x".into(), "holds a login"),
        (&|api| api["endpoints"] = json!([]), "it has no `endpoints`"),
        (&|api| api["header"] = json!({}), "`header` is not known and is ignored"),
        (&|api| api["endpoints"][0]["method"] = "HEAD".into(), "endpoint get: there is no method"),
        (&|api| api["endpoints"][0]["timeout"] = 0.into(), "`timeout` is not a number of seconds"),
        (&|api| api["endpoints"][0]["name"] = "a b".into(), "cannot be the name of a tool"),
        (
            &|api| {
                api["endpoints"][0]["parameters"] = json!([{"name": "my-param", "type": "string"}]);
            },
            "'my-param' is not a valid Python identifier",
        ),
        (
            &|api| api["endpoints"][0]["parameters"] = json!([{"name": "a", "type": "str"}]),
            "parameter 'a' has the unknown type",
        ),
    ];
    for (change, wanted) in cases {
        let said = one(change);
        assert!(said.contains(wanted), "{said}");
    }
}

#[test]
fn description_defaults_to_method_and_path() {
    let mut value = api(&json!({"name": "get", "path": "/a"}));
    let more =
        json!([{"name": "get", "path": "/a"}, {"name": "bad"}, {"name": "get", "path": "/"}]);
    value["endpoints"] = more;
    let (api, problems) = Api::read(&value, Path::new("role.yaml"));
    let api = api.unwrap();
    assert_eq!(api.endpoints[0].description, "GET /a");
    assert_eq!(api.tool_names().collect::<Vec<_>>(), ["get"]);
    assert_eq!(problems.len(), 2);
}
