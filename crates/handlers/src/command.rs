//! `command`: one process for each attempt, in a group of its own, under a supervisor that outlives the executor.
//!
//! The payload is its standard input, its standard output the result. The executor starts the supervisor (its own
//! binary again, see [`supervise_main`]) and the supervisor starts the program; when the connection between the two
//! closes, because the run was dropped or the executor died, the supervisor kills whatever the program started.

mod capture;
mod classify;
mod descendants;
mod launch;
mod link;
mod message;
mod policy;
mod supervise;

use std::{collections::BTreeMap, convert::Infallible, path::PathBuf, pin::pin, time::Duration};

use domain::{ErrorClass, HandlerSpec};
use handler::{Bytes, HandlerError, LeaseTerm, StopReason, TaskContext, TaskHandler, async_trait};
use tokio::time::Instant;

use self::{
    capture::Printed,
    launch::{Launched, launch},
    link::{Link, Reports},
    message::{Order, Program, Report},
};
pub use self::{launch::Supervisor, policy::CommandPolicy, supervise::supervise_main};
use crate::{BuildError, Options, Secrets, reclassify::reclassify, secrets::Text, settings::Section};

const FIELDS: [&str; 5] = ["program", "args", "env", "cwd", "grace"];
const GRACE_DEFAULT: Duration = Duration::from_secs(5);
const GRACE_MAX: Duration = Duration::from_secs(600);
/// How long after the grace the supervisor may need to find and kill what is left.
const KILL_TIME: Duration = Duration::from_secs(2);
/// The variables that a program inherits from the executor.
const INHERITED: [&str; 5] = ["PATH", "HOME", "LANG", "TZ", "TMPDIR"];

/// The handler of one type, made from its section `command: {program, args, env, cwd, grace}`.
#[derive(Debug)]
pub struct Command {
    program: String,
    args: Vec<String>,
    env: Vec<(String, Text)>,
    cwd: Option<PathBuf>,
    grace: Duration,
    classes: BTreeMap<u16, ErrorClass>,
    result_bytes: usize,
    policy: CommandPolicy,
    supervisor: Supervisor,
    secrets: Secrets,
}

impl Command {
    /// Reads the definition. `program` is an absolute path, or a name that is looked up in the executor's PATH;
    /// `grace` is the time between TERM and KILL, 5s where it is not said.
    ///
    /// # Errors
    /// Names the field, the reason and the remedy.
    pub fn build(spec: &HandlerSpec, options: &Options) -> Result<Self, BuildError> {
        let section = Section::new("command", &spec.settings, &FIELDS)?;
        let program = section.required("program")?;
        if program.contains('/') && !program.starts_with('/') {
            return Err(section.fault(
                "program",
                "is a relative path",
                "write a name or an absolute path",
            ));
        }
        let cwd = section.text("cwd")?.map(PathBuf::from);
        if cwd.as_ref().is_some_and(|cwd| !cwd.is_absolute()) {
            return Err(section.fault("cwd", "is a relative path", "write an absolute path"));
        }
        Ok(Self {
            program: program.to_owned(),
            args: section.texts("args")?,
            env: read_env(&section)?,
            cwd,
            grace: section.duration("grace", GRACE_DEFAULT, GRACE_MAX)?,
            classes: reclassify(&spec.errors, "exit")?,
            result_bytes: options.result_bytes,
            policy: options.commands.clone(),
            supervisor: options.supervisor.clone(),
            secrets: options.secrets.clone(),
        })
    }

