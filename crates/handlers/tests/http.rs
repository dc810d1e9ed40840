//! `http` against a real server: what is sent, and what each answer and each missing answer means.

#![allow(clippy::unwrap_used)]

mod server;

use std::{sync::Arc, time::Duration};

use domain::{ErrorClass::*, HandlerSpec};
use gengfu_handlers::{Options, Secrets, build};
use handler::{Bytes, HandlerError, Lines, StopReason, Stopper, TaskContext, TaskHandler};
use serde_json::{Value, json};
use server::{Reply, Server, answer};
use tokio::net::TcpListener;

fn made(settings: Value, errors: Value, options: &Options) -> Arc<dyn TaskHandler> {
    build(
        &HandlerSpec {
            handler: "http".into(),
            settings,
            errors,
        },
        options,
    )
    .unwrap()
}

async fn call(settings: Value, payload: &'static [u8]) -> Result<Bytes, HandlerError> {
    let ctx = TaskContext::for_test("room.notify");
    made(settings, json!(null), &Options::default())
        .run(&ctx, Bytes::from_static(payload))
        .await
}

/// The failure when the server gives this reply.
async fn failure(reply: fn() -> Reply) -> HandlerError {
    let server = Server::start(move |_| reply()).await;
    call(
        json!({"url": server.url("/a?key=hush"), "timeout": "300ms"}),
        b"1",
    )
    .await
    .unwrap_err()
}

