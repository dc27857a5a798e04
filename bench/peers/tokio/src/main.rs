// main.rs - the workloads on tokio: options, repeats, one JSON line a result.
//
// An actor is a task with an unbounded channel as its mailbox. The runtime has --workers threads; the
// thread that waits for a run to end is none of them.
mod actors;
mod fair;
mod messages;
mod restart;

use std::future::Future;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// What one run found; samples are latencies in ns.
#[derive(Default)]
pub struct Found {
    pub figure: f64,
    pub samples: Vec<u64>,
}

struct Work {
    name: &'static str,
    unit: &'static str,
    note: &'static str,
    run: fn(&Host, u64) -> Found,
}

/// The runtime, and how many threads it has.
pub struct Host {
    pub runtime: Runtime,
    pub workers: usize,
}

impl Host {
    /// Runs a judge as a task of its own: one that is not on a worker would wake one with each send.
    pub fn judge<F>(&self, task: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.runtime.block_on(self.runtime.spawn(task)).expect("a judge that ends")
    }
}

const BY_STATUS: &str = "no supervisors: a task awaits the victim's, which returned an error, and spawns it again with its mailbox";
const BY_PANIC: &str = "no supervisors: a task awaits the victim's, which panicked, and spawns it again; the mailbox is behind a lock";
const WHOLE: &str = "as W8a, with a text, a decider, hooks and memory of the instance, called by the supervising task";
const YIELDING: &str = "burners yield after each message";

#[rustfmt::skip]
const WORKS: &[Work] = &[
    Work { name: "W1", unit: "messages/s", note: "", run: |h, d| messages::pingpong(h, 1, 3_000_000 / d) },
    Work { name: "W2", unit: "messages/s", note: "", run: |h, d| messages::pingpong(h, 8, 3_000_000 / d) },
    Work { name: "W2k", unit: "messages/s", note: "", run: |h, d| messages::pingpong(h, 1000, 3_000_000 / d) },
    Work { name: "W3a", unit: "hops/s", note: "", run: |h, d| messages::ring(h, 100, 1, 3_000_000 / d) },
    Work { name: "W3b", unit: "hops/s", note: "", run: |h, d| messages::ring(h, 1000, 100, 3_000_000 / d) },
    Work { name: "W4", unit: "messages/s", note: "unbounded; a producer yields after 256",
           run: |h, d| messages::fanin(h, 4, 1_000_000 / d) },
    Work { name: "W4c", unit: "messages/s", note: "a channel of 1024: producers wait when it is full",
           run: |h, d| messages::fanin_bounded(h, 4, 1_000_000 / d) },
    Work { name: "W5", unit: "ns", note: "", run: |h, d| actors::skynet(h, 1_000_000 / d) },
    Work { name: "W6", unit: "actors/s", note: "", run: |h, d| actors::churn(h, 1_000_000 / d) },
    Work { name: "W7", unit: "bytes/actor", note: "", run: |h, d| actors::idle(h, 1_000_000 / d) },
    Work { name: "W8a", unit: "restarts/s", note: BY_STATUS, run: |h, d| restart::hot(h, restart::Way::Status, 1_000_000 / d) },
    Work { name: "W8a-panic", unit: "restarts/s", note: BY_PANIC, run: |h, d| restart::hot(h, restart::Way::Panic, 300_000 / d) },
    Work { name: "W8w", unit: "restarts/s", note: WHOLE, run: |h, d| restart::whole(h, restart::Way::Status, 1_000_000 / d) },
    Work { name: "W8w-panic", unit: "restarts/s", note: WHOLE, run: |h, d| restart::whole(h, restart::Way::Panic, 300_000 / d) },
    Work { name: "W8b", unit: "ns", note: BY_STATUS, run: |h, d| restart::paced(h, 1000 / d) },
    Work { name: "W8c", unit: "ns", note: YIELDING, run: |h, d| restart::loaded(h, 20_000 / d, 10_000, Duration::from_secs(2) / d as u32) },
    Work { name: "W9a", unit: "ns", note: "the new parent tells each child to make its state anew",
           run: |h, d| restart::family(h, 1000, 200 / d + 3, true) },
    Work { name: "W9b", unit: "ns", note: "the new parent closes the children's channels and spawns new ones",
           run: |h, d| restart::family(h, 1000, 200 / d + 3, false) },
    Work { name: "W9c", unit: "ns", note: "to the parent's next message; as W9a, and burners yield after each message",
           run: |h, d| restart::family_loaded(h, 1000, 10_000, Duration::from_secs(5) / d as u32) },
    Work { name: "W10", unit: "messages/s", note: "", run: |h, d| messages::big(h, 64, 24_000 / d) },
    Work { name: "W11", unit: "burns/s", note: YIELDING,
           run: |h, d| fair::fairness(h, 64, 1000, Duration::from_secs(2) / d.min(3) as u32) },
    Work { name: "W12s", unit: "ns", note: "", run: |h, d| fair::send_cost(h, 300_000 / d) },
    Work { name: "W12r", unit: "ns", note: "", run: |h, d| fair::send_running(h, 10_000 / d) },
    Work { name: "W12p", unit: "ns", note: "", run: |h, d| fair::send_parked(h, 1000 / d) },
    Work { name: "W18k", unit: "messages/s", note: "", run: |h, d| messages::pingpong(h, 500, 4_000_000 / d) },
    Work { name: "W18m", unit: "messages/s", note: "", run: |h, d| messages::pingpong(h, 500_000 / d, 4_000_000 / d) },
];

