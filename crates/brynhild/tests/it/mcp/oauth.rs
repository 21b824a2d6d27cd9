//! Signing in to a server behind an address: page, key, renewal, further rights, and machines.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use testkit::{Project, Run};

use crate::project;

/// A server that wants a key, and the authorization server that gives it.
struct Guarded {
    address: SocketAddr,
    /// The requests to the authorization server: the path and its parameters.
    asked: Arc<Mutex<Vec<(String, String)>>>,
}

struct Request {
    method: String,
    target: String,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Guarded {
    /// Listens. `metadata` is added to what the authorization server says of itself.
    fn start(metadata: Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (metadata, noted) = (metadata.clone(), Arc::clone(&noted));
                std::thread::spawn(move || {
                    while let Some(request) = read(&stream) {
                        let path = request.target.split('?').next().unwrap().to_owned();
                        if ["/authorize", "/token", "/register"].contains(&path.as_str()) {
                            let query = request.target.split('?').nth(1).unwrap_or_default();
                            let key = request.headers.get("authorization");
                            let words = [query, &request.body, key.map_or("", String::as_str)];
                            noted.lock().unwrap().push((path.clone(), words.join(" ")));
                        }
                        let reply = reply(address, &metadata, &path, &request);
                        if (&stream).write_all(reply.as_bytes()).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, asked }
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    fn asked(&self, path: &str) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(it, _)| it == path).map(|(_, words)| words.clone()).collect()
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    lines.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    lines.read_exact(&mut body).ok()?;
    Some(Request { method, target, headers, body: String::from_utf8(body).ok()? })
}

fn http(status: &str, header: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         {header}\r\n{body}"
    )
}

/// An answer that makes sense, behind more blanks than anybody should read.
fn large(body: &Value) -> String {
    http("200 OK", "", &format!("{}{body}", " ".repeat(2 << 20)))
}

fn reply(address: SocketAddr, more: &Value, path: &str, request: &Request) -> String {
    let base = format!("http://{address}");
    let fine = |body: Value| http("200 OK", "", &body.to_string());
    match (request.method.as_str(), path) {
        (
            "GET",
            "/.well-known/oauth-protected-resource" | "/.well-known/oauth-protected-resource/mcp",
        ) => fine(json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]})),
        ("GET", "/.well-known/oauth-authorization-server") => {
            let mut said = json!({
                "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"),
                "registration_endpoint": format!("{base}/register"),
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            });
            said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            fine(said)
        }
        ("POST", "/register") => http(
            "201 Created",
            "",
            &json!({"client_id": "registered", "client_secret": "issued-secret",
                "redirect_uris": ["http://127.0.0.1/callback"]})
            .to_string(),
        ),
        ("GET", "/authorize") => {
            let query = request.target.split('?').nth(1).unwrap_or_default();
            let get = |name: &str| {
                let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
                pairs.into_iter().find(|(key, _)| *key == name).unwrap().1.to_owned()
            };
            let back = get("redirect_uri").replace("%3A", ":").replace("%2F", "/");
            let place = format!("Location: {back}?code=c0de&state={}\r\n", get("state"));
            http("302 Found", &place, "")
        }
        ("GET", "/large/.well-known/openid-configuration") => large(
            &json!({"issuer": format!("{base}/large"), "token_endpoint": format!("{base}/token")}),
        ),
        ("POST", "/large") => large(&json!({"access_token": "key", "token_type": "Bearer"})),
        ("GET", "/.well-known/openid-configuration") => {
            fine(json!({"issuer": base, "token_endpoint": format!("{base}/token")}))
        }
        ("POST", "/token") if request.body.contains("token-exchange") => {
            let word = identity_token(&base, &request.body);
            fine(json!({"access_token": word, "token_type": "N_A", "scope": "read",
                "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag"}))
        }
        ("POST", "/token") if request.body.contains("grant-type%3Ajwt-bearer") => {
            fine(json!({"access_token": "key", "token_type": "Bearer", "expires_in": 60}))
        }
        ("POST", "/token") => {
            // Over before it is used: each run has to renew it.
            let scope = if request.body.contains("write") { "read write" } else { "read" };
            fine(json!({"access_token": "key", "token_type": "Bearer", "expires_in": 1,
                "refresh_token": "again", "scope": scope}))
        }
        ("POST", "/mcp") => {
            let challenge =
                |more: &str| format!("WWW-Authenticate: Bearer {more}scope=\"read\"\r\n");
            if request.headers.get("authorization").map(String::as_str) != Some("Bearer key") {
                let place =
                    format!("resource_metadata=\"{base}/.well-known/oauth-protected-resource\", ");
                return http("401 Unauthorized", &challenge(&place), "");
            }
            message(&serde_json::from_str(&request.body).unwrap())
        }
        _ => http("404 Not Found", "", ""),
    }
}

