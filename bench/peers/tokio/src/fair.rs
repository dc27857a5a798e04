// fair.rs - W11: pings beside tasks that compute; W12: messages from a thread outside of the runtime.
use crate::{check, kept, median, nanoseconds, rate, Found, Host};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::task::{yield_now, JoinHandle};

pub fn burn(loops: u64) {
    let mut x = loops;
    for _ in 0..loops {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1);
    }
    kept(x);
}

/// How many turns of the loop take as long as told.
pub fn burn_loops(length: Duration) -> u64 {
    const TRIAL: u64 = 200_000;
    let best = (0..30)
        .map(|_| {
            let begin = Instant::now();
            burn(kept(TRIAL));
            nanoseconds(begin.elapsed())
        })
        .min()
        .unwrap_or(1);
    nanoseconds(length) * TRIAL / best.max(1) + 1
}

/// Tasks that are always ready: each burns, and sends to itself. Without the yield a task keeps its
/// worker for 128 messages.
pub struct Burners {
    quit: Arc<AtomicBool>,
    burns: Arc<AtomicU64>,
    all: Vec<JoinHandle<()>>,
}

impl Burners {
    pub fn start(host: &Host, count: usize, loops: u64) -> Burners {
        let quit = Arc::new(AtomicBool::new(false));
        let burns = Arc::new(AtomicU64::new(0));
        let all = (0..count)
            .map(|_| host.runtime.spawn(burner(quit.clone(), burns.clone(), loops)))
            .collect();
        std::thread::sleep(Duration::from_millis(100));
        Burners { quit, burns, all }
    }

    pub fn burns(&self) -> u64 {
        self.burns.load(Ordering::Relaxed)
    }

    pub fn stop(self, host: &Host) {
        self.quit.store(true, Ordering::Relaxed);
        for one in self.all {
            host.runtime.block_on(one).expect("a burner that ends");
        }
    }
}

async fn burner(quit: Arc<AtomicBool>, burns: Arc<AtomicU64>, loops: u64) {
    let (own, mut mailbox) = unbounded_channel();
    own.send(()).expect("a mailbox");
    while !quit.load(Ordering::Relaxed) {
        mailbox.recv().await;
        if loops > 0 {
            burn(loops);
        }
        burns.fetch_add(1, Ordering::Relaxed);
        own.send(()).expect("a mailbox");
        yield_now().await;
    }
}

// ---- W11

const PING_PERIOD: Duration = Duration::from_micros(500);

/// Pings at a rate, whether those before have been answered or not.
pub fn fairness(host: &Host, burners: usize, lights: usize, length: Duration) -> Found {
    let load = Burners::start(host, burners, burn_loops(Duration::from_micros(50)));
    let (answers, answered) = unbounded_channel();
    let pinged: Vec<_> = (0..lights)
        .map(|_| {
            let (to, mailbox) = unbounded_channel();
            host.runtime.spawn(light(mailbox, answers.clone()));
            to
        })
        .collect();
    drop(answers);
    let judge = host.runtime.spawn(judge(answered));
    let (before, begin) = (load.burns(), Instant::now());
    let pings = host.judge(pinger(pinged, length));
    let found = rate(load.burns() - before, begin);
    let samples = host.runtime.block_on(judge).expect("a judge");
    load.stop(host);
    check(samples.len() as u64, pings);
    Found { samples, ..found }
}

/// The mailboxes end with it, and so do those who are pinged, and their judge.
async fn pinger(pinged: Vec<UnboundedSender<Instant>>, length: Duration) -> u64 {
    let begin = Instant::now();
    let mut ticks = tokio::time::interval(PING_PERIOD);
    let mut pings = 0;
    while begin.elapsed() < length {
        ticks.tick().await;
        let due = begin.elapsed().min(length).as_nanos() / PING_PERIOD.as_nanos();
        while pings < due as u64 {
            pinged[pings as usize % pinged.len()].send(Instant::now()).expect("a mailbox");
            pings += 1;
        }
    }
    pings
}

async fn light(mut mailbox: UnboundedReceiver<Instant>, answers: UnboundedSender<Instant>) {
    while let Some(sent) = mailbox.recv().await {
        answers.send(sent).expect("a judge");
    }
}

async fn judge(mut answered: UnboundedReceiver<Instant>) -> Vec<u64> {
    let mut samples = Vec::new();
    while let Some(sent) = answered.recv().await {
        samples.push(nanoseconds(sent.elapsed()));
    }
    samples
}

// ---- W12

const BURST: u64 = 1000;
const GAP: Duration = Duration::from_micros(5);

/// Runs beside a task a worker that sends to itself without end.
fn busily(host: &Host, run: impl FnOnce() -> Found) -> Found {
    let load = Burners::start(host, host.workers, 0);
    let found = run();
    load.stop(host);
    found
}

fn wait(handled: &AtomicU64, sent: u64) {
    while handled.load(Ordering::Acquire) < sent {
        std::hint::spin_loop();
    }
}

pub fn send_cost(host: &Host, count: u64) -> Found {
    busily(host, || {
        let (to, mut mailbox) = unbounded_channel();
        let handled = Arc::new(AtomicU64::new(0));
        let seen = handled.clone();
        let actor = host.runtime.spawn(async move {
            let mut total = 0;
            while let Some(number) = mailbox.recv().await {
                total += number;
                seen.fetch_add(1, Ordering::Release);
            }
            total
        });
        let (mut took, mut sent) = (0, 0u64);
        while sent < count {
            let begin = Instant::now();
            for _ in 0..BURST.min(count - sent) {
                to.send(sent).expect("a mailbox");
                sent += 1;
            }
            took += nanoseconds(begin.elapsed());
            wait(&handled, sent);
        }
        drop(to);
        check(host.runtime.block_on(actor).unwrap_or(0), count * (count - 1) / 2);
        Found { figure: took as f64 / count as f64, samples: Vec::new() }
    })
}

pub fn send_running(host: &Host, count: u64) -> Found {
    busily(host, || {
        send_timed(host, count, || {
            let due = Instant::now() + GAP;
            while Instant::now() < due {}
        })
    })
}

pub fn send_parked(host: &Host, count: u64) -> Found {
    send_timed(host, count, || std::thread::sleep(Duration::from_millis(1)))
}

fn send_timed(host: &Host, count: u64, pause: impl Fn()) -> Found {
    let (to, mut mailbox) = unbounded_channel::<Instant>();
    let handled = Arc::new(AtomicU64::new(0));
    let seen = handled.clone();
    let actor = host.runtime.spawn(async move {
        let mut samples = Vec::with_capacity(count as usize);
        while let Some(sent) = mailbox.recv().await {
            samples.push(nanoseconds(sent.elapsed()));
            seen.fetch_add(1, Ordering::Release);
        }
        samples
    });
    for i in 1..=count {
        pause();
        to.send(Instant::now()).expect("a mailbox");
        wait(&handled, i);
    }
    drop(to);
    let samples = host.runtime.block_on(actor).expect("an actor that ends");
    check(samples.len() as u64, count);
    median(samples)
}
