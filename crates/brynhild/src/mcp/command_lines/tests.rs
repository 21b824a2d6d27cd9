use ::mcp::config::{Floating, floating_entry};
use serde_json::{Value, json};

use super::read;

/// The words of a line between blanks, or between quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            (' ', None) => words.push(String::new()),
            ('\'' | '"', None) => quote = Some(c),
            (_, Some(end)) if c == end => quote = None,
            ('\\', Some('"')) => words.last_mut().unwrap().extend(characters.next()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words
}

fn floating(line: &str) -> Option<Floating> {
    floating_entry(&json!({"command": words(line)}), read)
}

fn floats(line: &str, package: &str, pinned: &str) {
    let (package, pinned) = (package.to_owned(), pinned.to_owned());
    let wanted = Some(Floating::Package { package, pinned });
    assert_eq!(floating(line), wanted, "{line}");
}

#[test]
fn what_names_no_version_is_found_however_it_is_run() {
    for (line, package, pinned) in [
        ("npx -y some-server", "some-server", "some-server@1.2.3"),
        ("npx -y @scope/server@latest /data", "@scope/server@latest", "@scope/server@1.2.3"),
        ("npx -y some-server@^1.0", "some-server@^1.0", "some-server@1.2.3"),
        ("npx -y some-server@1", "some-server@1", "some-server@1.2.3"),
        ("npx some-server@1.x.x", "some-server@1.x.x", "some-server@1.2.3"),
        ("npx -y foo@next", "foo@next", "foo@1.2.3"),
        ("npx -y --package=foo foo", "foo", "foo@1.2.3"),
        ("npx -y -p foo -- foo --port 1", "foo", "foo@1.2.3"),
        ("npx --registry https://r.example foo", "foo", "foo@1.2.3"),
        ("npx -c 'npx bar'", "bar", "bar@1.2.3"),
        ("/usr/bin/npx -y foo", "foo", "foo@1.2.3"),
        ("npx.cmd -y foo", "foo", "foo@1.2.3"),
        ("cmd /c npx -y foo", "foo", "foo@1.2.3"),
        ("npm exec -y foo", "foo", "foo@1.2.3"),
        ("npm x -- foo", "foo", "foo@1.2.3"),
        ("pnpm dlx x", "x", "x@1.2.3"),
        ("yarn dlx foo", "foo", "foo@1.2.3"),
        ("bunx --bun foo", "foo", "foo@1.2.3"),
        ("bun x foo", "foo", "foo@1.2.3"),
        ("npx -y github:o/r", "github:o/r", "github:o/r#COMMIT"),
        ("deno run -A npm:foo@1", "npm:foo@1", "npm:foo@1.2.3"),
        ("deno -A npm:foo", "npm:foo", "npm:foo@1.2.3"),
        ("deno serve npm:foo", "npm:foo", "npm:foo@1.2.3"),
        ("uvx mcp-server-time", "mcp-server-time", "mcp-server-time==1.2.3"),
        ("uvx 'mcp-server-time>=1'", "mcp-server-time>=1", "mcp-server-time==1.2.3"),
        ("uvx mcp-server-time==1.*", "mcp-server-time==1.*", "mcp-server-time==1.2.3"),
        ("uvx mcp-server-time@latest", "mcp-server-time@latest", "mcp-server-time==1.2.3"),
        ("uvx --python 3.12 --from 'a[x]' run", "a[x]", "a[x]==1.2.3"),
        ("uvx --with extra a@1.0", "extra", "extra==1.2.3"),
        ("uv run --with mcp server.py", "mcp", "mcp==1.2.3"),
        ("uv run -p 3.12 --with 'a==1.0,mcp>=1' -- server.py", "mcp>=1", "mcp==1.2.3"),
        ("uv --directory /x run --with=mcp mcp run server.py", "mcp", "mcp==1.2.3"),
        ("uvx --from git+https://h/o/r run", "git+https://h/o/r", "git+https://h/o/r@COMMIT"),
        (
            "uvx --from git+https://h/o/r@main run",
            "git+https://h/o/r@main",
            "git+https://h/o/r@COMMIT",
        ),
        ("uv tool run mcp-server-time", "mcp-server-time", "mcp-server-time==1.2.3"),
        ("pipx run x", "x", "x==1.2.3"),
        ("pipx run --spec y x", "y", "y==1.2.3"),
        ("docker run -i --rm img", "img", "img:1.2.3"),
        (
            "docker run -i --rm -e KEY -v /a:/b --name n h:5000/o/img:latest x",
            "h:5000/o/img:latest",
            "h:5000/o/img:1.2.3",
        ),
        ("podman run -it --network=none img:main", "img:main", "img:1.2.3"),
        ("env X=1 npx -y foo", "foo", "foo@1.2.3"),
        ("/usr/bin/env -u A -i X=1 npx foo", "foo", "foo@1.2.3"),
        ("sh -c 'npx -y foo'", "foo", "foo@1.2.3"),
        ("bash -lc 'cd /x && X=1 exec npx -y foo 2>/dev/null'", "foo", "foo@1.2.3"),
        ("sh -c 'if true; then { npx -y foo; }; fi'", "foo", "foo@1.2.3"),
        ("timeout 30 nice -n 5 npx foo", "foo", "foo@1.2.3"),
        ("uv --directory /x tool run foo", "foo", "foo==1.2.3"),
        ("uv tool --project /x run foo", "foo", "foo==1.2.3"),
        ("uv run --with fastmcp server.py", "fastmcp", "fastmcp==1.2.3"),
        ("npm --prefix /x exec foo", "foo", "foo@1.2.3"),
        ("pnpm -C /x dlx foo", "foo", "foo@1.2.3"),
        ("docker --context c run img", "img", "img:1.2.3"),
        ("docker -H tcp://h --log-level debug container run img", "img", "img:1.2.3"),
        ("podman run --rm --replace img stdio", "img", "img:1.2.3"),
        ("npx -y o/r", "o/r", "o/r#COMMIT"),
        ("npx -y o/r#main", "o/r#main", "o/r#COMMIT"),
        ("go run h.example/x@latest", "h.example/x@latest", "h.example/x@v1.2.3"),
        ("go run -tags a h.example/x@v1 stdio", "h.example/x@v1", "h.example/x@v1.2.3"),
        ("python3 -m pipx run foo", "foo", "foo==1.2.3"),
        ("python3.12 -u -m uv tool run foo", "foo", "foo==1.2.3"),
    ] {
        floats(line, package, pinned);
    }
}

