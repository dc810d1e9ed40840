//! `command` with real processes: what a program gets, and what its end means.

#![allow(clippy::unwrap_used)]

use std::{
    io::{Read, Seek},
    sync::Arc,
};

use domain::{ErrorClass, ErrorClass::*, HandlerSpec};
use gengfu_handlers::{CommandPolicy, Options, Secrets, build, command::Supervisor};
use handler::{Bytes, HandlerError, Lines, TaskContext, TaskHandler};
use serde_json::{Value, json};

fn options() -> Options {
    Options {
        commands: CommandPolicy::Any,
        supervisor: Supervisor {
            program: env!("CARGO_BIN_EXE_gengfu-supervise").into(),
            args: Vec::new(),
        },
        secrets: Secrets::fixed([("KEY".to_owned(), "hush".to_owned())].into()),
        ..Options::default()
    }
}

fn made(settings: Value, errors: Value, options: &Options) -> Arc<dyn TaskHandler> {
    build(
        &HandlerSpec {
            handler: "command".into(),
            settings,
            errors,
        },
        options,
    )
    .unwrap()
}

fn shell(script: &str) -> Value {
    json!({"program": "/bin/sh", "args": ["-c", script]})
}

async fn run(settings: Value, payload: impl Into<Bytes>) -> Result<Bytes, HandlerError> {
    made(settings, json!(null), &options())
        .run(&TaskContext::for_test("a"), payload.into())
        .await
}

fn class_and_code(error: &HandlerError) -> (ErrorClass, &str) {
    (error.class, &error.code)
}

#[tokio::test]
async fn of_a_run_that_gives_rows_the_output_is_kept_whole() {
    let mut file = tempfile::tempfile().unwrap();
    let lines = Lines::new(file.try_clone().unwrap(), 1_000_000);
    let id = TaskContext::for_test("a").task_id();
    let ctx = TaskContext::builder(id, "a").lines(lines.clone()).build();
    let options = Options {
        result_bytes: 10,
        ..options()
    };
    let script = "i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done; echo no row >&2";
    let result = made(shell(script), json!(null), &options)
        .run(&ctx, Bytes::new())
        .await;
    assert_eq!(result.unwrap(), "");
    let mut text = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text.len() as u64, lines.finish().unwrap());
    assert!(
        text.lines()
            .map(|line| line.parse::<u32>().unwrap())
            .eq(0..20_000)
    );
}

#[tokio::test]
async fn the_payload_is_its_input_and_its_output_the_result() {
    let payload = Bytes::from([b"\0\xff line\n".as_slice(), &[b'x'; 200_000]].concat());
    assert_eq!(
        run(json!({"program": "cat"}), payload.clone()).await.unwrap(),
        payload
    );
    assert_eq!(run(json!({"program": "cat"}), "").await.unwrap(), "");
}

#[tokio::test]
async fn a_program_that_does_not_read_its_input_is_no_failure() {
    assert_eq!(
        run(shell("echo done"), vec![b'x'; 4_000_000]).await.unwrap(),
        "done\n"
    );
    let slow_reader = "exec <&-; echo done";
    assert_eq!(
        run(shell(slow_reader), vec![b'x'; 4_000_000]).await.unwrap(),
        "done\n"
    );
}

#[tokio::test]
async fn it_knows_its_task_and_little_else() {
    let id = TaskContext::for_test("a").task_id();
    let ctx = TaskContext::builder(id, "a")
        .attempt(2)
        .planned_at(Some(1_700_000_000_000))
        .build();
    let mut settings = shell(
        "env | cut -d= -f1 | sort; echo $GENGFU_TASK_ID $GENGFU_ATTEMPT $GENGFU_PLANNED_AT $MY_KEY; pwd",
    );
    settings["env"] = json!({"MY_KEY": {"secret": "KEY"}, "LANG": "C"});
    settings["cwd"] = json!("/");
    let result = made(settings, json!(null), &options())
        .run(&ctx, Bytes::new())
        .await
        .unwrap();
    let text = String::from_utf8(result.to_vec()).unwrap();
    let mut lines = text.lines().rev();
    assert_eq!(lines.next(), Some("/"));
    assert_eq!(lines.next().unwrap(), format!("{id} 2 2023-11-14T22:13:20Z hush"));
    let known = [
        "PATH",
        "HOME",
        "LANG",
        "TZ",
        "TMPDIR",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
        "MY_KEY",
        "TRACEPARENT",
    ];
    for name in lines {
        assert!(
            known.contains(&name) || name.starts_with("GENGFU_"),
            "{name} was inherited"
        );
    }
}