/// The assertion of an organization for the client `app`; its signature is not checked here.
fn identity_token(base: &str, asked: &str) -> String {
    let of = |name: &str| {
        let pair = asked.split('&').find_map(|pair| pair.strip_prefix(name)).unwrap();
        pair.replace("%3A", ":").replace("%2F", "/")
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let head = json!({"alg": "ES256", "typ": "oauth-id-jag+jwt"});
    let claims = json!({"iss": base, "aud": of("audience="), "sub": "person", "client_id": "app",
        "jti": "1", "iat": now, "exp": now + 60, "resource": of("resource="), "scope": "read"});
    [head.to_string(), claims.to_string(), "signature".to_owned()]
        .map(|part| URL_SAFE_NO_PAD.encode(part))
        .join(".")
}

fn message(request: &Value) -> String {
    let result = match request["method"].as_str().unwrap() {
        "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "guarded", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "change", "inputSchema": {"type": "object"}}]}),
        "tools/call" => {
            let wanted =
                "WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"write\"\r\n";
            return http("403 Forbidden", wanted, "");
        }
        "server/discover" => return http("400 Bad Request", "", ""),
        _ => return http("202 Accepted", "", ""),
    };
    let reply = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    http("200 OK", "", &reply.to_string())
}

/// Goes where the page leads, and no further than back.
fn visit(page: &str) {
    let mut next = Some(page.trim().to_owned());
    while let Some(url) = next.take() {
        let rest = url.strip_prefix("http://").unwrap();
        let (host, target) = rest.split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let request =
            format!("GET /{target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        for line in BufReader::new(stream).lines() {
            let line = line.unwrap();
            if let Some(place) = line.strip_prefix("Location: ") {
                next = Some(place.to_owned());
            }
            if line.is_empty() {
                break;
            }
        }
    }
}

fn sign_in(project: &Project, flags: &[&str]) -> Run {
    let args = [&["mcp", "login", "web"], flags].concat();
    let signing = project.command(&args).spawn();
    signing.wait_for_stdout("\n");
    visit(&signing.stdout());
    signing.wait()
}

#[test]
fn a_key_is_renewed_with_the_secret_of_its_client() {
    let server = Guarded::start(json!({}));
    let project = project();
    project.brynhild(&["mcp", "add", "web", "--url", &server.url()]).success();
    let out = project.brynhild(&["mcp", "test", "web"]);
    out.code(1);
    assert!(out.stderr.contains("`brynhild mcp login web` does it"), "{out}");
    sign_in(&project, &[]).success();
    project.brynhild(&["mcp", "test", "web"]).success();
    let renewals = server.asked("/token");
    let renewal = renewals.iter().find(|words| words.contains("refresh_token")).unwrap();
    // "registered:issued-secret"
    assert!(renewal.contains("Basic cmVnaXN0ZXJlZDppc3N1ZWQtc2VjcmV0"), "{renewal}");
    project.brynhild(&["mcp", "logout", "web"]).success();
    project.brynhild(&["mcp", "test", "web"]).code(1);
}

#[test]
fn missing_scopes_are_requested_at_the_next_sign_in() {
    let server = Guarded::start(json!({}));
    let project = project();
    project.brynhild(&["mcp", "add", "web", "--url", &server.url()]).success();
    sign_in(&project, &[]).success();
    let call = ["tools", "exec", "mcp__web__change", "--input", "{}", "--yes"];
    let run = project.brynhild(&call);
    assert!(run.to_string().contains("wants further rights for this (write)"), "{run}");
    sign_in(&project, &[]).success();
    let pages = server.asked("/authorize");
    assert!(!pages[0].contains("write"), "{pages:?}");
    assert!(pages[1].contains("read+write") || pages[1].contains("read%20write"), "{pages:?}");
}

#[test]
fn client_credentials_sign_in_by_secret() {
    let server = Guarded::start(json!({}));
    let project = project().env("SECRET", "hush");
    project.brynhild(&["mcp", "add", "web", "--url", &server.url()]).success();
    let args = ["mcp", "login", "web", "--client-id", "ci", "--client-secret-env", "SECRET"];
    let args = [&args[..], &["--client-credentials"]].concat();
    project.brynhild(&args).success();
    let asked = server.asked("/token");
    assert!(asked[0].contains("grant_type=client_credentials"), "{asked:?}");
    assert!(server.asked("/authorize").is_empty() && server.asked("/register").is_empty());
}

/// A key that everybody knows.
const KEY: &str = include_str!("../../../../mcp/src/oauth/signing/p256.pem");

#[test]
fn client_credentials_sign_in_by_key() {
    let signs = json!({"token_endpoint_auth_methods_supported": ["private_key_jwt"],
        "token_endpoint_auth_signing_alg_values_supported": ["ES256"]});
    let server = Guarded::start(signs);
    let project = project();
    project.file("key.pem", KEY);
    project.file("other.pem", "hush");
    project.brynhild(&["mcp", "add", "web", "--url", &server.url()]).success();
    let args = ["mcp", "login", "web", "--client-credentials", "--client-id", "ci"];
    let with = |more: &[&str]| project.brynhild(&[&args[..], more].concat());
    assert!(with(&[]).code(1).stderr.contains("`--private-key` the file of a key"));
    assert!(with(&["--private-key", "other.pem"]).code(2).stderr.contains("not a private key"));
    with(&["--private-key", "key.pem"]).success();
    let asked = server.asked("/token");
    let body = asked[0].trim();
    let pairs: BTreeMap<&str, &str> = body.split('&').filter_map(|it| it.split_once('=')).collect();
    assert_eq!(pairs["grant_type"], "client_credentials");
    let part = |at: usize| pairs["client_assertion"].split('.').nth(at).unwrap();
    let part = |at| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part(at)).unwrap()).unwrap();
    let (head, claims): (Value, Value) = (part(0), part(1));
    assert_eq!(head["alg"], "ES256");
    assert_eq!((&claims["iss"], &claims["sub"]), (&json!("ci"), &json!("ci")));
    assert_eq!(claims["aud"], format!("http://{}", server.address));
    assert!(!body.contains("client_id") && !body.contains("hush"), "{body}");
    assert!(server.asked("/authorize").is_empty() && server.asked("/register").is_empty());
}

