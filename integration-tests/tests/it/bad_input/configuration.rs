//! A wrong configuration ends the start of a process with one sentence and exit 2.

use gengfu_integration_tests::{Gengfu, GengfuBuilder};

use crate::town::LIMIT;

const AWAY: (&str, &str) = ("redis://127.0.0.1:1", "nats://127.0.0.1:1");

/// What is changed in a start that is right otherwise.
type Change = fn(GengfuBuilder) -> GengfuBuilder;

/// The role, the change, and words that the sentence must hold: the key, and the value or what would be right.
type Case = (&'static str, Change, [&'static str; 2]);

fn values() -> Vec<Case> {
    vec![
        (
            "executor",
            |it| it.set_text("executor.lease", "soon"),
            ["executor.lease", "soon"],
        ),
        (
            "executor",
            |it| it.set_text("executor.lease", "10ms"),
            ["executor.lease", "1s"],
        ),
        (
            "executor",
            |it| it.set_text("executor.pool", "two words"),
            ["executor.pool", "two words"],
        ),
        (
            "executor",
            |it| it.set("executor.concurrency", 0),
            ["executor.concurrency", "1"],
        ),
        (
            "executor",
            |it| it.set("executor.concurency", 8),
            ["executor.concurency", "executor.concurrency"],
        ),
        (
            "scheduler",
            |it| it.set("redis.partitions", 0),
            ["redis.partitions", "1024"],
        ),
        (
            "scheduler",
            |it| it.set_text("redis.url", "mysql://here"),
            ["redis.url", "redis://"],
        ),
        (
            "dispatcher",
            |it| it.set_text("nats.url", "here:4222"),
            ["nats.url", "nats://"],
        ),
        (
            "dispatcher",
            |it| it.set("dispatcher", "{ window = [1] }"),
            ["dispatcher.window", "string"],
        ),
        (
            "recorder",
            |it| it.set_text("log.level", "loud"),
            ["log.level", "loud"],
        ),
    ]
}

/// What cannot be read, and what a gateway refuses beyond the values.
fn sources() -> Vec<Case> {
    vec![
        ("recorder", |it| it.set("listen", ""), ["gengfu.toml", "line"]),
        (
            "recorder",
            |it| it.env("GENGFU_NATS__TIMEOUT", "forever"),
            ["nats.timeout", "GENGFU_NATS__TIMEOUT"],
        ),
        (
            "recorder",
            |it| it.env("GENGFU_NATS__URI", "nats://here"),
            ["nats.uri", "nats.url"],
        ),
        (
            "gateway",
            |it| it.set_text("listen", "0.0.0.0:0"),
            ["0.0.0.0:0", "127.0.0.1"],
        ),
        (
            "gateway",
            |it| it.set_text("listen", "here"),
            ["listen", "127.0.0.1:7420"],
        ),
        (
            "gateway",
            |it| it.set("auth.required", true),
            ["auth.required", "loopback"],
        ),
        (
            "gateway",
            |_| Gengfu::bare("gateway").arg("--config").arg("nowhere.toml"),
            ["nowhere.toml", "No such file"],
        ),
    ]
}

#[test]
fn one_sentence_names_what_is_wrong_and_the_exit_code_is_2() {
    for (role, change, words) in values().into_iter().chain(sources()) {
        let builder = change(Gengfu::role(role, AWAY.0, AWAY.1));
        let mut process = builder.start().unwrap();
        let status = process.wait(LIMIT).unwrap();
        let lines = process.output().whole(LIMIT).unwrap();
        assert_eq!(status.code(), Some(2), "{words:?}: {lines:#?}");
        let [sentence] = lines.as_slice() else {
            panic!("{words:?}: not one sentence: {lines:#?}")
        };
        for word in words {
            assert!(sentence.contains(word), "no {word:?} in {sentence}");
        }
    }
}
