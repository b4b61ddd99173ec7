//! The driver of HTTP/1.1: chooses the next request and finds the end of its reply.

use std::path::Path;

use rand_pcg::Pcg64Mcg;
use wire::http1::{Event, ResponseDecoder};

use super::coding::ContentCoding;
use super::operation::{HttpRequest, Scratch};
use super::reply::{HttpReply, demand_of, longer_than_announced};
use super::spec::HttpSpec;
use super::statuses;
use crate::driver::{Demand, Driver, Fault, OperationId, Step, Turn};
use crate::drivers::choice::WeightedChoice;
use crate::drivers::error::OperationError;
use crate::drivers::protocol::{ALONE, DriverNames, WorkerShare};
use crate::inputs::values::{DeclaredValues, ValueRows};

/// Drives HTTP/1.1 for one worker.
#[derive(Debug)]
pub struct HttpDriver {
    operations: Vec<HttpRequest>,
    choice: WeightedChoice,
    /// The files whose values operations use.
    values: ValueRows,
    scratch: Scratch,
}

/// The state of one connection.
#[derive(Debug)]
pub struct HttpDialogue {
    decoder: ResponseDecoder,
    operation: OperationId,
    reply: HttpReply,
}

impl HttpDriver {
    /// A driver for a worker's share of a mix. Reads the files whose values the operations use.
    pub fn new(spec: &HttpSpec, share: WorkerShare) -> Result<Self, OperationError> {
        let (mut driver, declared) = Self::without_values(spec, share)?;
        let folder = spec.folder.as_deref().unwrap_or(Path::new("."));
        let values = declared.open(folder, share.worker, share.workers);
        driver.values = values.map_err(|error| OperationError(error.to_string()))?;
        Ok(driver)
    }

    /// The same without the values, and what is needed to open them.
    fn without_values(spec: &HttpSpec, share: WorkerShare) -> Result<(Self, DeclaredValues), OperationError> {
        let weights: Vec<f64> = spec.operations.iter().map(|op| op.weight).collect();
        let choice = WeightedChoice::new(&weights)?;
        let mut declared = DeclaredValues::default();
        let operations: Result<Vec<HttpRequest>, _> = spec
            .operations
            .iter()
            .map(|op| HttpRequest::new(op, &spec.authority, share, &mut declared))
            .collect();
        let (operations, values) = (operations?, ValueRows::default());
        Ok((Self { operations, choice, values, scratch: Scratch::default() }, declared))
    }

    /// The names of a mix, without reading a file.
    pub(super) fn names(spec: &HttpSpec) -> Result<DriverNames, OperationError> {
        let (driver, _) = Self::without_values(spec, ALONE)?;
        Ok((driver.operations(), driver.counters()))
    }
}

impl Driver for HttpDriver {
    type Dialogue = HttpDialogue;

    fn operations(&self) -> Vec<String> {
        self.operations.iter().map(|op| op.name.clone()).collect()
    }

