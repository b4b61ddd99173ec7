//! What a user costs in the steady state: no allocation, and memory that does not depend on what a server sends.

use load::driver::{Driver, Step, Turn};
use load::drivers::ProtocolSpec;
use load::drivers::RegisteredProtocol;
use load::drivers::http::scenario::HttpUserDriver;
use load::drivers::protocol::{ServerAccess, WorkerShare};
use load::users::Scenario;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::SCENARIO;

const USERS: u32 = 50;
const HOME: &[u8] = b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=5; Path=/\r\nContent-Length: 65\r\n\r\n\
    <input name=\"token\" value=\"t0k\"> <a href=\"/items/3\"> /items/4\"   ";
const ITEM: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 29\r\n\r\n{\"tags\": [{\"id\": 7}], \"n\": 1}";
const LOGIN: &[u8] = b"HTTP/1.1 303 See Other\r\nLocation: http://shop/account\r\nContent-Length: 0\r\n\r\n";
const ACCOUNT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 28\r\n\r\n<a href=\"/logout\">Log out</a";

/// The reply of the page that a request asks for.
fn reply_of(request: &[u8]) -> &'static [u8] {
    let path = request.split(|byte| *byte == b' ').nth(1).expect("a path");
    match path {
        b"/" => HOME,
        b"/login" => LOGIN,
        path if path.starts_with(b"/items/") => ITEM,
        _ => ACCOUNT,
    }
}

/// Each user does each operation this often; every step is answered as the shop does.
fn walk(
    driver: &mut HttpUserDriver,
    dialogues: &mut [<HttpUserDriver as Driver>::Dialogue],
    times: u32,
    out: &mut Vec<u8>,
) {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let mut counters = [0; 128];
    for _ in 0..times {
        for dialogue in &mut *dialogues {
            for operation in 0..3 {
                out.clear();
                driver.begin(dialogue, operation, Turn { out, rng: &mut rng, counters: &mut counters });
                loop {
                    let reply = reply_of(out);
                    // Bodies come in two pieces. A head in two pieces is rare, and is put together in memory of its own.
                    let head = reply.windows(4).position(|part| part == b"\r\n\r\n").expect("a head") + 4;
                    let (front, rest) = reply.split_at(head.max(reply.len() - 20));
                    out.clear();
                    let turn = Turn { out, rng: &mut rng, counters: &mut counters };
                    let mut step = driver.receive(dialogue, front, turn);
                    if !rest.is_empty() {
                        assert_eq!(step, Step::Wait);
                        let turn = Turn { out, rng: &mut rng, counters: &mut counters };
                        step = driver.receive(dialogue, rest, turn);
                    }
                    match step {
                        Step::Wait => {}
                        Step::Done { reuse: true } => break,
                        other => panic!("{other:?}"),
                    }
                }
            }
        }
    }
}

#[test]
fn operations_allocate_nothing_in_the_steady_state() {
    let http = RegisteredProtocol::by_name("http").expect("a protocol");
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("shop.toml");
    std::fs::write(&file, SCENARIO).expect("a file");
    let scenario = Scenario::read(&file, http, &std::collections::BTreeMap::new()).expect("a scenario");
    let access = ServerAccess { authority: "shop".to_owned(), ..ServerAccess::default() };
    let Some(ProtocolSpec::Http(spec)) = http.spec(&scenario.mix, &access) else { panic!("a load of HTTP") };
    let scenario = spec.scenario.clone().expect("a scenario");
    let share = WorkerShare { worker: 0, workers: 1, is_one_per_connection: false, is_local: true };
    let mut driver = HttpUserDriver::new(&spec.authority, folder.path(), &scenario, share).expect("a driver");
    assert!(driver.counters().len() <= 128);
    let mut out = Vec::with_capacity(64 << 10);
    let mut dialogues = Vec::new();
    let made = allocation_counter::measure(|| {
        dialogues = (0..USERS).map(|slot| driver.dialogue(slot)).collect();
    });
    // With the connection of the engine, which has some 400 bytes, a user stays below 2 KiB.
    let bytes = made.bytes_max / u64::from(USERS);
    assert!(bytes <= 1_600, "{bytes} bytes a user");
    walk(&mut driver, &mut dialogues, 2, &mut out);
    let steady = allocation_counter::measure(|| walk(&mut driver, &mut dialogues, 20, &mut out));
    assert_eq!(steady.count_total, 0, "{steady:?}");
}
