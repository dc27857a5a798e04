// actors.rs - W5 to W7: tasks come, go, and do nothing.
use crate::{check, nanoseconds, rate, status, Found, Host};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{unbounded_channel, UnboundedSender};
use tokio::task::yield_now;

const BATCH: u64 = 256;

// ---- W5

pub fn skynet(host: &Host, leaves: u64) -> Found {
    let mut size = 1;
    while size * 10 <= leaves {
        size *= 10;
    }
    host.judge(async move {
        let (parent, mut mailbox) = unbounded_channel();
        let begin = Instant::now();
        tokio::spawn(skynet_node(parent, 0, size));
        let got = mailbox.recv().await.unwrap_or(0);
        let took = begin.elapsed();
        check(got, size * (size - 1) / 2);
        Found { figure: nanoseconds(took) as f64, samples: Vec::new() }
    })
}

/// A leaf is spawned as it is; what spawns its own kind has to be boxed.
fn skynet_spawn(parent: UnboundedSender<u64>, number: u64, size: u64) {
    if size == 1 {
        tokio::spawn(async move { parent.send(number).expect("a parent") });
    } else {
        tokio::spawn(skynet_node(parent, number, size));
    }
}

fn skynet_node(
    parent: UnboundedSender<u64>,
    number: u64,
    size: u64,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        if size == 1 {
            parent.send(number).expect("a parent");
            return;
        }
        let (own, mut mailbox) = unbounded_channel();
        let part = size / 10;
        for i in 0..10 {
            skynet_spawn(own.clone(), number + i * part, part);
        }
        let mut sum = 0;
        for _ in 0..10 {
            sum += mailbox.recv().await.unwrap_or(0);
        }
        parent.send(sum).expect("a parent");
    })
}

// ---- W6

pub fn churn(host: &Host, actors: u64) -> Found {
    host.judge(async move {
        let sum = Arc::new(AtomicU64::new(0));
        let (done, mut over) = unbounded_channel();
        let want = actors * (actors + 1) / 2;
        let begin = Instant::now();
        for i in 1..=actors {
            let (to, mut mailbox) = unbounded_channel();
            let (sum, done) = (sum.clone(), done.clone());
            tokio::spawn(async move {
                let number = mailbox.recv().await.unwrap_or(0);
                if sum.fetch_add(number, Ordering::Relaxed) + number == want {
                    done.send(()).expect("a judge");
                }
            });
            to.send(i).expect("a mailbox");
            if i % BATCH == 0 {
                yield_now().await;
            }
        }
        over.recv().await;
        let found = rate(actors, begin);
        check(sum.load(Ordering::Relaxed), want);
        found
    })
}

// ---- W7

pub fn idle(host: &Host, actors: u64) -> Found {
    host.judge(async move {
        let ready = Arc::new(AtomicU64::new(0));
        let before = status("VmRSS:");
        let mut all = Vec::with_capacity(actors as usize);
        for state in 1..=actors {
            let (to, mut mailbox) = unbounded_channel::<UnboundedSender<u64>>();
            let ready = ready.clone();
            all.push(to);
            tokio::spawn(async move {
                ready.fetch_add(1, Ordering::Relaxed);
                if let Some(judge) = mailbox.recv().await {
                    judge.send(state).expect("a judge");
                }
            });
            if state % BATCH == 0 {
                yield_now().await;
            }
        }
        while ready.load(Ordering::Relaxed) != actors {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // Without the list of them all.
        let bytes = status("VmRSS:") as f64 - before as f64 - 8.0 * actors as f64;
        let (judge, mut mailbox) = unbounded_channel();
        let mut total = 0;
        for to in all {
            to.send(judge.clone()).expect("a mailbox");
            total += mailbox.recv().await.unwrap_or(0);
        }
        check(total, actors * (actors + 1) / 2);
        Found { figure: bytes / actors as f64, samples: Vec::new() }
    })
}
