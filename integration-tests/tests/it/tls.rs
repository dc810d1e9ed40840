//! Redis and NATS behind TLS: a role trusts what the system trusts, and says what is wrong where it does not.

use gengfu_integration_tests::{Certificates, Gengfu, NatsServer, Port, RedisServer, eventually};

use crate::town::LIMIT;

/// Both servers, with one certificate.
struct Servers {
    certificates: Certificates,
    _redis: RedisServer,
    _port: Port,
    redis_url: String,
    nats: NatsServer,
}

impl Servers {
    fn start() -> Self {
        let certificates = Certificates::make().unwrap();
        let (certificate, key) = (certificates.certificate(), certificates.key());
        let port = Port::reserve().unwrap();
        let (number, certificate_text) = (port.number().to_string(), certificate.to_str().unwrap());
        let redis = RedisServer::start_with(&[
            ("tls-port", &number),
            ("tls-cert-file", certificate_text),
            ("tls-key-file", key.to_str().unwrap()),
            ("tls-ca-cert-file", certificate_text),
            ("tls-auth-clients", "no"),
        ]);
        let nats = NatsServer::start_with(&format!(
            "tls {{ cert_file: {certificate:?}, key_file: {key:?} }}"
        ));
        Self {
            certificates,
            _redis: redis.unwrap(),
            redis_url: format!("rediss://localhost:{number}"),
            _port: port,
            nats: nats.unwrap(),
        }
    }

    fn gateway(&self, trusted: &str) -> Gengfu {
        let nats_url = format!("tls://localhost:{}", self.nats.port());
        let gateway = Gengfu::role("gateway", &self.redis_url, &nats_url);
        gateway.env("SSL_CERT_FILE", trusted).start().unwrap()
    }
}

#[tokio::test]
async fn a_role_works_over_tls_with_a_certificate_that_the_system_trusts() {
    let servers = Servers::start();
    let gateway = servers.gateway(servers.certificates.certificate().to_str().unwrap());
    let api = gateway.api().unwrap();
    eventually!(within LIMIT, api.is_ready().await);
    let types = serde_json::json!({"types": [{"name": "say", "handler": "echo"}]});
    let applied = api.post("/api/v1/apply", &types).await.unwrap();
    assert!(applied.status.is_success(), "{}", applied.text());
}

#[tokio::test]
async fn a_certificate_that_nobody_trusts_is_told_on_readyz() {
    let servers = Servers::start();
    let other = Certificates::make().unwrap();
    let gateway = servers.gateway(other.certificate().to_str().unwrap());
    let api = gateway.api().unwrap();
    let told = eventually!(within LIMIT, {
        let answer = api.get("/readyz").await.unwrap();
        let text = answer.text();
        text.contains("ertificate").then_some(answer)
    });
    assert_eq!(told.status, 503, "{}", told.text());
    assert!(!api.is_ready().await);
}