#[test]
fn signed_assertion_is_sent_only_if_supported() {
    let other = json!({"token_endpoint_auth_methods_supported": ["private_key_jwt"],
        "token_endpoint_auth_signing_alg_values_supported": ["RS256"]});
    for (metadata, words) in [(json!({}), "takes no signatures"), (other, "signatures by ES256")] {
        let server = Guarded::start(metadata);
        let project = project();
        project.file("key.pem", KEY);
        project.brynhild(&["mcp", "add", "web", "--url", &server.url()]).success();
        let args = ["mcp", "login", "web", "--client-credentials", "--client-id", "ci"];
        let run = project.brynhild(&[&args[..], &["--private-key", "key.pem"]].concat());
        assert!(run.code(1).stderr.contains(words), "{run}");
        assert!(server.asked("/token").is_empty());
    }
}

#[test]
fn enterprise_grant_replaces_the_sign_in_page() {
    let (server, idp) = (Guarded::start(json!({})), Guarded::start(json!({})));
    let project = project().env("SECRET", "hush").env("ID_TOKEN", "who-i-am");
    project.brynhild(&["mcp", "add", "web", "--url", &server.url()]).success();
    let issuer = format!("http://{}", idp.address);
    let args = ["mcp", "login", "web", "--client-id", "app", "--client-secret-env", "SECRET"];
    let voucher = ["--idp-issuer", &issuer, "--idp-client-id", "desk"];
    let run = project.brynhild(&[&args[..], &voucher].concat());
    assert!(run.code(2).stderr.contains("--idp-id-token-env"), "{run}");
    let voucher = [&voucher[..], &["--idp-id-token-env", "ID_TOKEN"]].concat();
    project.brynhild(&[&args[..], &voucher].concat()).success();
    let (exchange, grant) = (idp.asked("/token").join("\n"), server.asked("/token").join("\n"));
    for word in
        ["subject_token=who-i-am", "client_id=desk", "id-jag", "resource=http", "scope=read"]
    {
        assert!(exchange.contains(word), "{word}: {exchange}");
    }
    assert!(!exchange.contains("hush") && !grant.contains("who-i-am"), "{exchange}\n{grant}");
    // "app:hush"
    assert!(grant.contains("Basic YXBwOmh1c2g=") && grant.contains("assertion="), "{grant}");
    project.brynhild(&["mcp", "test", "web"]).success();
    let elsewhere = ["--idp-issuer", "http://idp.example", "--idp-client-id", "desk"];
    let elsewhere = [&elsewhere[..], &["--idp-id-token-env", "ID_TOKEN"]].concat();
    let run = project.brynhild(&[&args[..], &elsewhere].concat());
    assert!(run.code(1).stderr.contains("must begin with https"), "{run}");
}

