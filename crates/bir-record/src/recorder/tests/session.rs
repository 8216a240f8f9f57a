//! The thread with fakes around it, fed as the relay feeds it.

use super::super::bound::Bound;
use super::*;

/// A store that opens when it may.
pub(super) struct Fakes {
    pub(super) kept: Kept,
    pub(super) opens: Arc<AtomicBool>,
}

impl Open for Fakes {
    type Scrub = Plain;
    type Keep = Kept;
    fn open(&mut self, _: &mut dyn FnMut(&str)) -> Result<(Plain, Kept), String> {
        if !self.opens.load(Ordering::Relaxed) {
            return Err("no disk".into());
        }
        self.kept.0.lock().unwrap().events.push("open");
        Ok((Plain, self.kept.clone()))
    }
}

/// A control server and an inbox, as far as they are seen.
#[derive(Clone)]
pub(super) struct Desk(pub(super) Arc<Mutex<Inner>>);

pub(super) struct Inner {
    /// What a look finds at once.
    pub(super) sighting: Sighting,
    /// What becomes of the next parcels; the last stays.
    pub(super) fates: VecDeque<Fate>,
    /// A parcel that was sent stays on its way.
    pub(super) holds: bool,
    pub(super) has_moved: bool,
    pub(super) inbox_refuses: bool,
    pub(super) heard: VecDeque<Heard>,
    pub(super) taken: Vec<ProxyReport>,
    pub(super) inbox: Vec<ProxyReport>,
    pub(super) registrations: Vec<Registration>,
    pub(super) looks: usize,
}

impl Desk {
    pub(super) fn new(sighting: Sighting) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            sighting,
            fates: VecDeque::from([Fate::Taken]),
            holds: false,
            has_moved: false,
            inbox_refuses: false,
            heard: VecDeque::new(),
            taken: Vec::new(),
            inbox: Vec::new(),
            registrations: Vec::new(),
            looks: 0,
        })))
    }
    pub(super) fn change(&self, change: impl FnOnce(&mut Inner)) {
        change(&mut self.0.lock().unwrap());
    }
    pub(super) fn get<T>(&self, get: impl FnOnce(&Inner) -> T) -> T {
        get(&self.0.lock().unwrap())
    }
}

impl Link for Desk {
    fn look(&mut self) -> Sighting {
        let inner = &mut *self.0.lock().unwrap();
        (inner.looks, inner.has_moved) = (inner.looks + 1, false);
        inner.sighting.clone()
    }
    fn has_moved(&mut self) -> bool {
        self.get(|inner| inner.has_moved)
    }
    fn send(&mut self, parcel: Parcel) {
        let inner = &mut *self.0.lock().unwrap();
        assert_eq!(parcel.registration.proxy_id, parcel.reports.proxy_id);
        if inner.holds {
            return;
        }
        let fate = if inner.fates.len() > 1 { inner.fates.pop_front() } else { inner.fates.front().copied() };
        let fate = fate.unwrap();
        if fate == Fate::Taken {
            if inner.registrations.last() != Some(&*parcel.registration) {
                inner.registrations.push((*parcel.registration).clone());
            }
            inner.taken.extend(parcel.reports.reports.iter().cloned());
        }
        inner.heard.push_back(Heard::Brought(fate));
        std::thread::current().unpark();
    }
    fn heard(&mut self) -> Option<Heard> {
        self.0.lock().unwrap().heard.pop_front()
    }
    fn leave(&mut self, _: &Registration, reports: Vec<ProxyReport>) -> Result<(), String> {
        let inner = &mut *self.0.lock().unwrap();
        if inner.inbox_refuses {
            return Err("no room".into());
        }
        inner.inbox.extend(reports);
        Ok(())
    }
}

pub(super) const ANSWERS: Sighting = Sighting::Answered { api_version: Some(API_VERSION) };

#[derive(Clone)]
pub(super) struct Around {
    pub(super) off: Arc<AtomicBool>,
    pub(super) said: Arc<Mutex<Vec<String>>>,
}

impl Surroundings for Around {
    fn project(&mut self) -> Option<std::path::PathBuf> {
        Some("/p".into())
    }
    fn is_off(&mut self) -> bool {
        self.off.load(Ordering::Relaxed)
    }
}

