//! How a command ends before it is done: stopped, dropped, or because its executor or its supervisor died. In every
//! case nothing that it started is left.

#![allow(clippy::unwrap_used)]

mod process;

use std::{
    io::Write,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use domain::{ErrorClass::*, HandlerSpec};
use gengfu_handlers::{CommandPolicy, Options, build, command::Supervisor};
use handler::{Bytes, HandlerError, LeaseKeeper, LeaseTerm, StopReason, Stopper, TaskContext, TaskHandler};
use process::{gone, number, runs, within};
use serde_json::json;
use tokio::{task::JoinHandle, time::Instant};

const SUPERVISE: &str = env!("CARGO_BIN_EXE_gengfu-supervise");

/// A shell, a child of it, and a daemon in a session of its own; each writes its number and ignores TERM.
const STUBBORN: &str = r#"
trap '' TERM
sh -c 'trap "" TERM; echo $$ > child; while :; do sleep 1; done' &
(setsid sh -c 'trap "" TERM; echo $$ > daemon; while :; do sleep 1; done' &)
echo $PPID > supervisor
echo $$ > leader
while :; do sleep 1; done
"#;

fn made(folder: &Path, script: &str, grace: &str) -> Arc<dyn TaskHandler> {
    let settings = json!({"program": "/bin/sh", "args": ["-c", script], "cwd": folder, "grace": grace});
    let options = Options {
        commands: CommandPolicy::Any,
        supervisor: Supervisor {
            program: SUPERVISE.into(),
            args: Vec::new(),
        },
        ..Options::default()
    };
    build(
        &HandlerSpec {
            handler: "command".into(),
            settings,
            errors: json!(null),
        },
        &options,
    )
    .unwrap()
}

struct Run {
    folder: tempfile::TempDir,
    ctx: TaskContext,
    stopper: Stopper,
    task: JoinHandle<Result<Bytes, HandlerError>>,
}

impl Run {
    fn start(script: &str, grace: &str) -> Self {
        Self::under(LeaseTerm::endless(), script, grace)
    }

    fn under(lease: LeaseTerm, script: &str, grace: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (stopper, signal) = Stopper::new();
        let ctx = TaskContext::builder(TaskContext::for_test("a").task_id(), "a")
            .stop(signal)
            .lease(lease)
            .build();
        let handler = made(folder.path(), script, grace);
        let task = tokio::spawn({
            let ctx = ctx.clone();
            async move { handler.run(&ctx, Bytes::new()).await }
        });
        Self {
            folder,
            ctx,
            stopper,
            task,
        }
    }

    async fn number(&self, name: &str) -> i32 {
        number(&self.folder.path().join(name)).await
    }

    async fn ended(self) -> HandlerError {
        within("the end of the run", self.task)
            .await
            .unwrap()
            .unwrap_err()
    }
}

#[tokio::test]
async fn a_stop_ends_the_whole_family_even_where_it_ignores_term() {
    let run = Run::start(STUBBORN, "100ms");
    let family = [
        run.number("child").await,
        run.number("daemon").await,
        run.number("leader").await,
    ];
    assert!(family.iter().all(|pid| runs(*pid)));
    run.stopper.stop(StopReason::TimedOut);
    let error = run.ended().await;
    assert_eq!((error.class, &*error.code), (Timeout, "run_timeout"));
    assert!(
        !family.iter().any(|pid| runs(*pid)),
        "all are gone before the run is reported as ended"
    );
}

#[tokio::test]
async fn a_program_that_heeds_term_has_its_grace() {
    let script = "trap 'sleep 0.3; echo bye; exit 0' TERM; echo $$ > leader; while :; do sleep 0.01; done";
    let run = Run::start(script, "10m");
    run.number("leader").await;
    run.stopper.stop(StopReason::Cancelled);
    let ctx = run.ctx.clone();
    assert_eq!(run.ended().await.code, "cancelled");
    let output = ctx.output().finish();
    assert!(output.windows(4).any(|part| part == b"bye\n"), "{output:?}");
}

#[tokio::test]
async fn a_lost_lease_leaves_no_grace() {
    let run = Run::start(STUBBORN, "10m");
    let family = [
        run.number("child").await,
        run.number("daemon").await,
        run.number("leader").await,
    ];
    run.stopper.stop(StopReason::LeaseLost);
    assert_eq!(run.ended().await.code, "lease_lost");
    assert!(!family.iter().any(|pid| runs(*pid)));
}

#[tokio::test]
async fn the_supervisor_ends_a_run_whose_lease_is_not_renewed_without_being_told() {
    let (_keeper, lease) = LeaseKeeper::new(Instant::now() + Duration::from_secs(3));
    let run = Run::under(lease, STUBBORN, "10m");
    let family = [
        run.number("child").await,
        run.number("daemon").await,
        run.number("leader").await,
    ];
    // Nobody stops it: the executor may stand still.
    let error = run.ended().await;
    assert_eq!((error.class, &*error.code), (Transient, "signal_9"));
    assert!(!family.iter().any(|pid| runs(*pid)));
}

#[tokio::test]
async fn a_renewed_lease_lets_it_go_on() {
    let (keeper, lease) = LeaseKeeper::new(Instant::now() + Duration::from_secs(3));
    let run = Run::under(lease, "echo $$ > leader; sleep 4; echo done", "10m");
    run.number("leader").await;
    keeper.extend(Instant::now() + Duration::from_secs(600));
    let result = within("the end of the run", run.task).await.unwrap();
    assert_eq!(result.unwrap(), "done\n");
}

#[tokio::test]
async fn a_dropped_run_is_killed_with_its_family() {
    let run = Run::start(STUBBORN, "10m");
    let family = [
        run.number("child").await,
        run.number("daemon").await,
        run.number("leader").await,
    ];
    run.task.abort();
    for pid in family {
        gone(pid).await;
    }
}

#[tokio::test]
async fn what_a_finished_program_leaves_behind_is_ended_too() {
    let run = Run::start(
        "(setsid sh -c 'echo $$ > daemon; exec sleep 600' &) ; while ! [ -s daemon ]; do :; done; echo done",
        "10s",
    );
    let daemon = run.number("daemon").await;
    let result = within("the end of the run", run.task).await.unwrap();
    assert_eq!(result.unwrap(), "done\n");
    assert!(!runs(daemon));
}

#[tokio::test]
async fn a_killed_supervisor_takes_the_programs_group_along() {
    let run = Run::start(STUBBORN, "10m");
    let (child, leader, daemon) = (
        run.number("child").await,
        run.number("leader").await,
        run.number("daemon").await,
    );
    let supervisor = run.number("supervisor").await;
    kill(supervisor);
    let error = run.ended().await;
    assert_eq!(
        (error.class, &*error.code, error.unknown_outcome),
        (Transient, "supervisor_lost", true)
    );
    gone(child).await;
    gone(leader).await;
    // It left the group, and with the supervisor nobody is left who knows of it.
    kill(daemon);
}

#[tokio::test]
async fn when_the_executor_dies_the_supervisor_kills_the_whole_family() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut supervisor = Command::new(SUPERVISE)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .unwrap();
    // This process plays the executor: it alone holds the other end of the socket.
    let mut executor = Command::new("sleep")
        .arg("600")
        .stdin(Stdio::from(OwnedFd::from(ours.try_clone().unwrap())))
        .spawn()
        .unwrap();
    order(ours, folder.path());
    let files = ["child", "daemon", "leader"].map(|name| folder.path().join(name));
    let family = [
        number(&files[0]).await,
        number(&files[1]).await,
        number(&files[2]).await,
    ];
    assert!(family.iter().all(|pid| runs(*pid)));
    executor.kill().unwrap();
    executor.wait().unwrap();
    for pid in family {
        gone(pid).await;
    }
    assert!(supervisor.wait().unwrap().success());
}

/// Sends the two frames that start the program, and lets go of the socket.
fn order(mut socket: UnixStream, folder: &Path) {
    let env = json!({"PATH": std::env::var("PATH").unwrap()});
    let args = json!(["-c", STUBBORN]);
    let program = json!({"path": PathBuf::from("/bin/sh"), "args": args, "env": env, "cwd": folder, "grace_ms": 600_000});
    for frame in [program.to_string().as_bytes(), b""] {
        socket
            .write_all(&u32::try_from(frame.len()).unwrap().to_be_bytes())
            .unwrap();
        socket.write_all(frame).unwrap();
    }
}

fn kill(pid: i32) {
    assert!(
        Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
}