#[test]
fn too_large_oauth_answer_is_not_read() {
    let signs = json!({"token_endpoint_auth_methods_supported": ["private_key_jwt"]});
    let idp = Guarded::start(json!({}));
    let server = Guarded::start(signs);
    let mut metadata = json!({"token_endpoint": format!("http://{}/large", idp.address)});
    metadata["token_endpoint_auth_methods_supported"] = json!(["private_key_jwt"]);
    let large = Guarded::start(metadata);
    let project = project().env("ID_TOKEN", "who-i-am");
    project.file("key.pem", KEY);
    let own = ["--client-id", "app", "--private-key", "key.pem"];
    project.brynhild(&["mcp", "add", "web", "--url", &large.url()]).success();
    let args = [&["mcp", "login", "web", "--client-credentials"][..], &own].concat();
    let run = project.brynhild(&args);
    assert!(run.code(1).stderr.contains("more than 1 MiB"), "{run}");
    project.brynhild(&["mcp", "add", "other", "--url", &server.url()]).success();
    let issuer = format!("http://{}/large", idp.address);
    let voucher = ["--idp-issuer", &issuer, "--idp-client-id", "desk"];
    let args = [&["mcp", "login", "other", "--idp-id-token-env", "ID_TOKEN"], &own[..], &voucher];
    let run = project.brynhild(&args.concat());
    assert!(run.code(1).stderr.contains("more than 1 MiB"), "{run}");
}

#[test]
fn client_metadata_document_is_used_if_supported() {
    let document = "https://client.example/brynhild.json";
    let reads = json!({"client_id_metadata_document_supported": true});
    for (metadata, is_read) in [(reads, true), (json!({}), false)] {
        let server = Guarded::start(metadata);
        let project = project();
        project.config(&format!("mcp: {{client_metadata_url: \"{document}\"}}\n"));
        project.brynhild(&["mcp", "add", "web", "--url", &server.url()]).success();
        sign_in(&project, &[]).success();
        assert_eq!(server.asked("/register").is_empty(), is_read);
        assert_eq!(server.asked("/authorize")[0].contains("client.example"), is_read);
    }
}

#[test]
fn authorization_server_with_another_issuer_is_refused() {
    let server = Guarded::start(json!({"issuer": "https://evil.example"}));
    let project = project();
    project.brynhild(&["mcp", "add", "web", "--url", &server.url()]).success();
    let run = project.brynhild(&["mcp", "login", "web"]);
    run.code(1);
    assert!(run.stderr.contains("issuer mismatch"), "{run}");
}

#[test]
fn invalid_sign_in_address_is_not_shown() {
    for page in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "a:$(touch fooled)",
        "http://evil.example/authorize",
        "http://localhost@evil.example/authorize",
        "--version",
    ] {
        let server = Guarded::start(json!({"authorization_endpoint": page}));
        let project = project();
        project.brynhild(&["mcp", "add", "web", "--url", &server.url()]).success();
        let run = project.brynhild(&["mcp", "login", "web"]);
        run.code(1);
        assert_eq!(run.stdout, "", "{page}: {run}");
        assert!(server.asked("/authorize").is_empty() && server.asked("/token").is_empty());
        assert!(!project.path().join("fooled").exists(), "{page}");
    }
}

#[test]
fn sign_in_address_is_one_line_of_ascii() {
    let page = "https://a.example/\r\n\u{1b}]52;c;eA==\u{7}\u{202e}authorize";
    let server = Guarded::start(json!({"authorization_endpoint": page}));
    let project = project();
    project.brynhild(&["mcp", "add", "web", "--url", &server.url()]).success();
    let signing = project.command(&["mcp", "login", "web"]).spawn();
    signing.wait_for_stdout("\n");
    let shown = signing.stdout();
    let line = shown.strip_suffix('\n').unwrap();
    assert!(line.chars().all(|c| c.is_ascii_graphic()), "{shown:?}");
}