pub(super) fn registration() -> Registration {
    Registration {
        api_version: API_VERSION,
        version: "1".into(),
        proxy_id: String::new(),
        server: ServerInfo { name: "files".into(), ..ServerInfo::default() },
        pid: 1,
        parent_pid: 2,
        cwd: "/p".into(),
        host: None,
        host_session: None,
        takes_call_id: false,
        tools: None,
    }
}

/// The thread, fed as the relay feeds it.
pub(super) struct Session {
    pub(super) tap: ProxyTap,
    pub(super) queue: Arc<Queue>,
    pub(super) kept: Kept,
    pub(super) desk: Desk,
    pub(super) opens: Arc<AtomicBool>,
    pub(super) around: Around,
}

impl Session {
    pub(super) fn new(scope: Scope, window: impl FnOnce(Instant) -> Instant + Send + 'static) -> Self {
        Self::at(scope, Sighting::Nothing, window)
    }

    /// Where a look finds this.
    pub(super) fn at(
        scope: Scope,
        sighting: Sighting,
        window: impl FnOnce(Instant) -> Instant + Send + 'static,
    ) -> Self {
        Self::with(scope, sighting, window, None)
    }

    /// Where ids may come in the arguments.
    pub(super) fn with(
        scope: Scope,
        sighting: Sighting,
        window: impl FnOnce(Instant) -> Instant + Send + 'static,
        takes_call_ids: Option<Arc<AtomicBool>>,
    ) -> Self {
        let early = takes_call_ids.is_some();
        let (queue, kept) = (Arc::new(Queue::new()), Kept::default());
        let around = Around { off: Arc::default(), said: Arc::default() };
        let (opens, desk) = (Arc::new(AtomicBool::new(true)), Desk::new(sighting));
        let start = {
            let (queue, store) = (queue.clone(), Fakes { kept: kept.clone(), opens: opens.clone() });
            let (surroundings, said) = (Box::new(around.clone()), around.said.clone());
            let say: Say = Arc::new(move |_: Level, text: &str| said.lock().unwrap().push(text.into()));
            let negotiate = move |now| Negotiation::new(false, scope, window(now));
            let bound = Bound::new(Box::new(desk.clone()), registration());
            let (server, store) = ("files".into(), Some(store));
            let introduces = takes_call_ids.is_some();
            let parts = worker::Parts { server, surroundings, say, store, bound, takes_call_ids, introduces };
            move || worker::run_on_thread(queue, parts, negotiate)
        };
        Self { tap: ProxyTap::new(queue.clone(), Box::new(start), early), queue, kept, desk, opens, around }
    }

    pub(super) fn call(&mut self, key: u64, arguments: &str) {
        self.began(key, "t", arguments);
        self.ended(key);
    }

    pub(super) fn began(&mut self, key: u64, tool: &str, arguments: &str) {
        let at = Moment { epoch_ms: 0, instant: Instant::now() };
        let arguments = Some(Payload { head: arguments.as_bytes(), len: arguments.len() as u64 });
        let (call, tool, host_call_id) = (CallKey(key), tool.into(), Some(format!("toolu_{key}").into()));
        self.tap.observe(Event::Began {
            call,
            tool,
            host_call_id,
            arguments,
            client: None,
            replayed: false,
            at,
        });
    }

    pub(super) fn ended(&mut self, key: u64) {
        let at = Moment { epoch_ms: 0, instant: Instant::now() };
        let answer = Payload { head: b"{}", len: 2 };
        let (call, outcome) = (CallKey(key), Outcome::Ok);
        self.tap.observe(Event::Ended { call, outcome, answer, ambiguous: false, at });
    }

    /// Waits until it is so; fails after half a minute.
    pub(super) fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !is_so(self) {
            assert!(Instant::now() < deadline, "{what}: {:?} {:?}", self.kept.lines(), self.kept.events());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(super) fn close(self, farewell: Farewell) -> (Vec<String>, Vec<&'static str>, Vec<String>) {
        self.queue.close(farewell);
        self.queue.wait_done(Duration::from_secs(30));
        let said = self.around.said.lock().unwrap().clone();
        (self.kept.lines(), self.kept.events(), said)
    }
}