#[tokio::test]
async fn an_exit_code_is_a_failure_with_the_end_of_what_was_said() {
    let error = run(
        shell("echo out; yes early | head -c 9000 >&2; echo the disk is full >&2; exit 74"),
        "",
    )
    .await;
    let error = error.unwrap_err();
    assert_eq!(class_and_code(&error), (Transient, "exit_74"));
    assert!(
        error.message.starts_with("/bin/sh: exited with code 74: "),
        "{}",
        error.message
    );
    assert!(
        error.message.ends_with("the disk is full") && error.message.len() < 4_200,
        "{}",
        error.message
    );
    let error = run(shell("exit 65"), "").await.unwrap_err();
    assert_eq!(class_and_code(&error), (Deterministic, "exit_65"));
    let error = run(shell("kill -9 $$"), "").await.unwrap_err();
    assert_eq!(class_and_code(&error), (Transient, "signal_9"));
    let error = run(shell("kill -40 $$"), "").await.unwrap_err();
    assert_eq!(class_and_code(&error), (Transient, "signal_0"));
}

#[tokio::test]
async fn a_type_may_see_an_exit_code_in_its_own_way() {
    let handler = made(
        shell("exit 3"),
        json!({"exit": {"3": "deterministic"}}),
        &options(),
    );
    let error = handler
        .run(&TaskContext::for_test("a"), Bytes::new())
        .await
        .unwrap_err();
    assert_eq!(class_and_code(&error), (Deterministic, "exit_3"));
}

#[tokio::test]
async fn a_program_that_can_not_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, "no program").unwrap();
    let missing = folder.path().join("missing");
    for (settings, code) in [
        (json!({"program": missing}), "program_not_found"),
        (json!({"program": "no-such-program"}), "program_not_found"),
        (json!({"program": file}), "program_not_executable"),
        (json!({"program": "true", "cwd": missing}), "cwd_not_found"),
        (
            json!({"program": "true", "env": {"A": {"secret": "NOT_SET"}}}),
            "secret_missing",
        ),
    ] {
        assert_eq!(
            class_and_code(&run(settings, "").await.unwrap_err()),
            (Deterministic, code)
        );
    }
}

#[tokio::test]
async fn a_program_that_is_not_listed_never_runs() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let settings = shell(&format!("echo x > {}", trace.display()));
    for (commands, allowed) in [
        (Options::default().commands, false),
        (CommandPolicy::Only(vec!["/bin/true".into()]), false),
        (CommandPolicy::Only(vec!["/bin/sh".into()]), true),
    ] {
        let options = Options {
            commands,
            ..options()
        };
        let result = made(settings.clone(), json!(null), &options)
            .run(&TaskContext::for_test("a"), Bytes::new())
            .await;
        assert_eq!(trace.exists(), allowed);
        if !allowed {
            let error = result.unwrap_err();
            assert_eq!(class_and_code(&error), (Deterministic, "program_not_allowed"));
            assert!(error.message.contains("executor.commands"));
        }
    }
}

#[tokio::test]
async fn both_outputs_are_kept_and_a_long_result_is_cut() {
    let options = Options {
        result_bytes: 6,
        ..options()
    };
    let ctx = TaskContext::for_test("a");
    let result = made(shell("echo to stdout; echo to stderr >&2"), json!(null), &options)
        .run(&ctx, Bytes::new())
        .await;
    assert_eq!(result.unwrap(), "to std");
    let output = String::from_utf8(ctx.output().finish().to_vec()).unwrap();
    for part in ["to stdout\n", "to stderr\n", "longer than 6 bytes"] {
        assert!(output.contains(part), "{output}");
    }
}

#[tokio::test]
async fn a_supervisor_that_can_not_start_is_transient() {
    let supervisor = Supervisor {
        program: "/no/such/file".into(),
        args: Vec::new(),
    };
    let options = Options {
        supervisor,
        ..options()
    };
    let error = made(shell("true"), json!(null), &options)
        .run(&TaskContext::for_test("a"), Bytes::new())
        .await;
    assert_eq!(
        class_and_code(&error.unwrap_err()),
        (Transient, "supervisor_start")
    );
}
