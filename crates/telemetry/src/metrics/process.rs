//! The process itself, as the kernel sees it, under the names that Prometheus' own clients use.

use std::{fmt, fs};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
};

/// Ticks a second in `/proc`: `USER_HZ`, which is 100 on every architecture that we build for.
const TICKS_A_SECOND: f64 = 100.0;

/// Reads `/proc` at each scrape; what can't be read is left out.
#[derive(Debug)]
pub(crate) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut put = |name: &str, help: &str, metric: &dyn Shown| metric.show(&mut encoder, name, help);
        let stat = Stat::read();
        if let Some(stat) = &stat {
            put(
                "process_cpu_seconds",
                "Processor time used",
                &ConstCounter::new(stat.cpu_seconds),
            )?;
            put("process_threads", "Threads", &ConstGauge::new(stat.threads))?;
        }
        if let Some(start) = stat.and_then(|stat| Some(boot_seconds()? + stat.start_seconds)) {
            put(
                "process_start_time_seconds",
                "Start, since the epoch",
                &ConstGauge::new(start),
            )?;
        }
        if let Some(bytes) = resident_bytes() {
            put(
                "process_resident_memory_bytes",
                "Memory in use",
                &ConstGauge::new(bytes),
            )?;
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            // One of them is this listing's own.
            let open = i64::try_from(open.count().saturating_sub(1)).unwrap_or(i64::MAX);
            put(
                "process_open_fds",
                "Open file descriptors",
                &ConstGauge::new(open),
            )?;
        }
        if let Some(limit) = descriptors_max() {
            put(
                "process_max_fds",
                "Limit of file descriptors",
                &ConstGauge::new(limit),
            )?;
        }
        put(
            "gengfu_log_lines_dropped",
            "Log lines dropped",
            &ConstCounter::new(crate::init::dropped_lines()),
        )?;
        put(
            "gengfu_spans_dropped",
            "Spans dropped",
            &ConstCounter::new(crate::init::dropped_spans()),
        )
    }
}

trait Shown {
    fn show(&self, encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str) -> Result<(), fmt::Error>;
}

impl<M: EncodeMetric> Shown for M {
    fn show(&self, encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str) -> Result<(), fmt::Error> {
        self.encode(encoder.encode_descriptor(name, help, None, self.metric_type())?)
    }
}

struct Stat {
    cpu_seconds: f64,
    threads: i64,
    start_seconds: f64,
}

impl Stat {
    fn read() -> Option<Self> {
        let text = fs::read_to_string("/proc/self/stat").ok()?;
        // The second field, the name in parentheses, may hold spaces. Fields are numbered as in proc(5).
        let rest: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |nth: usize| rest.get(nth - 3)?.parse::<f64>().ok();
        Some(Self {
            cpu_seconds: (field(14)? + field(15)?) / TICKS_A_SECOND,
            threads: field(20)? as i64,
            start_seconds: field(22)? / TICKS_A_SECOND,
        })
    }
}

fn boot_seconds() -> Option<f64> {
    line_value("/proc/stat", "btime ")?.parse().ok()
}

fn resident_bytes() -> Option<i64> {
    let kib = line_value("/proc/self/status", "VmRSS:")?;
    Some(kib.trim_end_matches("kB").trim().parse::<i64>().ok()? * 1_024)
}

fn descriptors_max() -> Option<i64> {
    line_value("/proc/self/limits", "Max open files")?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

fn line_value(file: &str, prefix: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    text.lines()
        .find_map(|line| Some(line.strip_prefix(prefix)?.trim().to_owned()))
}