    fn counters(&self) -> &'static [&'static str] {
        statuses::COUNTERS
    }

    fn dialogue(&mut self, _slot: u32) -> HttpDialogue {
        HttpDialogue { decoder: ResponseDecoder::new(), operation: 0, reply: HttpReply::default() }
    }

    #[inline]
    fn choose(&mut self, rng: &mut Pcg64Mcg) -> OperationId {
        self.choice.draw(rng)
    }

    #[inline]
    fn begin(&mut self, dialogue: &mut HttpDialogue, operation: OperationId, turn: Turn<'_>) {
        dialogue.operation = operation;
        let operation = &mut self.operations[usize::from(operation)];
        dialogue.reply.clear();
        dialogue.decoder.expect(operation.is_head);
        operation.render(turn.rng, &mut self.values, &mut self.scratch, turn.out);
    }

    #[inline]
    fn operations_left(&self) -> u64 {
        self.values.left()
    }

    fn receive(&mut self, dialogue: &mut HttpDialogue, mut input: &[u8], turn: Turn<'_>) -> Step {
        let operation = &mut self.operations[dialogue.operation as usize];
        loop {
            match dialogue.decoder.decode(&mut operation.cache, &mut input) {
                Ok(Some(Event::Head(head))) => {
                    dialogue.reply.status = head.status;
                    turn.counters[statuses::place(head.status)] += 1;
                    if operation.finder.is_some() {
                        dialogue.reply.coding = ContentCoding::of(&operation.cache);
                    }
                }
                Ok(Some(Event::Body(data))) => dialogue.reply.take(data, operation.finder.as_ref()),
                Ok(Some(Event::End { keep_alive })) => {
                    if !input.is_empty() {
                        return Step::Failed(longer_than_announced(input));
                    }
                    operation.usual_body = dialogue.reply.body_bytes;
                    return operation.check(&dialogue.reply, keep_alive);
                }
                Ok(None) => return Step::Wait,
                Err(error) => return Step::Failed(Fault::protocol(error.to_string())),
            }
        }
    }

    #[inline]
    fn demand(&self, dialogue: &HttpDialogue) -> Demand {
        let operation = &self.operations[dialogue.operation as usize];
        demand_of(&dialogue.decoder, operation.finder.is_some(), operation.usual_body)
    }

    #[inline]
    fn skip(&mut self, dialogue: &mut HttpDialogue, bytes: u64) {
        dialogue.decoder.skip(bytes);
        dialogue.reply.body_bytes += bytes;
    }

    fn closed(&mut self, dialogue: &mut HttpDialogue, _turn: Turn<'_>) -> Step {
        match dialogue.decoder.eof() {
            Ok(_) => self.operations[dialogue.operation as usize].check(&dialogue.reply, false),
            Err(error) => Step::Failed(Fault::closed(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::drivers::http::{Expected, HttpOperation};
    use crate::record::ErrorKind;

    /// Begins an operation and returns the bytes sent.
    fn begin(driver: &mut HttpDriver, dialogue: &mut HttpDialogue) -> Vec<u8> {
        let (mut out, mut rng) = (Vec::new(), Pcg64Mcg::seed_from_u64(1));
        driver.begin(
            dialogue,
            0,
            Turn { out: &mut out, rng: &mut rng, counters: &mut [0; statuses::COUNTERS.len()] },
        );
        out
    }

    fn receive(driver: &mut HttpDriver, dialogue: &mut HttpDialogue, piece: &[u8]) -> Step {
        let (mut out, mut rng) = (Vec::new(), Pcg64Mcg::seed_from_u64(1));
        driver.receive(
            dialogue,
            piece,
            Turn { out: &mut out, rng: &mut rng, counters: &mut [0; statuses::COUNTERS.len()] },
        )
    }

    /// Carries out one operation with a reply that arrives in these pieces.
    fn converse(operation: HttpOperation, pieces: &[&[u8]]) -> (String, Step) {
        let spec = HttpSpec::new("box", vec![operation]);
        let mut driver = HttpDriver::new(&spec, ALONE).expect("a driver");
        let mut dialogue = driver.dialogue(0);
        let request = String::from_utf8(begin(&mut driver, &mut dialogue)).expect("ASCII");
        let mut step = Step::Wait;
        for piece in pieces {
            step = receive(&mut driver, &mut dialogue, piece);
        }
        if step == Step::Wait {
            let (mut out, mut rng) = (Vec::new(), Pcg64Mcg::seed_from_u64(1));
            let turn = Turn { out: &mut out, rng: &mut rng, counters: &mut [0; statuses::COUNTERS.len()] };
            step = driver.closed(&mut dialogue, turn);
        }
        (request, step)
    }

    fn expecting(contains: &str) -> HttpOperation {
        let expect = Expected { contains: Some(contains.to_owned()), ..Expected::default() };
        HttpOperation { expect, ..HttpOperation::get("/") }
    }

    fn kind_of(step: Step) -> Option<ErrorKind> {
        match step {
            Step::Failed(fault) => Some(fault.kind),
            _ => None,
        }
    }

    #[test]
    fn the_expected_reply_is_a_success() {
        let (request, step) =
            converse(HttpOperation::get("/1k"), &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"]);
        assert_eq!(request, "GET /1k HTTP/1.1\r\nHost: box\r\n\r\n");
        assert_eq!(step, Step::Done { reuse: true });
    }

    #[test]
    fn an_unexpected_reply_is_an_error() {
        let not_found: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        let (_, step) = converse(HttpOperation::get("/"), &[not_found]);
        assert_eq!(kind_of(step), Some(ErrorKind::UnexpectedReply));
        let exact = Expected { bytes: Some(3), ..Expected::default() };
        let (_, step) = converse(
            HttpOperation { expect: exact, ..HttpOperation::get("/") },
            &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"],
        );
        assert_eq!(kind_of(step), Some(ErrorKind::UnexpectedReply));
    }

    #[test]
    fn a_large_body_is_skipped_unless_a_text_is_searched_in_it() {
        let head: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
        let body = vec![b'x'; 100_000];
        for (expect, demand) in [
            (Expected { bytes: Some(100_000), ..Expected::default() }, Demand::Skip(99_999)),
            (Expected { contains: Some("x".to_owned()), ..Expected::default() }, Demand::All),
        ] {
            let operation = HttpOperation { expect, ..HttpOperation::get("/") };
            let spec = HttpSpec::new("box", vec![operation]);
            let mut driver = HttpDriver::new(&spec, ALONE).expect("a driver");
            let mut dialogue = driver.dialogue(0);
            begin(&mut driver, &mut dialogue);
            assert_eq!(driver.demand(&dialogue), Demand::All, "the size is not known yet");
            receive(&mut driver, &mut dialogue, head);
            assert_eq!(driver.demand(&dialogue), demand);
            let rest = if let Demand::Skip(bytes) = demand {
                driver.skip(&mut dialogue, bytes);
                assert_eq!(receive(&mut driver, &mut dialogue, &[]), Step::Wait);
                &body[usize::try_from(bytes).expect("a small body")..]
            } else {
                &body
            };
            assert_eq!(receive(&mut driver, &mut dialogue, rest), Step::Done { reuse: true });
            begin(&mut driver, &mut dialogue);
            let is_skipped = demand != Demand::All;
            assert_eq!(driver.demand(&dialogue) == Demand::Front, is_skipped, "the size is known now");
        }
    }

    #[test]
    fn a_text_is_found_across_pieces_of_the_body() {
        let head: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n";
        for pieces in [&[head, b"xxneed", b"lexxxx"][..], &[head, b"xn", b"ee", b"d", b"le", b"xxxxx"]] {
            assert_eq!(converse(expecting("needle"), pieces).1, Step::Done { reuse: true }, "{pieces:?}");
        }
        let (_, step) = converse(expecting("needle"), &[head, b"needxxxxlexx"]);
        assert_eq!(kind_of(step), Some(ErrorKind::UnexpectedReply));
    }

    #[test]
    fn protocol_errors_and_early_ends_are_counted_separately() {
        let long: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhixx";
        assert_eq!(kind_of(converse(HttpOperation::get("/"), &[long]).1), Some(ErrorKind::Protocol));
        let short: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi";
        assert_eq!(kind_of(converse(HttpOperation::get("/"), &[short]).1), Some(ErrorKind::Closed));
        let until_close: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nhi";
        assert_eq!(converse(HttpOperation::get("/"), &[until_close]).1, Step::Done { reuse: false });
    }

    #[test]
    fn a_random_body_has_the_right_content_length() {
        let operation = HttpOperation {
            method: "POST".to_owned(),
            body: Some("id={{ uniform(10, 99) }}".to_owned()),
            ..HttpOperation::get("/items?page={{ uniform(1, 9) }}")
        };
        let (request, _) = converse(operation, &[]);
        assert!(
            request.starts_with("POST /items?page=") && request.contains("Content-Length: 5\r\n"),
            "{request}"
        );
    }

    #[test]
    fn a_header_has_a_new_value_in_each_request() {
        let headers = vec![("Idempotency-Key".to_owned(), "k-{{ alnum(20) }}".to_owned())];
        let operation = HttpOperation { headers, ..HttpOperation::get("/") };
        let spec = HttpSpec::new("box", vec![operation]);
        let (mut driver, mut rng) =
            (HttpDriver::new(&spec, ALONE).expect("a driver"), Pcg64Mcg::seed_from_u64(1));
        let mut dialogue = driver.dialogue(0);
        let mut request = || {
            let mut out = Vec::new();
            driver.begin(
                &mut dialogue,
                0,
                Turn { out: &mut out, rng: &mut rng, counters: &mut [0; statuses::COUNTERS.len()] },
            );
            String::from_utf8(out).expect("ASCII")
        };
        let keys: BTreeSet<String> = (0..40).map(|_| request()).collect();
        assert_eq!(keys.len(), 40);
        let is_whole = |text: &String| text.starts_with("GET / HTTP/1.1\r\nHost: box\r\nIdempotency-Key: k-");
        assert!(keys.iter().all(is_whole), "{keys:?}");
    }

    #[test]
    fn text_that_looks_like_a_template_is_sent_nowhere() {
        let sent = |header: &str, body: &str, contains: &str| {
            let expect = Expected { contains: Some(contains.to_owned()), ..Expected::default() };
            let headers = vec![("X".to_owned(), header.to_owned())];
            let body = Some(body.to_owned());
            let operation = HttpOperation { headers, body, expect, ..HttpOperation::get("/") };
            let mut driver = HttpDriver::new(&HttpSpec::new("box", vec![operation]), ALONE)?;
            let mut dialogue = driver.dialogue(0);
            Ok::<_, OperationError>(String::from_utf8(begin(&mut driver, &mut dialogue)).expect("ASCII"))
        };
        let escaped = r#"{{ "{{" }}name}}"#;
        let request = sent(escaped, escaped, escaped).expect("literal braces");
        assert!(request.contains("X: {{name}}\r\n") && request.ends_with("\r\n\r\n{{name}}"), "{request}");
        for (header, body, contains) in
            [("{{ name }}", "", "a"), ("", "{{ name }}", "a"), ("", "", "{{ alnum(3) }}")]
        {
            let error = sent(header, body, contains).expect_err("refused").to_string();
            assert!(error.contains(r#"write {{ "{{" }} for braces"#), "{error}");
        }
    }

    #[test]
    fn values_of_a_file_are_sent_and_never_repeated_where_each_is_used_once() {
        let folder = tempfile::tempdir().expect("a directory");
        std::fs::write(folder.path().join("paths"), "/a\n/b\n/c\n").expect("a file");
        let operations = vec![HttpOperation::get("{{ lines(\"paths\", once) }}")];
        let spec = HttpSpec { folder: Some(folder.path().to_owned()), ..HttpSpec::new("box", operations) };
        let mut sent = Vec::new();
        for worker in 0..2 {
            let share = WorkerShare { worker, workers: 2, ..ALONE };
            let mut driver = HttpDriver::new(&spec, share).expect("a driver");
            let mut dialogue = driver.dialogue(0);
            while driver.operations_left() > 0 {
                let request = String::from_utf8(begin(&mut driver, &mut dialogue)).expect("ASCII");
                sent.push(request[..6].to_owned());
            }
        }
        assert_eq!(sent, ["GET /a", "GET /b", "GET /c"]);
        let missing = HttpSpec { folder: None, ..spec };
        assert_eq!(HttpDriver::names(&missing).expect("names").0.len(), 1, "no file is read for names");
        assert!(
            HttpDriver::new(&missing, ALONE)
                .expect_err("no file")
                .to_string()
                .contains("cannot read ./paths")
        );
    }

    #[test]
    fn an_invalid_operation_is_refused_with_its_name() {
        let injected =
            HttpOperation { name: Some("bad".to_owned()), ..HttpOperation::get("/ HTTP/1.1\r\nX: y") };
        let spec = HttpSpec::new("box", vec![injected]);
        let error = HttpDriver::new(&spec, ALONE).expect_err("refused").to_string();
        assert!(error.starts_with("operation \"bad\": target"), "{error}");
        let error = HttpDriver::new(&HttpSpec { operations: vec![expecting("")], ..spec }, ALONE);
        assert!(error.expect_err("refused").to_string().contains("leave `contains` out"));
    }
}