// ---- for all workloads

pub fn check(got: u64, want: u64) {
    if got != want {
        eprintln!("peer tokio: got {got}, not {want}");
        std::process::exit(1);
    }
}

pub fn rate(count: u64, begin: Instant) -> Found {
    Found { figure: count as f64 / begin.elapsed().as_secs_f64(), samples: Vec::new() }
}

/// The value, of which the compiler knows nothing.
pub fn kept<T>(value: T) -> T {
    // SAFETY: what is read is valid, and it is dropped once only.
    unsafe {
        let same = std::ptr::read_volatile(&value);
        std::mem::forget(value);
        same
    }
}

pub fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// A line of /proc/self/status in bytes.
pub fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix(key))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}

/// The value that a share of all samples does not exceed.
pub fn share_of(samples: &mut [u64], share: f64) -> u64 {
    samples.sort_unstable();
    let exact = share * samples.len() as f64;
    let rank = exact as usize;
    let rank = if rank > 0 && rank as f64 == exact { rank - 1 } else { rank };
    samples[rank.min(samples.len() - 1)]
}

pub fn median(mut samples: Vec<u64>) -> Found {
    if samples.is_empty() {
        eprintln!("peer tokio: no samples");
        std::process::exit(1);
    }
    Found { figure: share_of(&mut samples, 0.5) as f64, samples }
}

// ---- running

extern "C" {
    fn malloc_trim(pad: usize) -> i32;
}

fn once(work: &Work, host: &Host, divide: u64) -> (Found, u64) {
    // SAFETY: the C library's function has no conditions.
    unsafe { malloc_trim(0) };
    let _ = std::fs::write("/proc/self/clear_refs", "5"); // else the peak is the program's
    let found = (work.run)(host, divide);
    (found, status("VmHWM:"))
}

/// A percentile as a member of the line, a median over the runs; nothing without latencies.
fn tail(results: &mut [Found], name: &str, share: f64) -> String {
    if results.iter().any(|one| one.samples.is_empty()) {
        return String::new();
    }
    let mut values: Vec<u64> =
        results.iter_mut().map(|one| share_of(&mut one.samples, share)).collect();
    values.sort_unstable();
    format!("\"{name}\":{},", values[values.len() / 2])
}

fn measure(work: &Work, host: &Host, repeats: usize, divide: u64) {
    let repeats = if work.name == "W7" { 1 } else { repeats }; // malloc keeps what it once had
    if work.name != "W7" {
        let _ = once(work, host, divide); // to warm up
    }
    let (mut results, peaks): (Vec<Found>, Vec<u64>) =
        (0..repeats).map(|_| once(work, host, divide)).unzip();
    let mut figures: Vec<f64> = results.iter().map(|one| one.figure).collect();
    figures.sort_by(f64::total_cmp);
    let (shown, way) = work.name.split_once('-').unwrap_or((work.name, ""));
    let tails: String = [("p50_ns", 0.5), ("p99_ns", 0.99), ("p999_ns", 0.999), ("max_ns", 1.0)]
        .iter()
        .map(|(name, share)| tail(&mut results, name, *share))
        .collect();
    println!(
        "{{\"workload\":\"{shown}\",\"peer\":\"tokio{}{way}\",\"unit\":\"{}\",\"median\":{:.3},\
         \"min\":{:.3},\"max\":{:.3},\"repeats\":{repeats},\"workers\":{},\"peak_bytes\":{},\
         {tails}\"note\":\"{}\"}}",
        if way.is_empty() { "" } else { "-" },
        work.unit,
        (figures[repeats / 2] + figures[(repeats - 1) / 2]) / 2.0,
        figures[0],
        figures[repeats - 1],
        host.workers,
        peaks.iter().max().unwrap_or(&0),
        work.note
    );
}

fn usage() -> ! {
    eprintln!("usage: tokio [--workers N] [--repeats N] [--only W1,W8a] [--divide N]");
    std::process::exit(2);
}

fn main() {
    let (mut workers, mut repeats, mut divide) = (0, 5, 1);
    let mut only = String::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_else(|| usage());
        let number = || value.parse::<usize>().ok().filter(|n| *n > 0).unwrap_or_else(|| usage());
        match name.as_str() {
            "--only" => only = value,
            "--workers" => workers = number(),
            "--repeats" => repeats = number(),
            "--divide" => divide = number() as u64,
            _ => usage(),
        }
    }
    if workers == 0 {
        workers = std::thread::available_parallelism().map_or(1, usize::from);
    }
    std::panic::set_hook(Box::new(|what| {
        // Panics on request are not told; any other is.
        if what.payload().downcast_ref::<&str>() != Some(&restart::ON_REQUEST)
            && !what.payload().is::<restart::Failure>()
        {
            eprintln!("peer tokio: {what}");
            std::process::exit(1);
        }
    }));
    let runtime = Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_time()
        .build()
        .expect("a runtime");
    let host = Host { runtime, workers };
    for work in WORKS {
        let shown = work.name.split('-').next().unwrap_or(work.name);
        if only.is_empty() || only.split(',').any(|name| name == shown) {
            measure(work, &host, repeats, divide);
        }
    }
}
