use serde_json::json;

use super::*;

fn variables() -> BTreeMap<String, String> {
    [("TOKEN", "s3cret"), ("EMPTY", "")].map(|(k, v)| (k.to_owned(), v.to_owned())).into()
}

fn source(scope: Scope, document: Value) -> Source {
    Source { origin: format!("{}.json", scope.label()), scope, document }
}

fn user(document: Value) -> ParsedServers {
    read(&[source(Scope::User, document)], &variables())
}

fn program(found: &ParsedServers) -> &Program {
    match &found.servers[0].transport {
        Transport::Stdio(program) => program,
        Transport::Http(_) => panic!("an address: {found:?}"),
    }
}

#[test]
fn server_output_is_redacted() {
    let found = user(json!({
        "h": {"url": "https://a.example", "headers": {"Authorization": "Bearer abcd-1234"}},
        "s": {"command": "x", "env": {"TOK": "0123456789", "DIR": "/srv/data-directory", "N": "1"}},
    }));
    let said = "Bearer abcd-1234, abcd-1234, 0123456789, /srv/data-directory, 1";
    let without: Vec<String> = found.servers.iter().map(|it| it.redact(said)).collect();
    assert!(!without[0].contains("abcd-1234") && without[0].contains("0123456789"), "{without:?}");
    assert!(!without[1].contains("0123456789"), "{without:?}");
    assert!(without[1].ends_with("/srv/data-directory, 1"), "{without:?}");
}

#[test]
fn invalid_restrictions_are_refused() {
    let off = user(json!({"s": {"command": "x", "enabled": "false"}}));
    assert!(!off.servers[0].enabled);
    for (key, value) in [
        ("enabled", json!("no")),
        ("disabled", json!(1)),
        ("disabled_tools", json!({"delete": true})),
        ("excludeTools", json!([5])),
        ("enabled_tools", json!(true)),
    ] {
        let found = user(json!({"s": {"command": "x", key: value}}));
        assert!(found.servers.is_empty(), "{key}");
        assert!(format!("{found:?}").contains(&format!("`{key}`")), "{found:?}");
    }
}

#[test]
fn both_shapes_of_the_usual_file_are_read() {
    let entry = json!({"git": {"command": "uvx", "args": ["mcp-server-git"]}});
    let wrapped = user(json!({"mcpServers": entry.clone()}));
    let bare = user(entry);
    assert_eq!(wrapped, bare);
    assert_eq!(wrapped.problems, Vec::new());
    assert_eq!(program(&wrapped).args, ["mcp-server-git"]);
}

#[test]
fn files_of_other_clients_are_read() {
    let shapes = [
        json!({"mcp_servers": {"a": {"command": "x", "args": ["y"], "env": {"K": "v"}}}}),
        json!({"mcp": {"a": {"type": "local", "command": ["x", "y"], "environment": {"K": "v"}}}}),
        json!({"extensions": {"a": {"type": "stdio", "cmd": "x", "args": ["y"], "envs": {"K": "v"}}}}),
        json!({"servers": {"a": {"type": "stdio", "command": "x", "args": ["y"], "env": {"K": "v"}}}}),
    ];
    for shape in shapes {
        let found = user(shape.clone());
        assert!(found.problems.is_empty(), "{shape}: {:?}", found.problems);
        let program = program(&found);
        assert_eq!(
            (program.command.as_str(), program.args.as_slice()),
            ("x", &["y".to_owned()][..])
        );
        assert_eq!(program.env["K"].expose(), "v");
    }
    let addresses = [
        json!({"a": {"url": "https://h/mcp"}}),
        json!({"a": {"type": "streamable-http", "url": "https://h/mcp"}}),
        json!({"a": {"type": "remote", "url": "https://h/mcp"}}),
        json!({"a": {"httpUrl": "https://h/mcp"}}),
        json!({"a": {"serverUrl": "https://h/mcp"}}),
        json!({"a": {"type": "streamable_http", "uri": "https://h/mcp"}}),
    ];
    for shape in addresses {
        let found = user(shape);
        let Transport::Http(address) = &found.servers[0].transport else { panic!("{found:?}") };
        assert_eq!((address.url.as_str(), address.host()), ("https://h/mcp", "h".to_owned()));
    }
}

#[test]
fn environment_references_are_expanded_once_and_hidden() {
    let found = user(json!({"a": {
        "command": "x", "args": ["${TOKEN}", "${NONE:-d}", "${EMPTY:-e}", "$TOKEN", "${1x}", "${"],
        "env": {"K": "p-${TOKEN}"},
    }}));
    let program = program(&found);
    assert_eq!(program.args, ["s3cret", "d", "e", "$TOKEN", "${1x}", "${"]);
    assert_eq!(program.env["K"].expose(), "p-s3cret");
    assert!(!found.servers[0].shown.contains("s3cret"));
    let missing = user(json!({"a": {"command": "x", "args": ["${NONE}"]}}));
    assert!(missing.servers.is_empty());
    assert!(
        missing.problems[0].to_string().contains("variable `NONE` is not set"),
        "{:?}",
        missing.problems
    );
}

