//! As much of an OTLP collector as a test needs: it takes spans by HTTP as protobuf, and keeps them.

use std::sync::{Arc, Mutex};

use axum::{Router, body::Bytes, extract::State, http::StatusCode, routing::post};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest, common::v1::any_value::Value, trace::v1::Span,
};
use prost::Message;

/// A span and the service that sent it.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) service: String,
    pub(crate) span: Span,
}

/// A collector on a free port; it ends with the test's runtime.
#[derive(Debug)]
pub(crate) struct Collector {
    /// Its base address.
    pub(crate) url: String,
    received: Shared,
}

type Shared = Arc<Mutex<Vec<Received>>>;

impl Collector {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Shared::default();
        let router = Router::new()
            .route("/v1/traces", post(receive))
            .with_state(Arc::clone(&received));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, received }
    }

    /// The spans of one trace so far.
    pub(crate) fn trace(&self, id: &str) -> Vec<Received> {
        let received = self.received.lock().unwrap();
        let of_trace = |received: &&Received| hex(&received.span.trace_id) == id;
        received.iter().filter(of_trace).cloned().collect()
    }
}

async fn receive(State(shared): State<Shared>, body: Bytes) -> StatusCode {
    let Ok(request) = ExportTraceServiceRequest::decode(body) else {
        return StatusCode::BAD_REQUEST;
    };
    for resource in request.resource_spans {
        let attributes = resource
            .resource
            .map(|resource| resource.attributes)
            .unwrap_or_default();
        let named = attributes
            .into_iter()
            .find(|attribute| attribute.key == "service.name");
        let service = match named.and_then(|attribute| attribute.value?.value) {
            Some(Value::StringValue(name)) => name,
            _ => return StatusCode::BAD_REQUEST,
        };
        let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
        let received = spans.map(|span| Received {
            service: service.clone(),
            span,
        });
        shared.lock().unwrap().extend(received);
    }
    StatusCode::OK
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