    /// What the supervisor is asked to start.
    fn program(&self, ctx: &TaskContext) -> Result<Program, HandlerError> {
        let mut env: BTreeMap<String, String> = INHERITED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
            .collect();
        for (name, text) in &self.env {
            env.insert(name.clone(), text.resolve(&self.secrets)?);
        }
        env.insert("GENGFU_TASK_ID".into(), ctx.task_id().to_string());
        env.insert("GENGFU_ATTEMPT".into(), ctx.attempt().to_string());
        env.insert("GENGFU_FENCING_TOKEN".into(), ctx.fencing_token().to_owned());
        env.insert("TRACEPARENT".into(), ctx.traceparent().to_owned());
        let planned = ctx
            .planned_at()
            .and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
        if let Some(planned) = planned {
            env.insert("GENGFU_PLANNED_AT".into(), planned.to_string());
        }
        Ok(Program {
            path: self
                .policy
                .permit(&self.program, self.env.iter().map(|(name, _)| name.as_str()))?,
            args: self.args.clone(),
            env,
            cwd: self.cwd.clone(),
            grace_ms: u64::try_from(self.grace.as_millis()).unwrap_or(u64::MAX),
            lease_ms: left_ms(ctx.lease()),
        })
    }
}

#[async_trait]
impl TaskHandler for Command {
    async fn run(&self, ctx: &TaskContext, payload: Bytes) -> Result<Bytes, HandlerError> {
        let program = self.program(ctx)?;
        let launched = launch(&self.supervisor, ctx, self.result_bytes)?;
        let Launched {
            link,
            mut printed,
            pid,
        } = launched;
        ctx.progress().process(pid);
        ctx.progress().phase("program");
        let Link {
            mut orders,
            mut reports,
        } = link;
        let steering = async {
            orders.start(&program, &payload).await;
            let mut lease = ctx.lease().clone();
            let reason = loop {
                tokio::select! {
                    reason = ctx.stop().requested() => break reason,
                    // Not only this process has to know: it may be stopped while the program goes on.
                    () = lease.renewed() => {
                        if let Some(ms) = left_ms(&lease) {
                            orders.give(Order::Renew(ms)).await;
                        }
                    }
                }
            };
            orders.give(order_for(reason)).await;
            // The link stays open until the supervisor reports that everything ended.
            std::future::pending::<Infallible>().await
        };
        let report = tokio::select! {
            report = ended(&mut reports, &mut printed) => report,
            never = steering => match never {},
        };
        ctx.progress().process(None);
        let captured = printed.finish();
        let result = match ctx.stop().reason() {
            // Whatever a program says that was told to end, its work is not done.
            Some(reason) => Err(HandlerError::stopped(reason)),
            None => classify::outcome(&report, &self.classes).map(|()| captured.result),
        };
        result.map_err(|error| classify::with_stderr(error.context(&self.program), &captured.last_errors))
    }

    fn stop_grace(&self) -> Duration {
        self.grace + KILL_TIME
    }

    fn lost_grace(&self) -> Duration {
        KILL_TIME
    }
}

/// Reads what is printed until all is over. Nobody closes the pipes of a program whose supervisor is lost, so then
/// they are left as they are.
async fn ended(reports: &mut Reports, printed: &mut Printed) -> Report {
    let (mut last, mut reading) = (pin!(reports.last()), pin!(printed.read()));
    tokio::select! {
        report = &mut last => {
            if report != Report::SupervisorLost {
                reading.await;
            }
            report
        }
        () = &mut reading => last.await,
    }
}

/// For how many milliseconds the lease certainly lasts.
fn left_ms(lease: &LeaseTerm) -> Option<u32> {
    let left = lease.until()?.saturating_duration_since(Instant::now());
    Some(u32::try_from(left.as_millis()).unwrap_or(u32::MAX))
}

/// Whoever lost its lease may run beside another executor already, so there is no grace for it.
const fn order_for(reason: StopReason) -> Order {
    match reason {
        StopReason::LeaseLost => Order::Kill,
        StopReason::Cancelled | StopReason::Reset | StopReason::TimedOut | StopReason::ShuttingDown => {
            Order::End
        }
    }
}

fn read_env(section: &Section<'_>) -> Result<Vec<(String, Text)>, BuildError> {
    let env = section.map("env")?;
    for (name, _) in &env {
        let field = format!("env.{name}");
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(section.fault(&field, "is no name of a variable", "use letters, digits and '_'"));
        }
        if name.starts_with("GENGFU_") || name == "TRACEPARENT" {
            return Err(section.fault(&field, "is set by Gengfu for each attempt", "choose another name"));
        }
    }
    Ok(env)
}
