// restart.rs - W8 and W9: a task that fails, the one that awaits it, and the next message.
//
// tokio has no supervisor. A supervising task spawns the victim's, awaits its end, and spawns it again
// on the same mailbox. A victim that fails by status hands its mailbox back with the error; what a panic
// takes with it is behind a lock that outlives it.
use crate::fair::{burn_loops, Burners};
use crate::{check, kept, median, nanoseconds, rate, Found, Host};
use std::panic::panic_any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::sync::Mutex;

pub const ON_REQUEST: &str = "on request";
const MEMORY: usize = 256; // of an instance, in W8w
const PERIOD: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, PartialEq)]
pub enum Way {
    Status,
    Panic,
}

#[derive(Debug)]
enum Order {
    Fail,
    Next,
    Stop,
}

/// What a failure says, in W8w.
pub struct Failure {
    code: u32,
    text: String,
}

enum Directive {
    Restart,
    Stop,
}

fn decide(failure: &Failure) -> Directive {
    if failure.code == 7 && failure.text == ON_REQUEST {
        Directive::Restart
    } else {
        Directive::Stop
    }
}

/// An instance with hooks and memory of its own, in W8w.
struct Instance {
    memory: Vec<u8>,
    hooks: Arc<AtomicU64>,
}

impl Instance {
    fn new(hooks: &Arc<AtomicU64>) -> Instance {
        Instance { memory: kept(vec![1; MEMORY]), hooks: hooks.clone() }
    }
    fn hook(&mut self) {
        self.memory[0] += 1;
        self.hooks.fetch_add(1, Ordering::Relaxed);
    }
    fn pre_start(&mut self) {
        self.hook();
    }
    fn pre_restart(&mut self, failure: &Failure) {
        kept(failure);
        self.post_stop();
        self.hook();
    }
    fn post_stop(&mut self) {
        self.hook();
    }
    fn post_restart(&mut self, failure: &Failure) {
        kept(failure);
        self.pre_start();
        self.hook();
    }
}

/// What outlives an instance: its mailbox, and what is measured.
struct Place {
    mailbox: UnboundedReceiver<Order>,
    own: UnboundedSender<Order>,
    samples: Vec<u64>,
    failed: Instant,
    left: u64,
    hot: bool,
    handled: Arc<AtomicU64>,
    whole: bool,
    instance: Option<Instance>,
    failure: Option<Failure>,
    hooks: Arc<AtomicU64>,
}

impl Place {
    fn new(count: u64, hot: bool, whole: bool) -> Box<Place> {
        let (own, mailbox) = unbounded_channel();
        Box::new(Place {
            mailbox,
            own,
            samples: Vec::with_capacity(count as usize),
            failed: Instant::now(),
            left: count,
            hot,
            handled: Arc::new(AtomicU64::new(0)),
            whole,
            instance: None,
            failure: None,
            hooks: Arc::new(AtomicU64::new(0)),
        })
    }

    fn tell(to: &UnboundedSender<Order>) {
        to.send(Order::Fail).expect("a mailbox");
        to.send(Order::Next).expect("a mailbox");
    }

    fn begin(&mut self) {
        if !self.whole {
            return;
        }
        let mut instance = Instance::new(&self.hooks);
        match self.failure.take() {
            Some(failure) => instance.post_restart(&failure),
            None => instance.pre_start(),
        }
        self.instance = Some(instance);
    }

    /// One instance's life; false: it failed. By panic it does not return then.
    async fn live(&mut self, way: Way) -> bool {
        self.begin();
        let mut state = 0u64; // new with each instance
        while let Some(order) = self.mailbox.recv().await {
            state = kept(state + 1);
            match order {
                Order::Fail => return self.fail(way),
                Order::Next => {
                    self.samples.push(nanoseconds(self.failed.elapsed()));
                    self.handled.fetch_add(1, Ordering::Relaxed);
                    self.left -= 1;
                    if self.left == 0 {
                        return true;
                    }
                    if self.hot {
                        Place::tell(&self.own);
                    }
                }
                Order::Stop => return true,
            }
        }
        true
    }

    fn fail(&mut self, way: Way) -> bool {
        self.failed = Instant::now();
        match (way, self.whole) {
            (Way::Status, false) => {}
            (Way::Panic, false) => panic_any(ON_REQUEST),
            (Way::Status, true) => {
                self.failure = Some(Failure { code: 7, text: ON_REQUEST.to_string() });
            }
            (Way::Panic, true) => panic_any(Failure { code: 7, text: ON_REQUEST.to_string() }),
        }
        false
    }