#[test]
fn headers_take_keys_from_environment_variables() {
    let found = user(json!({"a": {
        "url": "https://h/mcp", "bearer_token_env_var": "TOKEN",
        "env_http_headers": {"X-Key": "TOKEN"}, "headers": {"X-Plain": "1"},
    }}));
    let Transport::Http(address) = &found.servers[0].transport else { panic!("{found:?}") };
    let of = |name: &str| address.headers[name].expose().as_str();
    assert_eq!((of("Authorization"), of("X-Key"), of("X-Plain")), ("Bearer s3cret", "s3cret", "1"));
    assert!(!format!("{found:?}").contains("s3cret"));
}

#[test]
fn first_server_of_a_name_wins() {
    let own = source(Scope::User, json!({"git": {"command": "mine"}}));
    let theirs =
        source(Scope::Project, json!({"git": {"command": "theirs"}, "g_it": {"command": "z"}}));
    let found = read(&[own, theirs], &variables());
    assert_eq!(found.servers.len(), 2);
    assert_eq!(found.servers[1].name, "git");
    assert_eq!(found.servers[1].scope, Scope::User);
    assert!(found.problems[0].to_string().contains("is left out: user.json has a server `git`"));
}

#[test]
fn only_the_user_grants_access_to_a_project_server() {
    let theirs = source(
        Scope::Project,
        json!({"a": {"command": "x", "sandbox": {"network": true, "write": ["/"]}}}),
    );
    let found = read(std::slice::from_ref(&theirs), &variables());
    assert_eq!(found.servers[0].grants, Grants::default());
    assert!(found.problems[0].to_string().contains("cannot grant itself"));
    let own = source(Scope::User, json!({"servers": {"a": {"sandbox": {"network": true}}}}));
    let found = read(&[own, theirs], &variables());
    assert_eq!(found.servers[0].grants.network, Network::Host);
    assert_eq!(found.servers[0].grants.write, Vec::<PathBuf>::new());
}

#[test]
fn hosts_are_granted_under_the_key_that_lists_them() {
    let network = |value: serde_json::Value| {
        let entry = json!({"a": {"command": "x", "sandbox": {"network": value}}});
        read(&[source(Scope::User, entry)], &variables()).servers.remove(0).grants.network
    };
    let Network::Hosts(hosts) = network(json!(["example.org", "*.example.com"])) else {
        panic!("hosts were granted");
    };
    assert_eq!(hosts.names, ["example.org", "*.example.com"]);
    assert_eq!(hosts.key, "mcp.servers.a.sandbox.network");
    assert_eq!(network(json!([])), Network::None);
    assert_eq!(network(json!(7)), Network::None);
}

#[test]
fn mistakes_name_the_server_and_leave_the_rest() {
    let cases = [
        (json!({}), "neither `command` nor `url`"),
        (json!({"command": ""}), "`command` is empty"),
        (json!({"command": 1}), "neither a text nor a list"),
        (json!({"command": "x", "args": "y"}), "`args` is not a list"),
        (json!({"type": "sse", "url": "https://h"}), "SSE transport is not supported"),
        (json!({"url": "http://example.com/mcp"}), "not encrypted"),
        (json!({"url": "https://u:p@h/"}), "name or password"),
        (json!({"url": "file:///etc/passwd"}), "names no host"),
        (json!({"url": "gopher://h/"}), "not a supported scheme"),
        (json!([]), "not an object"),
        (json!({"command": "x", "env": {"A=B": "c"}}), "cannot be a variable"),
    ];
    for (entry, wanted) in cases {
        let found = user(json!({"bad": entry, "good": {"command": "x"}}));
        assert_eq!(found.servers.len(), 1, "{wanted}");
        let problem = found.problems[0].to_string();
        assert!(problem.contains("server `bad`") && problem.contains(wanted), "{problem}");
    }
    let loopback = user(json!({"a": {"url": "http://127.0.0.1:8080/mcp"}}));
    assert_eq!(loopback.servers.len(), 1);
}

#[test]
fn unknown_keys_are_reported() {
    let found = user(json!({"a": {"command": "x", "comand": 1, "trust": true}}));
    assert_eq!(found.servers.len(), 1);
    assert!(
        found.problems[0].to_string().contains("`comand`, which is unknown"),
        "{:?}",
        found.problems
    );
    assert!(
        found.problems[1].to_string().contains("permission rules decide"),
        "{:?}",
        found.problems
    );
}

#[test]
fn filters_and_times_are_read_in_every_spelling() {
    let found = user(json!({"a": {
        "command": "x", "includeTools": ["r", "w"], "excludeTools": ["w"], "timeout": 5000,
        "startup_timeout_sec": 7, "disabled": true,
    }}));
    let server = &found.servers[0];
    assert!(server.filter.admits("r") && !server.filter.admits("w") && !server.filter.admits("z"));
    assert_eq!(server.call_timeout, Duration::from_secs(5));
    assert_eq!(server.start_timeout, Duration::from_secs(7));
    assert!(!server.enabled);
}
