use serde_json::json;

use super::*;

/// The words of a line, as a shell splits them.
fn words(line: &str) -> Vec<String> {
    shell::commands(line).remove(0)
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
        ("uvx mcp-server-time", "mcp-server-time", "mcp-server-time==1.2.3"),
        ("uvx 'mcp-server-time>=1'", "mcp-server-time>=1", "mcp-server-time==1.2.3"),
        ("uvx mcp-server-time==1.*", "mcp-server-time==1.*", "mcp-server-time==1.2.3"),
        ("uvx mcp-server-time@latest", "mcp-server-time@latest", "mcp-server-time==1.2.3"),
        ("uvx --python 3.12 --from 'a[x]' run", "a[x]", "a[x]==1.2.3"),
        ("uvx --with extra a@1.0", "extra", "extra==1.2.3"),
        ("uv run --with mcp server.py", "mcp", "mcp==1.2.3"),
        ("uv run -p 3.12 --with 'a==1.0,mcp>=1' -- server.py", "mcp>=1", "mcp==1.2.3"),
        ("uv --directory /x run --with=mcp mcp run server.py", "mcp", "mcp==1.2.3"),
        ("uv run --with a==1.0 npx -y foo", "foo", "foo@1.2.3"),
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
        let found = floating(&words(line)).unwrap_or_else(|| panic!("{line}"));
        assert_eq!((found.package.as_str(), found.pinned.as_str()), (package, pinned), "{line}");
    }
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
    ] {
        assert_eq!(floating(&words(line)), None, "{line}");
    }
}

#[test]
fn entries_are_read_in_their_spellings() {
    let found = |entry: Value| floating_entry(&entry).map(|it| it.package);
    assert_eq!(found(json!({"command": "npx", "args": ["-y", "a"]})).as_deref(), Some("a"));
    assert_eq!(found(json!({"command": ["npx", "a"]})).as_deref(), Some("a"));
    assert_eq!(found(json!({"cmd": "uvx", "args": ["a"]})).as_deref(), Some("a"));
    assert_eq!(found(json!({"url": "https://npx"})), None);
    assert_eq!(floating(&[]), None);
}