#[tokio::test]
async fn the_payload_goes_out_unchanged_under_the_tasks_own_key() {
    let mut server = Server::start(|_| answer("201 Created", &[], b"\0\xffdone")).await;
    let options = Options {
        secrets: Secrets::fixed([("API".to_owned(), "Bearer hush".to_owned())].into()),
        ..Options::default()
    };
    let headers = json!({"X-Room": 7, "Authorization": {"secret": "API"}});
    let handler = made(
        json!({"url": server.url("/notify?a=b"), "headers": headers}),
        json!(null),
        &options,
    );
    let id = TaskContext::for_test("room.notify").task_id();
    let ctx = TaskContext::builder(id, "room.notify").attempt(3).build();
    let payload = br#"{"id": 9007199254740993, "name": "\ud83c\udf19"}"#;
    let result = handler.run(&ctx, Bytes::from_static(payload)).await.unwrap();
    assert_eq!(&*result, b"\0\xffdone");
    let request = server.requests.recv().await.unwrap();
    assert!(
        request.head.starts_with("POST /notify?a=b HTTP/1.1\r\n"),
        "{}",
        request.head
    );
    assert_eq!(request.body, payload);
    for (name, value) in [
        ("idempotency-key", ctx.idempotency_key().as_str()),
        ("gengfu-attempt", "3"),
        ("traceparent", ctx.traceparent()),
        ("content-type", "application/json"),
        ("x-room", "7"),
        ("authorization", "Bearer hush"),
    ] {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn bytes_that_are_no_json_and_no_bytes_at_all_say_so() {
    let mut server = Server::start(|_| answer("200 OK", &[], b"")).await;
    call(json!({"url": server.url("/"), "method": "put"}), b"\xff\0")
        .await
        .unwrap();
    let request = server.requests.recv().await.unwrap();
    assert_eq!(request.header("content-type"), Some("application/octet-stream"));
    assert_eq!(request.body, b"\xff\0");
    call(json!({"url": server.url("/"), "method": "GET"}), b"")
        .await
        .unwrap();
    let request = server.requests.recv().await.unwrap();
    assert!(request.head.starts_with("GET / ") && request.body.is_empty());
    assert_eq!(request.header("content-type"), None);
}

#[tokio::test]
async fn each_status_has_its_class_and_code() {
    for (status, class, code) in [
        ("503 Service Unavailable", Transient, "http_503"),
        ("429 Too Many Requests", Transient, "http_429"),
        ("408 Request Timeout", Transient, "http_408"),
        ("425 Too Early", Transient, "http_425"),
        ("404 Not Found", Deterministic, "http_404"),
        ("422 Unprocessable Content", Deterministic, "http_422"),
        ("302 Found", Deterministic, "http_302"),
    ] {
        let mut server =
            Server::start(|_| answer(status, &["location: /elsewhere"], b"the room is closed")).await;
        let error = call(json!({"url": server.url("/a")}), b"1").await.unwrap_err();
        assert_eq!(
            (error.class, &*error.code, error.unknown_outcome),
            (class, code, false)
        );
        assert!(error.message.contains("the room is closed"), "{}", error.message);
        assert!(
            error.message.starts_with("POST http://127.0.0.1:"),
            "{}",
            error.message
        );
        server.requests.recv().await.unwrap();
        assert!(
            server.requests.try_recv().is_err(),
            "no redirect is followed and nothing is repeated"
        );
    }
}

#[tokio::test]
async fn a_type_may_see_a_status_in_its_own_way() {
    let server = Server::start(|request| match request.head.contains("/missing") {
        true => answer("404 Not Found", &["retry-after: 7"], b""),
        false => answer("500 Internal Server Error", &["retry-after: 7"], b""),
    })
    .await;
    let errors = json!({"http": {"404": "transient", "500": "deterministic"}});
    for (path, class, wait) in [
        ("/missing", Transient, Some(Duration::from_secs(7))),
        ("/", Deterministic, None),
    ] {
        let handler = made(
            json!({"url": server.url(path)}),
            errors.clone(),
            &Options::default(),
        );
        let error = handler
            .run(&TaskContext::for_test("a"), Bytes::new())
            .await
            .unwrap_err();
        assert_eq!((error.class, error.retry_after), (class, wait), "{path}");
    }
}

#[tokio::test]
async fn no_answer_to_a_request_that_went_out_is_an_unknown_outcome() {
    let hung = failure(|| Reply::Hang).await;
    assert_eq!(
        (hung.class, &*hung.code, hung.unknown_outcome),
        (Transient, "read_timeout", true)
    );
    assert!(!hung.message.contains("hush"), "{}", hung.message);
    let reset = failure(|| Reply::Reset).await;
    assert_eq!(
        (reset.class, &*reset.code, reset.unknown_outcome),
        (Transient, "reset", true)
    );
    let closed = failure(|| Reply::Raw(Vec::new())).await;
    assert_eq!(
        (closed.class, &*closed.code, closed.unknown_outcome),
        (Transient, "reset", true)
    );
    let half = failure(|| Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf".to_vec())).await;
    assert_eq!(
        (half.class, &*half.code, half.unknown_outcome),
        (Transient, "reset", true)
    );
}

#[tokio::test]
async fn a_request_that_never_went_out_is_no_unknown_outcome() {
    let free = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let refused = call(json!({"url": format!("http://{free}/")}), b"1")
        .await
        .unwrap_err();
    assert_eq!(
        (refused.class, &*refused.code, refused.unknown_outcome),
        (Transient, "connect", false)
    );
    let unknown = call(json!({"url": "http://no-such-host.invalid/"}), b"1")
        .await
        .unwrap_err();
    assert_eq!(
        (unknown.class, &*unknown.code, unknown.unknown_outcome),
        (Transient, "dns", false)
    );
}

#[tokio::test]
async fn a_server_that_accepts_nobody_is_a_connect_timeout() {
    // A listener whose queue is full answers no further connection.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queued = Vec::new();
    while let Ok(stream) = tokio::time::timeout(
        Duration::from_millis(200),
        tokio::net::TcpStream::connect(address),
    )
    .await
    {
        queued.push(stream.unwrap());
    }
    let url = format!("http://{address}/");
    let error = call(json!({"url": url, "timeout": "200ms"}), b"1")
        .await
        .unwrap_err();
    assert_eq!(
        (error.class, &*error.code, error.unknown_outcome),
        (Transient, "connect_timeout", false)
    );
}

#[tokio::test]
async fn a_long_answer_is_cut_and_the_output_says_so() {
    let server = Server::start(|_| answer("200 OK", &[], &[b'x'; 100_000])).await;
    let options = Options {
        result_bytes: 1_000,
        ..Options::default()
    };
    let ctx = TaskContext::for_test("a");
    let result = made(json!({"url": server.url("/")}), json!(null), &options)
        .run(&ctx, Bytes::new())
        .await;
    assert_eq!(result.unwrap().len(), 1_000);
    assert!(String::from_utf8_lossy(&ctx.output().finish()).contains("1000 bytes"));
}

#[tokio::test]
async fn of_a_run_that_gives_rows_the_answer_is_kept_whole_up_to_the_bound() {
    let server = Server::start(|_| answer("200 OK", &[], &[b'x'; 100_000])).await;
    let options = Options {
        result_bytes: 10,
        ..Options::default()
    };
    let handler = made(json!({"url": server.url("/rows")}), json!(null), &options);
    let run = async |most| {
        let lines = Lines::new(std::io::sink(), most);
        let id = TaskContext::for_test("a").task_id();
        let ctx = TaskContext::builder(id, "a").lines(lines.clone()).build();
        assert_eq!(handler.run(&ctx, Bytes::new()).await.unwrap(), "");
        lines.finish()
    };
    assert_eq!(run(100_000).await.unwrap(), 100_000);
    assert!(run(99_999).await.is_err());
}

#[tokio::test]
async fn a_secret_that_is_not_there_is_named_and_nothing_is_sent() {
    let mut server = Server::start(|_| answer("200 OK", &[], b"")).await;
    let settings = json!({"url": server.url("/"), "headers": {"Authorization": {"secret": "NOT_SET"}}});
    let error = call(settings, b"").await.unwrap_err();
    assert_eq!((error.class, &*error.code), (Deterministic, "secret_missing"));
    assert!(server.requests.try_recv().is_err());
}

#[tokio::test]
async fn a_stop_ends_the_call_and_says_that_the_request_was_out() {
    let mut server = Server::start(|_| Reply::Hang).await;
    let handler = made(json!({"url": server.url("/")}), json!(null), &Options::default());
    let (stopper, signal) = Stopper::new();
    let ctx = TaskContext::builder(TaskContext::for_test("a").task_id(), "a")
        .stop(signal)
        .build();
    let run = tokio::spawn(async move { handler.run(&ctx, Bytes::from_static(b"1")).await });
    server.requests.recv().await.unwrap();
    stopper.stop(StopReason::TimedOut);
    let error = run.await.unwrap().unwrap_err();
    assert_eq!(
        (error.class, &*error.code, error.unknown_outcome),
        (Timeout, "run_timeout", true)
    );
}

#[tokio::test]
async fn a_certificate_that_nobody_trusts_is_deterministic() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut tls = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        // Ends with the alert by which the client refuses the certificate.
        while tls.complete_io(&mut stream).is_ok() && tls.is_handshaking() {}
    });
    let error = call(json!({"url": format!("https://localhost:{port}/")}), b"1")
        .await
        .unwrap_err();
    assert_eq!(
        (error.class, &*error.code, error.unknown_outcome),
        (Deterministic, "certificate", false)
    );
    server.join().unwrap();
}