    /// The supervising task's part: whether there is to be another instance.
    fn restart(&mut self) -> bool {
        if !self.whole {
            return true;
        }
        let failure = self.failure.as_ref().expect("a failure that says why");
        if let Directive::Stop = decide(failure) {
            return false;
        }
        if let Some(mut instance) = self.instance.take() {
            instance.pre_restart(failure);
        }
        true
    }
}

async fn supervise_status(mut place: Box<Place>) -> Box<Place> {
    loop {
        let task = tokio::spawn(async move {
            let over = place.live(Way::Status).await;
            (place, over)
        });
        let (back, over) = task.await.expect("an end by status");
        place = back;
        if over || !place.restart() {
            return place;
        }
    }
}

async fn supervise_panic(place: Box<Place>) -> Box<Place> {
    let shared = Arc::new(Mutex::new(place));
    loop {
        let its = shared.clone();
        let end = tokio::spawn(async move { its.lock().await.live(Way::Panic).await }).await;
        let error = match end {
            Ok(_) => break,
            Err(error) => error,
        };
        let mut place = shared.lock().await;
        if place.whole {
            let cause = error.into_panic().downcast::<Failure>().expect("a failure");
            place.failure = Some(*cause);
        }
        if !place.restart() {
            break;
        }
    }
    match Arc::try_unwrap(shared) {
        Ok(last) => last.into_inner(),
        Err(_) => panic!("an instance is left"),
    }
}

async fn supervise(place: Box<Place>, way: Way) -> Box<Place> {
    match way {
        Way::Status => supervise_status(place).await,
        Way::Panic => supervise_panic(place).await,
    }
}

// ---- W8

fn back_to_back(host: &Host, way: Way, count: u64, whole: bool) -> Found {
    host.judge(async move {
        let place = Place::new(count, true, whole);
        let begin = Instant::now();
        Place::tell(&place.own);
        let place = tokio::spawn(supervise(place, way)).await.expect("a supervising task");
        let found = rate(count, begin);
        check(place.samples.len() as u64, count);
        // pre_start once; post_stop, pre_restart, pre_start, post_restart for each restart.
        check(place.hooks.load(Ordering::Relaxed), if whole { 4 * count + 1 } else { 0 });
        Found { samples: place.samples, ..found }
    })
}

pub fn hot(host: &Host, way: Way, count: u64) -> Found {
    back_to_back(host, way, count, false)
}

pub fn whole(host: &Host, way: Way, count: u64) -> Found {
    back_to_back(host, way, count, true)
}

/// Calls once a millisecond while there is time, a few times at least, but not while what was begun
/// before is not over. It runs on no worker.
fn pace(end: Instant, most: u64, begun: impl Fn(), over: impl Fn(u64) -> bool) -> u64 {
    let mut told = 0;
    let mut next = Instant::now() + PERIOD;
    while told < most && (Instant::now() < end || told < 5) {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next += PERIOD;
        if over(told) {
            begun();
            told += 1;
        }
    }
    told
}

fn at_a_pace(host: &Host, count: u64, length: Duration) -> Found {
    let place = Place::new(count + 1, false, false);
    let (to, handled) = (place.own.clone(), place.handled.clone());
    let task = host.runtime.spawn(supervise(place, Way::Status));
    let told = pace(
        Instant::now() + length,
        count,
        || Place::tell(&to),
        |told| handled.load(Ordering::Relaxed) == told,
    );
    to.send(Order::Stop).expect("a mailbox");
    let place = host.runtime.block_on(task).expect("a supervising task");
    check(place.samples.len() as u64, told);
    median(place.samples)
}

pub fn paced(host: &Host, count: u64) -> Found {
    at_a_pace(host, count, Duration::from_secs(600))
}

pub fn loaded(host: &Host, count: u64, burners: usize, length: Duration) -> Found {
    let load = Burners::start(host, burners, burn_loops(Duration::from_micros(1)));
    let found = at_a_pace(host, count, length);
    load.stop(host);
    found
}

// ---- W9

struct Family {
    children: u64,
    base: Instant,
    failed: AtomicU64, // ns from the base
    ready: AtomicU64,  // children of the present generation that are
    total: AtomicU64,
    last: AtomicU64, // ns from the failure to the last child
    done: UnboundedSender<()>,
}

