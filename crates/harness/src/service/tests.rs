//! What the queue says of controllers that work, and of a queue that stands still, on a clock that the tests advance.

use std::time::Duration;

use archive::Archive;
use queue::api::{AttemptCall, ClaimCall, QueueList, Submission};
use queue::{Attempt, ControllerCall, EntryId, LEASE, LeaseWatch, NewController};

use super::Harness;
use super::lists::{ListPart, OPEN_PAGE};
use crate::folder::HarnessFolder;
use crate::people::{Person, Role};
use crate::store::handle::StoreHandle;
use crate::store::sqlite::Sqlite;

const OWNER: &str = "the secret of m";

/// A second more than a lease.
const BEYOND: Duration = Duration::from_secs(LEASE.as_secs() + 1);

/// A harness in a directory of its own, with two entries and a controller on the host m.
pub(super) struct Home {
    dir: tempfile::TempDir,
    pub(super) harness: Harness,
    entries: Vec<EntryId>,
    plan: String,
}

fn controller() -> ControllerCall {
    ControllerCall { id: "c".to_owned(), boot: "1".to_owned() }
}

impl Home {
    pub(super) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = HarnessFolder::create(dir.path()).unwrap();
        let store = StoreHandle::start(Box::new(Sqlite::open(&folder.database()).unwrap())).unwrap();
        let harness = Harness::new(store, Archive::new(dir.path()), folder);
        let elsewhere = dir.path().join("elsewhere");
        let id = archive::example::comparison(&elsewhere, 1).unwrap();
        let plan = elsewhere.join(id.as_str()).join(archive::layout::PLAN);
        let plan = std::fs::read_to_string(plan).unwrap();
        let mut home = Self { dir, harness, entries: Vec::new(), plan };
        home.submit().await;
        home.submit().await;
        let new = NewController {
            id: controller().id,
            boot: controller().boot,
            name: "c".to_owned(),
            host: "m".to_owned(),
            version: String::new(),
            rules: String::new(),
        };
        home.harness.register(new, OWNER.to_owned()).await.unwrap();
        home
    }

    async fn submit(&mut self) {
        let person = Person { name: "ada".to_owned(), role: Role::Admin, has_account: false };
        let submission = Submission { plan: self.plan.clone(), ..Submission::default() };
        self.entries.push(self.harness.submit(submission, person).await.unwrap().0.id);
    }

    /// Another server of the same database.
    fn other_server(&self) -> Harness {
        let folder = HarnessFolder::create(self.dir.path()).unwrap();
        Harness::new(self.harness.store().clone(), Archive::new(self.dir.path()), folder)
    }

    /// One with a directory of its own, as on another machine.
    pub(super) fn server_elsewhere(&self) -> (Harness, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let folder = HarnessFolder::create(dir.path()).unwrap();
        (Harness::new(self.harness.store().clone(), Archive::new(dir.path()), folder), dir)
    }

    /// The controller takes the first entry.
    async fn claim(&self) -> Attempt {
        let call = ClaimCall { controller: controller(), busy: None, wait_s: 0 };
        self.harness.claim(call, OWNER).await.unwrap().work.unwrap().attempt
    }

    /// The controller renews its lease; the run begins with it.
    async fn renew(&self, attempt: Attempt) {
        let call = AttemptCall {
            token: attempt.token,
            lines: Vec::new(),
            begins: true,
            refuses: None,
            run: None,
            ends: None,
        };
        self.harness.attempt(attempt.entry, call, OWNER.to_owned()).await.unwrap();
    }
}

/// Why the second entry waits.
async fn reason(harness: &Harness) -> String {
    let QueueList { outlooks, .. } = harness.list(ListPart::default()).await.unwrap();
    outlooks.last().unwrap().reason.clone()
}

#[tokio::test]
async fn a_controller_that_has_a_run_is_there() {
    let home = Home::new().await;
    let attempt = home.claim().await;
    home.harness.clock.pass(BEYOND / 2);
    home.renew(attempt).await;
    home.harness.clock.pass(BEYOND / 2);
    let hosts = home.harness.hosts().await.unwrap();
    assert!(hosts.controllers[0].is_heard, "it has called half a minute ago");
    assert_eq!(reason(&home.harness).await, format!("entry {} has m", home.entries[0]));
    home.harness.clock.pass(BEYOND / 2);
    assert!(reason(&home.harness).await.starts_with("no controller asks for work"), "it is silent");
}

#[tokio::test]
async fn a_controller_that_sends_its_run_is_there() {
    let home = Home::new().await;
    let attempt = home.claim().await;
    home.harness.clock.pass(BEYOND);
    assert!(!home.harness.hosts().await.unwrap().controllers[0].is_heard);
    home.harness.check_bundle(attempt, OWNER.to_owned()).await.unwrap();
    assert!(home.harness.hosts().await.unwrap().controllers[0].is_heard);
}

#[tokio::test]
async fn a_run_that_calls_another_server_is_there() {
    let home = Home::new().await;
    let other = home.other_server();
    let mut watch = LeaseWatch::default();
    let attempt = home.claim().await;
    other.look(&mut watch).await.unwrap();
    assert!(!other.hosts().await.unwrap().controllers[0].is_heard, "it has never called this one");
    home.renew(attempt).await;
    other.look(&mut watch).await.unwrap();
    assert_eq!(reason(&other).await, format!("entry {} has m", home.entries[0]));
    other.clock.pass(BEYOND);
    other.look(&mut watch).await.unwrap();
    assert!(!other.hosts().await.unwrap().controllers[0].is_heard, "the counter stays");
}

#[tokio::test]
async fn a_queue_that_stands_still_is_seen_without_anybody_who_lists() {
    let home = Home::new().await;
    let mut watch = LeaseWatch::default();
    home.harness.look(&mut watch).await.unwrap();
    home.harness.clock.pass(Duration::from_secs(181));
    home.harness.hear("c");
    home.harness.look(&mut watch).await.unwrap();
    let alarm = home.harness.list(ListPart::default()).await.unwrap().alarm;
    assert!(alarm.as_ref().is_some_and(|alarm| alarm.contains("for 3 minutes")), "{alarm:?}");
    let attempt = home.claim().await;
    home.harness.look(&mut watch).await.unwrap();
    let alarm = home.harness.list(ListPart::default()).await.unwrap().alarm;
    assert_eq!(alarm, None, "{attempt:?}");
}

#[tokio::test]
async fn a_long_queue_has_pages() {
    let mut home = Home::new().await;
    for _ in 0..OPEN_PAGE {
        home.submit().await;
    }
    let first = home.harness.list(ListPart::default()).await.unwrap();
    assert_eq!((first.entries.len(), first.more), (OPEN_PAGE as usize, 2));
    let after = first.entries.last().map(|entry| entry.id);
    let second = home.harness.list(ListPart { after, ..ListPart::default() }).await.unwrap();
    let ids: Vec<_> = second.entries.iter().map(|entry| entry.id).collect();
    assert_eq!((ids.as_slice(), second.more), (&home.entries[OPEN_PAGE as usize..], 0));
    let before = format!("{} entries are before it", OPEN_PAGE + 1);
    assert_eq!(second.outlooks[1].reason, before);
    let last = second.entries.last().unwrap();
    assert_eq!(home.harness.outlook(last).await.unwrap().unwrap().reason, before);
}
