//! `fetch`, to declared hosts only.

use serde_json::{Value, json};
use toolyard_sandbox::{RunPermissions, Sandbox, SandboxJob, SandboxLimits};

use crate::server::{Server, answer};
use crate::support::{job, run, sandbox};

fn with_hosts(source: &str, hosts: &[&str]) -> SandboxJob {
    let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
    SandboxJob { permissions: RunPermissions { hosts, ..RunPermissions::default() }, ..job(source) }
}

async fn at(sandbox: &Sandbox, server: &Server, source: &str) -> Value {
    let source = source.replace("BASE", &format!("http://{}", server.address));
    let source = format!("try {{ {source} }} catch (e) {{ return String(e) }}");
    let host = format!("http://{}", server.address);
    let outcome = run(sandbox, with_hosts(&source, &[&host])).await.unwrap();
    serde_json::from_str(outcome.json.get()).unwrap()
}

#[tokio::test]
async fn a_declared_host_is_called() {
    let server = Server::start(|_| {
        answer(
            "201 Created",
            "content-type: application/json\r\nset-cookie: a=b\r\nx-a: 1\r\n",
            r#"{"hi":["ü"]}"#,
        )
    })
    .await;
    let source = "const r = await fetch('BASE/x?q=1', { method: 'post', headers: { 'X-Key': 'k' }, body: JSON.stringify([1]) });
        return [r.ok, r.status, r.headers.get('X-A'), r.headers.get('set-cookie'), String(r.headers.get('constructor')),
            await r.json(), await r.text(), r.redirected]";
    let seen = at(&sandbox(SandboxLimits::default()), &server, source).await;
    assert_eq!(seen, json!([true, 201, "1", null, "null", { "hi": ["ü"] }, r#"{"hi":["ü"]}"#, false]));
    let request = server.requests().remove(0);
    assert!(request.starts_with("POST /x?q=1 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("\r\nx-key: k\r\n") && request.ends_with("\r\n\r\n[1]"), "{request}");
}

#[tokio::test]
async fn an_error_status_is_an_answer() {
    let server = Server::start(|_| answer("404 Not Found", "", "none")).await;
    let seen = at(
        &sandbox(SandboxLimits::default()),
        &server,
        "const r = await fetch('BASE/'); return [r.ok, r.status]",
    )
    .await;
    assert_eq!(seen, json!([false, 404]));
}

#[tokio::test]
async fn other_hosts_are_not_called() {
    let server = Server::start(|_| answer("200 OK", "", "")).await;
    for url in [
        "https://example.com/",
        "http://localhost:1/",
        "file:///etc/passwd",
        "data:,x",
        "http://127.0.0.1:1@BASE/",
    ] {
        let seen = at(&sandbox(SandboxLimits::default()), &server, &format!("await fetch('{url}')")).await;
        assert!(
            seen.as_str().unwrap().contains("not among the hosts")
                || seen.as_str().unwrap().contains("not a URL"),
            "{seen}"
        );
    }
    let none = run(&sandbox(SandboxLimits::default()), job("await fetch('https://example.com/a?secret')"))
        .await
        .unwrap_err();
    let expected = "TypeError: `https://example.com` is not among the hosts that this code may call; declare it under the permission `network`";
    assert!(none.to_string().starts_with(expected), "{none}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn the_guard_has_the_last_word() {
    let mut host = crate::support::host();
    host.guard = toolyard_net::Guard::strict();
    let sandbox = Sandbox::new(SandboxLimits::default(), host);
    let job = with_hosts("await fetch('https://10.0.0.1/')", &["10.0.0.1"]);
    let error = run(&sandbox, job).await.unwrap_err().to_string();
    assert!(error.contains("address 10.0.0.1 is private"), "{error}");
}

#[tokio::test]
async fn redirects_stay_among_the_declared_hosts() {
    let other = Server::start(|_| answer("200 OK", "", "secret")).await;
    let away = other.address.clone();
    let server = Server::start(move |path| match path {
        "/away" => answer("302 Found", &format!("location: http://{away}/\r\n"), ""),
        "/once" => answer("303 See Other", "location: /end#x\r\n", ""),
        "/loop" => answer("307 Temporary Redirect", "location: /loop\r\n", ""),
        "/nowhere" => answer("301 Moved Permanently", "", ""),
        _ => answer("200 OK", "", "end"),
    })
    .await;
    let sandbox = sandbox(SandboxLimits { redirects: 2, ..SandboxLimits::default() });
    let seen = at(&sandbox, &server, "await fetch('BASE/away')").await;
    let expected = format!(
        "TypeError: it leads to `http://{}`, which is not among the hosts that this code may call",
        other.address
    );
    assert_eq!(seen, json!(expected));
    assert!(other.requests().is_empty());
    let source =
        "const r = await fetch('BASE/once', { method: 'POST', body: 'b', headers: { authorization: 'k' } });
        return [await r.text(), r.redirected, r.url.endsWith('/end')]";
    assert_eq!(at(&sandbox, &server, source).await, json!(["end", true, true]));
    let last = server.requests().pop().unwrap();
    assert!(
        last.starts_with("GET /end ") && last.ends_with("\r\n\r\n") && last.contains("authorization: k"),
        "{last}"
    );
    assert_eq!(
        at(&sandbox, &server, "await fetch('BASE/loop')").await,
        json!("TypeError: it redirects more than 2 times")
    );
    assert_eq!(
        at(&sandbox, &server, "await fetch('BASE/nowhere')").await,
        json!("TypeError: the response redirects to an invalid URL")
    );
}

#[tokio::test]
async fn a_key_stays_with_its_host_when_a_redirect_leaves_it() {
    let other = Server::start(|_| answer("200 OK", "", "")).await;
    let to = other.address.clone();
    let server =
        Server::start(move |_| answer("307 Temporary Redirect", &format!("location: http://{to}/\r\n"), ""))
            .await;
    let hosts = [format!("http://{}", server.address), format!("http://{}", other.address)];
    let source = format!(
        "await fetch('http://{}/', {{ headers: {{ authorization: 'k', 'x-a': '1' }} }})",
        server.address
    );
    run(&sandbox(SandboxLimits::default()), with_hosts(&source, &[&hosts[0], &hosts[1]])).await.unwrap();
    let request = other.requests().remove(0);
    assert!(request.contains("x-a: 1") && !request.contains("authorization"), "{request}");
}

#[tokio::test]
async fn sizes_methods_and_headers_are_bounded() {
    let server = Server::start(|path| match path {
        "/zip" => answer("200 OK", "content-encoding: gzip\r\n", "x"),
        _ => answer("200 OK", "", &"x".repeat(101)),
    })
    .await;
    let limits = SandboxLimits {
        response_bytes: 100,
        request_bytes: 10,
        request_headers: 2,
        header_length: 5,
        ..SandboxLimits::default()
    };
    let sandbox = sandbox(limits);
    for (call, expected) in [
        ("fetch('BASE/')", "TypeError: the response is larger than 100 bytes"),
        (
            "fetch('BASE/zip')",
            "TypeError: the response is compressed, although it was requested uncompressed",
        ),
        (
            "fetch('BASE/', { method: 'POST', body: 'x'.repeat(11) })",
            "TypeError: the body is longer than 10 characters",
        ),
        (
            "fetch('BASE/', { method: 'POST', body: 'ü'.repeat(6) })",
            "TypeError: the body is larger than 10 bytes",
        ),
        (
            "fetch('BASE/', { method: 'POST', body: {} })",
            "TypeError: the body of fetch has to be a text; use JSON.stringify",
        ),
        ("fetch('BASE/', { body: '' })", "TypeError: a GET or HEAD request has no body"),
        (
            "fetch('BASE/', { method: 'connect' })",
            "TypeError: the method `CONNECT` cannot be used; use GET, HEAD, POST, PUT, PATCH or DELETE",
        ),
        (
            "fetch('BASE/', { headers: { Host: 'evil' } })",
            "TypeError: the header `host` cannot be set to this",
        ),
        (
            "fetch('BASE/', { headers: { Cookie: 'a' } })",
            "TypeError: the header `cookie` cannot be set to this",
        ),
        (
            "fetch('BASE/', { headers: [['x-a', 'a\\r\\nb']] })",
            "TypeError: the header `x-a` cannot be set to this",
        ),
        ("fetch('BASE/', { headers: { a: '123456' } })", "TypeError: a header is longer than 5 characters"),
        ("fetch('BASE/', { headers: { a: 1, b: 1, c: 1 } })", "TypeError: fetch takes at most 2 headers"),
        ("fetch('BASE/' + 'x'.repeat(3000))", "TypeError: the URL is longer than 2048 characters"),
        (
            "fetch('nonsense')",
            "TypeError: not a URL (relative URL without a base); write it like https://example.com/path",
        ),
    ] {
        assert_eq!(at(&sandbox, &server, &format!("await {call}")).await, json!(expected), "{call}");
    }
}

#[tokio::test]
async fn calls_run_side_by_side_up_to_the_bound() {
    let server = Server::start(|_| answer("200 OK", "", "1")).await;
    let source = "const all = Array.from({ length: 20 }, () => fetch('BASE/').then((r) => r.json()));
        return (await Promise.all(all)).length";
    assert_eq!(at(&sandbox(SandboxLimits::default()), &server, source).await, json!(20));
    assert_eq!(server.requests().len(), 20);
}