#[test]
fn no_way_to_write_a_command_hides_what_it_takes() {
    for (line, package, pinned) in [
        ("bash -c \"# don't wait\nnpx -y foo\"", "foo", "foo@1.2.3"),
        ("python3 -X dev -um pipx run foo", "foo", "foo==1.2.3"),
        ("python3 -mpipx run foo", "foo", "foo==1.2.3"),
        ("bash -ce 'npx -y foo'", "foo", "foo@1.2.3"),
        ("sh -c '2>/dev/null npx -y foo'", "foo", "foo@1.2.3"),
        ("sh -c 'if a; then b; elif c; then npx -y foo; fi'", "foo", "foo@1.2.3"),
        ("sh -c \"eval 'npx -y foo'\"", "foo", "foo@1.2.3"),
        ("xargs -n1 npx -y foo", "foo", "foo@1.2.3"),
        ("docker run -itv /a:/b foo", "foo", "foo:1.2.3"),
        (
            "docker run -i '${REGISTRY}/foo:latest'",
            "${REGISTRY}/foo:latest",
            "${REGISTRY}/foo:1.2.3",
        ),
        ("uvx --with 'x[a,b],y==1' foo==1.2", "x[a,b]", "x[a,b]==1.2.3"),
        ("env --strange npx foo", "foo", "foo@1.2.3"),
        ("env env env env env env env env env npx foo", "foo", "foo@1.2.3"),
        ("ssh host 'cd x; npx -y foo'", "foo", "foo@1.2.3"),
        ("strange --option uvx foo", "foo", "foo==1.2.3"),
        ("sh -c 'f() { npx -y foo; }; f'", "foo", "foo@1.2.3"),
    ] {
        floats(line, package, pinned);
    }
}

#[test]
fn what_is_not_understood_is_not_taken_for_nothing() {
    for line in [
        "sh -c \"echo 'open\"",
        "sh -c '$RUNNER -y foo'",
        "sh -c 'npx -y foo@$V'",
        "sh -c 'npx $OPTIONS foo@1.2.3'",
        "sh -c 'docker $WHAT img:1.2.3'",
        "sh -c 'bun run \"$X\"'",
        "sh -c '. \"$X\"'",
        "sh -c 'echo foo@1.2.3 | xargs npx -y'",
        "sh -c '`which npx` -y foo'",
        "sh -c '/usr/bin/np? -y foo'",
        "sh -c 'curl https://h/x | sh'",
        "sh",
        "docker run --strange img",
    ] {
        assert!(floating(line).is_some(), "{line}");
    }
    for line in [
        "deno run -A https://h/x.ts",
        "uv run https://h/x.py",
        "deno run http://h/x@1/y.ts",
        "deno -A https://h/x.ts",
        "deno serve https://h/x.ts",
        "bun run https://h/x.ts",
        "npx https://h/x.tgz",
        "npx --package https://h/x.tgz x",
        "pnpm dlx https://h/x.tgz",
        "uvx https://h/x.whl",
        "uvx --from https://h/x.whl x",
    ] {
        let found = floating(line);
        assert!(matches!(found, Some(Floating::Page(_))), "{line}: {found:?}");
    }
    let text = Floating::Unclear("x".repeat(1000)).describe();
    assert!(text.len() < 400, "{text}");
}

