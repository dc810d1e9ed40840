//! What a run waits for, as its executor tells.

use proto::{ProbeReply, ProcessView};
use serde_json::{Value, json};

use super::words::span;

/// Processes that stand in the sentence; the others are in the evidence.
const NAMED: usize = 3;

/// The end of a sentence, and the evidence.
pub(super) fn of(probe: Option<&Result<ProbeReply, String>>) -> (String, Value) {
    match probe {
        None => (String::new(), Value::Null),
        Some(Err(reason)) => (
            String::new(),
            json!({"unknown": format!("the executor does not say what it waits for: {reason}")}),
        ),
        Some(Ok(reply)) if !reply.running => (
            "; the executor has just ended it, or says that it does not run it".into(),
            json!({"running": false}),
        ),
        Some(Ok(reply)) => (said(reply), evidence(reply)),
    }
}

fn said(reply: &ProbeReply) -> String {
    let mut parts = Vec::new();
    if reply.processes.is_empty() {
        parts.extend(phase(reply));
    }
    if !reply.span.is_empty() {
        parts.push(format!(
            "its last span is {} {} ago",
            reply.span,
            span(reply.span_ms)
        ));
    }
    let named: Vec<_> = reply.processes.iter().rev().take(NAMED).map(process).collect();
    if !named.is_empty() {
        parts.push(format!("its processes: {}", named.join(", ")));
    }
    if parts.is_empty() {
        return String::new();
    }
    format!("; {}", parts.join("; "))
}

fn phase(reply: &ProbeReply) -> Option<String> {
    let what = match reply.phase.as_str() {
        "" => return None,
        "dns" => "it looks up the name of the host",
        "connect" => "it waits for a connection",
        "sent" => "its request is being sent",
        "waiting_headers" => "its request went out and no answer has begun",
        "body" => "the answer has begun and is being read",
        other => return Some(format!("it is in {other:?} since {}", span(reply.phase_ms))),
    };
    Some(format!("{what}, since {}", span(reply.phase_ms)))
}

fn process(process: &ProcessView) -> String {
    let state = match process.state.as_str() {
        "R" => "runs",
        "S" => "sleeps",
        "D" => "waits for a device",
        "T" | "t" => "is stopped",
        "Z" => "has ended",
        other => other,
    };
    match process.wait_channel.as_str() {
        "" => format!("{} ({}) {state}", process.name, process.pid),
        channel => format!("{} ({}) {state} in {channel}", process.name, process.pid),
    }
}

fn evidence(reply: &ProbeReply) -> Value {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let processes: Vec<_> = reply.processes.iter().map(process_json).collect();
    json!({
        "running": true, "attempt": reply.attempt, "ran_ms": reply.ran_ms, "handler": some(&reply.handler),
        "phase": some(&reply.phase), "phase_ms": some(&reply.phase).map(|_| reply.phase_ms),
        "span": some(&reply.span), "span_ms_ago": some(&reply.span).map(|_| reply.span_ms),
        "stopping": some(&reply.stopping), "processes": processes, "more_processes": reply.more_processes,
    })
}

fn process_json(process: &ProcessView) -> Value {
    json!({
        "pid": process.pid, "parent": process.parent, "name": process.name, "state": process.state,
        "wait_channel": process.wait_channel, "cpu_ms": process.cpu_ms, "sockets": process.sockets,
        "files": process.files, "more_descriptors": process.more_descriptors,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_has_its_words() {
        let reply = |phase: &str| ProbeReply {
            running: true,
            phase: phase.into(),
            phase_ms: 12_000,
            ..ProbeReply::default()
        };
        for (phase, words) in [
            ("dns", "; it looks up the name of the host, since 12 s"),
            (
                "waiting_headers",
                "; its request went out and no answer has begun, since 12 s",
            ),
            ("reading the file", "; it is in \"reading the file\" since 12 s"),
            ("", ""),
        ] {
            assert_eq!(of(Some(&Ok(reply(phase)))).0, words);
        }
    }

    #[test]
    fn a_command_is_told_by_its_processes_the_innermost_first() {
        let one = |name: &str, pid, state: &str| ProcessView {
            name: name.into(),
            pid,
            state: state.into(),
            wait_channel: "do_wait".into(),
            sockets: vec!["tcp 127.0.0.1:1 -> 127.0.0.1:2 established".into()],
            ..ProcessView::default()
        };
        let reply = ProbeReply {
            running: true,
            phase: "program".into(),
            processes: vec![one("sh", 7, "S"), one("curl", 8, "D")],
            ..ProbeReply::default()
        };
        let (text, known) = of(Some(&Ok(reply)));
        assert_eq!(
            text,
            "; its processes: curl (8) waits for a device in do_wait, sh (7) sleeps in do_wait"
        );
        assert_eq!(known["processes"][1]["name"], "curl");
    }
}