impl Family {
    fn since(&self) -> u64 {
        nanoseconds(self.base.elapsed()) - self.failed.load(Ordering::Acquire)
    }
    fn is_ready(&self) {
        self.total.fetch_add(1, Ordering::Relaxed);
        if self.ready.fetch_add(1, Ordering::AcqRel) + 1 == self.children {
            self.last.store(self.since(), Ordering::Release);
            let _ = self.done.send(()); // W9c's judge may be gone
        }
    }
}

async fn child(family: Arc<Family>, mut mailbox: UnboundedReceiver<()>) {
    let mut state = kept(Box::new(0u64));
    family.is_ready();
    while mailbox.recv().await.is_some() {
        state = kept(Box::new(0)); // told to begin anew
        family.is_ready();
    }
    drop(state);
}

/// What outlives a parent.
struct House {
    family: Arc<Family>,
    survive: bool,
    mailbox: UnboundedReceiver<Order>,
    children: Vec<UnboundedSender<()>>,
    samples: Vec<u64>, // to the parent's next message
}

impl House {
    fn make(&mut self) {
        for _ in 0..self.family.children {
            let (to, mailbox) = unbounded_channel();
            self.children.push(to);
            tokio::spawn(child(self.family.clone(), mailbox));
        }
    }

    fn begin(&mut self) {
        if self.survive && !self.children.is_empty() {
            for to in &self.children {
                to.send(()).expect("a child");
            }
        } else {
            self.children.clear(); // their channels end, and so do they
            self.make();
        }
    }

    /// A parent's life; false: it failed.
    async fn live(&mut self) -> bool {
        self.begin();
        while let Some(order) = self.mailbox.recv().await {
            match order {
                Order::Fail => {
                    self.family.ready.store(0, Ordering::Relaxed);
                    let now = nanoseconds(self.family.base.elapsed());
                    self.family.failed.store(now, Ordering::Release);
                    return false;
                }
                Order::Next => self.samples.push(self.family.since()),
                Order::Stop => return true,
            }
        }
        true
    }
}

async fn supervise_house(mut house: Box<House>) -> Box<House> {
    loop {
        let task = tokio::spawn(async move {
            let over = house.live().await;
            (house, over)
        });
        let (back, over) = task.await.expect("an end by status");
        house = back;
        if over {
            return house;
        }
    }
}

type Built = (Arc<Family>, Box<House>, UnboundedSender<Order>, UnboundedReceiver<()>);

fn build(children: u64, survive: bool) -> Built {
    let (to, mailbox) = unbounded_channel();
    let (done, over) = unbounded_channel();
    let family = Arc::new(Family {
        children,
        base: Instant::now(),
        failed: AtomicU64::new(0),
        ready: AtomicU64::new(0),
        total: AtomicU64::new(0),
        last: AtomicU64::new(0),
        done,
    });
    let house = Box::new(House {
        family: family.clone(),
        survive,
        mailbox,
        children: Vec::new(),
        samples: Vec::new(),
    });
    (family, house, to, over)
}

pub fn family(host: &Host, children: u64, rounds: u64, survive: bool) -> Found {
    host.judge(async move {
        let (family, house, to, mut over) = build(children, survive);
        let task = tokio::spawn(supervise_house(house));
        over.recv().await;
        let mut samples = Vec::new();
        for _ in 0..rounds {
            to.send(Order::Fail).expect("a mailbox");
            over.recv().await;
            samples.push(family.last.load(Ordering::Acquire));
        }
        to.send(Order::Stop).expect("a mailbox");
        task.await.expect("a supervising task");
        check(family.total.load(Ordering::Relaxed), children * (rounds + 1));
        median(samples)
    })
}

pub fn family_loaded(host: &Host, children: u64, burners: usize, length: Duration) -> Found {
    let (family, house, to, mut over) = build(children, true);
    let task = host.runtime.spawn(supervise_house(house));
    host.runtime.block_on(over.recv());
    let load = Burners::start(host, burners, burn_loops(Duration::from_micros(1)));
    let told = pace(
        Instant::now() + length,
        u64::MAX,
        || Place::tell(&to),
        |told| family.total.load(Ordering::Relaxed) == children * (told + 1),
    );
    to.send(Order::Stop).expect("a mailbox");
    let house = host.runtime.block_on(task).expect("a supervising task");
    load.stop(host);
    check(house.samples.len() as u64, told);
    median(house.samples)
}
