// messages.rs - W1 to W4, W10, W18: tasks that exist already and only talk.
use crate::{check, rate, Found, Host};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc::{channel, unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::task::yield_now;

const BATCH: u64 = 256;

// ---- W1, W2, W2k, W18

pub fn pingpong(host: &Host, pairs: u64, messages: u64) -> Found {
    host.judge(async move {
        let rounds = messages / pairs / 2;
        let (done, mut over) = unbounded_channel();
        let mut pings = Vec::with_capacity(pairs as usize);
        for _ in 0..pairs {
            let (ping, ping_mailbox) = unbounded_channel();
            let (pong, pong_mailbox) = unbounded_channel();
            tokio::spawn(answer(pong_mailbox, ping.clone()));
            tokio::spawn(serve(ping_mailbox, pong, rounds, done.clone()));
            pings.push(ping);
        }
        drop(done);
        let begin = Instant::now();
        for ping in pings {
            ping.send(0).expect("a mailbox");
        }
        let mut balls = 0;
        while let Some(got) = over.recv().await {
            balls += got;
        }
        let found = rate(2 * balls, begin);
        check(balls, rounds * pairs);
        found
    })
}

async fn answer(mut mailbox: UnboundedReceiver<u64>, ping: UnboundedSender<u64>) {
    while let Some(ball) = mailbox.recv().await {
        if ping.send(ball).is_err() {
            return;
        }
    }
}

async fn serve(
    mut mailbox: UnboundedReceiver<u64>,
    pong: UnboundedSender<u64>,
    rounds: u64,
    done: UnboundedSender<u64>,
) {
    let mut got = 0;
    let _ = mailbox.recv().await; // the judge's word to begin
    for left in (1..=rounds).rev() {
        pong.send(left).expect("a mailbox");
        if mailbox.recv().await == Some(left) {
            got += 1;
        }
    }
    done.send(got).expect("a judge");
}

// ---- W3

pub fn ring(host: &Host, actors: usize, tokens: usize, hops: u64) -> Found {
    host.judge(async move {
        let (nodes, mailboxes): (Vec<_>, Vec<_>) =
            (0..actors).map(|_| unbounded_channel::<u64>()).unzip();
        let (done, mut over) = unbounded_channel();
        let (counts, mut counted) = unbounded_channel();
        for (i, mailbox) in mailboxes.into_iter().enumerate() {
            let next = nodes[(i + 1) % actors].clone();
            tokio::spawn(ring_node(mailbox, next, done.clone(), counts.clone()));
        }
        let each = hops / tokens as u64;
        let begin = Instant::now();
        for i in 0..tokens {
            nodes[i * actors / tokens].send(each).expect("a mailbox");
        }
        for _ in 0..tokens {
            over.recv().await;
        }
        let found = rate(each * tokens as u64, begin);
        let mut sum = 0;
        for node in &nodes {
            node.send(0).expect("a mailbox");
            sum += counted.recv().await.unwrap_or(0);
        }
        check(sum, each * tokens as u64);
        found
    })
}

async fn ring_node(
    mut mailbox: UnboundedReceiver<u64>,
    next: UnboundedSender<u64>,
    done: UnboundedSender<()>,
    counts: UnboundedSender<u64>,
) {
    let mut count = 0;
    while let Some(left) = mailbox.recv().await {
        match left {
            0 => break,
            1 => done.send(()).expect("a judge"),
            _ => next.send(left - 1).expect("a mailbox"),
        }
        count += 1;
    }
    counts.send(count).expect("a judge");
}

// ---- W4

pub fn fanin(host: &Host, producers: u64, messages: u64) -> Found {
    host.judge(async move {
        let (to, mut mailbox) = unbounded_channel();
        let consumer = tokio::spawn(async move {
            let mut sum = 0;
            for _ in 0..producers * messages {
                sum += mailbox.recv().await.unwrap_or(0);
            }
            sum
        });
        let begin = Instant::now();
        for item in 1..=producers {
            let to = to.clone();
            tokio::spawn(async move {
                for left in 0..messages {
                    to.send(item).expect("a mailbox");
                    if left % BATCH == BATCH - 1 {
                        yield_now().await;
                    }
                }
            });
        }
        let sum = consumer.await.unwrap_or(0);
        let found = rate(producers * messages, begin);
        check(sum, messages * producers * (producers + 1) / 2);
        found
    })
}

pub fn fanin_bounded(host: &Host, producers: u64, messages: u64) -> Found {
    host.judge(async move {
        let (to, mut mailbox) = channel(1024);
        let consumer = tokio::spawn(async move {
            let mut sum = 0;
            for _ in 0..producers * messages {
                sum += mailbox.recv().await.unwrap_or(0);
            }
            sum
        });
        let begin = Instant::now();
        for item in 1..=producers {
            let to = to.clone();
            tokio::spawn(async move {
                for _ in 0..messages {
                    to.send(item).await.expect("a mailbox");
                }
            });
        }
        let sum = consumer.await.unwrap_or(0);
        let found = rate(producers * messages, begin);
        check(sum, messages * producers * (producers + 1) / 2);
        found
    })
}

// ---- W10

enum Ball {
    Ping(u32), // from the actor of this number
    Pong,
    Stop,
}

pub fn big(host: &Host, actors: usize, pings: u64) -> Found {
    host.judge(async move {
        let (all, mailboxes): (Vec<_>, Vec<_>) = (0..actors).map(|_| unbounded_channel()).unzip();
        let all: Arc<[UnboundedSender<Ball>]> = all.into();
        let (done, mut over) = unbounded_channel();
        let served = Arc::new(AtomicU64::new(0));
        let mut ends = Vec::new();
        for (i, mailbox) in mailboxes.into_iter().enumerate() {
            let who = Big { all: all.clone(), index: i, pings, served: served.clone() };
            ends.push(tokio::spawn(who.run(mailbox, done.clone())));
        }
        let begin = Instant::now();
        for one in all.iter() {
            let _ = one.send(Ball::Pong);
        }
        for _ in 0..actors {
            over.recv().await;
        }
        let found = rate(2 * actors as u64 * pings, begin);
        for one in all.iter() {
            let _ = one.send(Ball::Stop);
        }
        for end in ends {
            end.await.expect("an actor that ends");
        }
        check(served.load(Ordering::Relaxed), actors as u64 * pings);
        found
    })
}

struct Big {
    all: Arc<[UnboundedSender<Ball>]>,
    index: usize,
    pings: u64,
    served: Arc<AtomicU64>,
}

impl Big {
    async fn run(mut self, mut mailbox: UnboundedReceiver<Ball>, done: UnboundedSender<()>) {
        let (mut seed, mut count) = ((self.index as u32 + 1) * 7919, 0);
        loop {
            match mailbox.recv().await {
                Some(Ball::Ping(from)) => {
                    count += 1;
                    let _ = self.all[from as usize].send(Ball::Pong);
                }
                Some(Ball::Pong) if self.pings == 0 => done.send(()).expect("a judge"),
                Some(Ball::Pong) => {
                    self.pings -= 1;
                    seed = seed.wrapping_mul(1103515245).wrapping_add(12345);
                    let others = self.all.len() - 1;
                    let other = (self.index + 1 + (seed >> 8) as usize % others) % self.all.len();
                    let _ = self.all[other].send(Ball::Ping(self.index as u32));
                }
                Some(Ball::Stop) | None => break,
            }
        }
        self.served.fetch_add(count, Ordering::Relaxed);
    }
}
