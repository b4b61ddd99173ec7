//! The driver of HTTP/1.1: chooses the next request and finds the end of its reply.

use wire::http1::{Event, ResponseDecoder};

use super::operation::{HttpRequest, Scratch};
use super::reply::HttpReply;
use super::spec::HttpSpec;
use crate::driver::{Demand, Driver, Fault, OperationId, Step, Turn};
use crate::drivers::choice::WeightedChoice;
use crate::drivers::error::OperationError;

/// Below this size, copying a body is cheaper than a further system call.
const WORTH_SKIPPING: u64 = 16 * 1024;

/// Drives HTTP/1.1 for one worker.
#[derive(Debug)]
pub struct HttpDriver {
    operations: Vec<HttpRequest>,
    choice: WeightedChoice,
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
    /// A driver for a mix. With `close_after_each` every request asks the server to close.
    pub fn new(spec: &HttpSpec, close_after_each: bool) -> Result<Self, OperationError> {
        let weights: Vec<f64> = spec.operations.iter().map(|op| op.weight).collect();
        let choice = WeightedChoice::new(&weights)?;
        let operations: Result<Vec<HttpRequest>, _> = spec
            .operations
            .iter()
            .map(|op| HttpRequest::new(op, &spec.authority, close_after_each))
            .collect();
        Ok(Self { operations: operations?, choice, scratch: Scratch::default() })
    }
}

impl Driver for HttpDriver {
    type Dialogue = HttpDialogue;

    fn operations(&self) -> Vec<String> {
        self.operations.iter().map(|op| op.name.clone()).collect()
    }

    fn dialogue(&mut self) -> HttpDialogue {
        HttpDialogue { decoder: ResponseDecoder::new(), operation: 0, reply: HttpReply::default() }
    }

    fn begin(&mut self, dialogue: &mut HttpDialogue, turn: Turn<'_>) -> OperationId {
        let id = self.choice.draw(turn.rng);
        let operation = &mut self.operations[id as usize];
        dialogue.operation = id;
        dialogue.reply.clear();
        dialogue.decoder.expect(operation.is_head);
        operation.render(turn.rng, &mut self.scratch, turn.out);
        id
    }

    fn receive(&mut self, dialogue: &mut HttpDialogue, mut input: &[u8], _turn: Turn<'_>) -> Step {
        let operation = &mut self.operations[dialogue.operation as usize];
        loop {
            match dialogue.decoder.decode(&mut operation.cache, &mut input) {
                Ok(Some(Event::Head(head))) => dialogue.reply.status = head.status,
                Ok(Some(Event::Body(data))) => dialogue.reply.take(data, operation.finder.as_ref()),
                Ok(Some(Event::End { keep_alive })) => {
                    if !input.is_empty() {
                        let extra = input.len();
                        return Step::Failed(Fault::protocol(format!(
                            "{extra} bytes after the end of the reply: the body is longer than announced"
                        )));
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
        let left = dialogue.decoder.body_left();
        if operation.finder.is_some() {
            Demand::All
        } else if left >= WORTH_SKIPPING {
            // All but the last byte, so that bytes after the body are noticed.
            Demand::Skip(left - 1)
        } else if dialogue.decoder.is_in_head() && operation.usual_body >= WORTH_SKIPPING {
            Demand::Front
        } else {
            Demand::All
        }
    }

    #[inline]
    fn skip(&mut self, dialogue: &mut HttpDialogue, bytes: u64) {
        dialogue.decoder.skip(bytes);
        dialogue.reply.body_bytes += bytes;
    }

    fn closed(&mut self, dialogue: &mut HttpDialogue) -> Step {
        match dialogue.decoder.eof() {
            Ok(_) => self.operations[dialogue.operation as usize].check(&dialogue.reply, false),
            Err(error) => Step::Failed(Fault::closed(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::drivers::http::{Expected, HttpOperation};
    use crate::record::ErrorKind;

    /// Begins an operation and returns the bytes sent.
    fn begin(driver: &mut HttpDriver, dialogue: &mut HttpDialogue) -> Vec<u8> {
        let (mut out, mut rng) = (Vec::new(), Pcg64Mcg::seed_from_u64(1));
        driver.begin(dialogue, Turn { out: &mut out, rng: &mut rng, counters: &mut [] });
        out
    }

    fn receive(driver: &mut HttpDriver, dialogue: &mut HttpDialogue, piece: &[u8]) -> Step {
        let (mut out, mut rng) = (Vec::new(), Pcg64Mcg::seed_from_u64(1));
        driver.receive(dialogue, piece, Turn { out: &mut out, rng: &mut rng, counters: &mut [] })
    }

    /// Carries out one operation with a reply that arrives in these pieces.
    fn converse(operation: HttpOperation, pieces: &[&[u8]]) -> (String, Step) {
        let spec = HttpSpec { authority: "box".to_owned(), operations: vec![operation] };
        let mut driver = HttpDriver::new(&spec, false).expect("a driver");
        let mut dialogue = driver.dialogue();
        let request = String::from_utf8(begin(&mut driver, &mut dialogue)).expect("ASCII");
        let mut step = Step::Wait;
        for piece in pieces {
            step = receive(&mut driver, &mut dialogue, piece);
        }
        if step == Step::Wait {
            step = driver.closed(&mut dialogue);
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
            let spec = HttpSpec { authority: "box".to_owned(), operations: vec![operation] };
            let mut driver = HttpDriver::new(&spec, false).expect("a driver");
            let mut dialogue = driver.dialogue();
            begin(&mut driver, &mut dialogue);
            assert_eq!(driver.demand(&dialogue), Demand::All, "the size is not known yet");
            receive(&mut driver, &mut dialogue, head);
            assert_eq!(driver.demand(&dialogue), demand);
            let rest = if let Demand::Skip(bytes) = demand {
                driver.skip(&mut dialogue, bytes);
                assert_eq!(receive(&mut driver, &mut dialogue, &[]), Step::Wait);
                &body[bytes as usize..]
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
    fn an_invalid_operation_is_refused_with_its_name() {
        let injected =
            HttpOperation { name: Some("bad".to_owned()), ..HttpOperation::get("/ HTTP/1.1\r\nX: y") };
        let spec = HttpSpec { authority: "box".to_owned(), operations: vec![injected] };
        let error = HttpDriver::new(&spec, false).expect_err("refused").to_string();
        assert!(error.starts_with("operation \"bad\": target"), "{error}");
        let error = HttpDriver::new(&HttpSpec { operations: vec![expecting("")], ..spec }, false);
        assert!(error.expect_err("refused").to_string().contains("leave `contains` out"));
    }
}