#[test]
fn what_is_one_version_alone_is_left_in_peace() {
    for line in [
        "npx -y some-server@1.2.3",
        "npx -y @scope/server@2026.1.14 .",
        "npx -y some-server@1.0.0-beta.2+build",
        "npx --no-install some-server",
        "npx -y ./local",
        "npx -y https://h/x-1.2.3.tgz",
        "npx -y github:o/r#0123abc",
        "npm run start",
        "npm start",
        "yarn start",
        "uvx mcp-server-time@2026.1.26",
        "uvx mcp-server-time==1.2",
        "uvx 'mcp-server-time[x]==1.2.post1'",
        "uvx --from git+https://h/o/r@v1.2.3 run",
        "uvx --from ./here run",
        "uv run server.py",
        "uv run --with mcp==1.2.3 server.py --with other",
        "uv sync",
        "uv --directory /x run server.py",
        "pipx run x==1.0",
        "docker run -i --rm -e KEY img:1.2.3",
        "docker run img@sha256:abc",
        "docker run ghcr.io/o/r:v0.5.0 stdio",
        "docker run o/r:0123abcd",
        "docker exec -i box server",
        "deno run -A server.ts",
        "deno run npm:foo@1.2.3/bin",
        "node server.js npx foo",
        "python3 -m server",
        "sh -c 'node server.js'",
        "sh run.sh",
        "env X=1 node s.js",
        "npx",
        "npx -y foo@${VERSION}",
        "podman run --rm --replace img:1.2.3 stdio",
        "npx -y o/r#0123abc4",
        "npx -y o/r#v1.2.3",
        "uv --directory /x run --with fastmcp==2.1 server.py",
        "uv --directory /tool run server.py",
        "npm --prefix exec start",
        "docker --context run exec box server",
        "go run ./server",
        "go run h.example/x@v1.2.3",
        "python3 server.py -m pipx run foo",
        "uvx --with 'x[a,b]==1.0' foo==1.2",
        "docker run -itv /a:/b -eA=1 foo:1.2.3",
        "docker run '${IMAGE}'",
        "docker run 'foo:${TAG}'",
        "deno run https://deno.land/x/a@v1.2.3/mod.ts",
        "npx https://h/foo-1.2.3.tgz",
        "uvx https://h/foo-1.2.3-py3-none-any.whl",
        "bun run server.ts",
        "deno task start",
        "uv run file:///x.py",
        "'${RUNNER}' -y foo",
        "bash -o pipefail -c 'node server.js | tee log'",
        "sh -c '[ -f x ] && [[ -f y ]] && node server.js'",
        "timeout -k 5 --signal=KILL 30 node server.js",
        "sh -c 'npx -y foo@${VERSION}'",
        "sh -c 'cd ${PLUGIN} && exec node ${PLUGIN}/server.js --key ${KEY}'",
        "sh -c 'exec node server.js \"$TOKEN\" *.txt 2>>\"$LOG\"'",
        "sh -c 'export A=$B; exec docker run -e KEY=\"$KEY\" img:1.2.3'",
        "docker run -e KEY=${KEY} -e \"TEXT=don't; $(do)\" img:1.2.3",
        "npx -y foo@1.2.3 --text \"don't (do) it; $x\"",
        "bash -lc 'source ~/.nvm/nvm.sh && nvm use 20 && exec npx -y foo@1.2.3'",
        "bash -c 'source .venv/bin/activate && python server.py 2>>log'",
        "sh -c 'echo starting npx foo >&2; exec node server.js'",
        "conda run -n box python server.py",
        "kubectl exec -i pod -- server",
        "op run -- node server.js",
    ] {
        assert_eq!(floating(line), None, "{line}");
    }
}

#[test]
fn entries_are_read_in_their_spellings() {
    let found = |entry: Value| match floating_entry(&entry, read)? {
        Floating::Package { package, .. } => Some(package),
        other => panic!("{other:?}"),
    };
    assert_eq!(found(json!({"command": "npx", "args": ["-y", "a"]})).as_deref(), Some("a"));
    assert_eq!(found(json!({"command": ["npx", "a"]})).as_deref(), Some("a"));
    assert_eq!(found(json!({"cmd": "uvx", "args": ["a"]})).as_deref(), Some("a"));
    assert_eq!(found(json!({"url": "https://npx"})), None);
    // What the entry itself says of a variable is not chosen by anybody else.
    let of = |command: &str, package: &str| {
        found(json!({"command": command, "args": ["--loglevel", 3, package]}))
    };
    assert_eq!(of("npx", "a@${V:-latest}").as_deref(), Some("a@latest"));
    assert_eq!(of("${RUN:-npx}", "a").as_deref(), Some("a"));
    assert_eq!(of("npx", "a@${V:-1.2.3}"), None);
    assert_eq!(of("npx", "a@${V}"), None);
    assert_eq!(found(json!({})), None);
}
