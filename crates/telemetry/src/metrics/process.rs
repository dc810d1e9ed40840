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
        let mut put = |name: &str, help: &str, value: Option<&dyn Shown>| {
            value.map_or(Ok(()), |value| value.show(&mut encoder, name, help))
        };
        let stat = Stat::read();
        let cpu = stat.as_ref().map(|stat| ConstCounter::new(stat.cpu_seconds));
        let threads = stat.as_ref().map(|stat| ConstGauge::new(stat.threads));
        let start = stat.and_then(|stat| Some(ConstGauge::new(boot_seconds()? + stat.start_seconds)));
        put("process_cpu_seconds", "Processor time used", shown(&cpu))?;
        put("process_threads", "Threads", shown(&threads))?;
        put(
            "process_start_time_seconds",
            "Start, since the epoch",
            shown(&start),
        )?;
        put(
            "process_resident_memory_bytes",
            "Memory in use",
            shown(&resident_bytes().map(ConstGauge::new)),
        )?;
        put(
            "process_open_fds",
            "Open file descriptors",
            shown(&open_descriptors().map(ConstGauge::new)),
        )?;
        put(
            "process_max_fds",
            "Limit of file descriptors",
            shown(&descriptors_max().map(ConstGauge::new)),
        )?;
        let (lines, spans) = (crate::init::dropped_lines(), crate::init::dropped_spans());
        put(
            "gengfu_log_lines_dropped",
            "Log lines dropped",
            Some(&ConstCounter::new(lines)),
        )?;
        put(
            "gengfu_spans_dropped",
            "Spans dropped",
            Some(&ConstCounter::new(spans)),
        )
    }
}

fn shown<M: Shown>(metric: &Option<M>) -> Option<&dyn Shown> {
    metric.as_ref().map(|metric| metric as &dyn Shown)
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

fn open_descriptors() -> Option<i64> {
    let listed = fs::read_dir("/proc/self/fd").ok()?.count();
    // One of them is this listing's own.
    i64::try_from(listed).ok()?.checked_sub(1)
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
