//! The executor's end of the socket to a supervisor.

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
};

use super::message::{Order, Program, Report};

/// Most bytes of a report.
const REPORT_BYTES: u32 = 64 * 1024;

/// Dropping it makes the supervisor kill the program at once.
pub(super) struct Link {
    pub(super) orders: Orders,
    pub(super) reports: Reports,
}

impl Link {
    pub(super) fn new(socket: UnixStream) -> Self {
        let (reader, writer) = socket.into_split();
        Self {
            orders: Orders(writer),
            reports: Reports { reader, group: None },
        }
    }
}

pub(super) struct Orders(OwnedWriteHalf);

impl Orders {
    /// Says what to start. A supervisor that is gone shows in the reports, so a failed write is no failure here.
    pub(super) async fn start(&mut self, program: &Program, payload: &[u8]) {
        let Ok(program) = serde_json::to_vec(program) else {
            return;
        };
        for frame in [&*program, payload] {
            let Ok(length) = u32::try_from(frame.len()) else {
                return;
            };
            if self.0.write_u32(length).await.is_err() || self.0.write_all(frame).await.is_err() {
                return;
            }
        }
    }

    /// Gives an order; it has no effect on a supervisor that is gone.
    pub(super) async fn give(&mut self, order: Order) {
        let _gone = self.0.write_all(&order.bytes()).await;
    }
}

pub(super) struct Reports {
    reader: OwnedReadHalf,
    /// The program's process group, from its start to the end that the supervisor reports.
    group: Option<i32>,
}

impl Reports {
    /// Waits for the report that says how it ended.
    pub(super) async fn last(&mut self) -> Report {
        loop {
            match self.next().await {
                Some(Report::Started { group }) => self.group = Some(group),
                Some(end) => {
                    self.group = None;
                    return end;
                }
                None => {
                    self.kill_orphans();
                    return Report::SupervisorLost;
                }
            }
        }
    }

    async fn next(&mut self) -> Option<Report> {
        let length = self.reader.read_u32().await.ok()?;
        if length > REPORT_BYTES {
            return None;
        }
        let mut frame = vec![0; usize::try_from(length).ok()?];
        self.reader.read_exact(&mut frame).await.ok()?;
        serde_json::from_slice(&frame).ok()
    }

    /// Somebody killed the supervisor, so that nobody else is left to end the program.
    fn kill_orphans(&mut self) {
        if let Some(group) = self.group.take() {
            let _gone = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
    }
}
