//! Speaks HTTP/1.1 for the engine: which request comes next, and when its reply has ended.

use wire::http1::{Event, ResponseDecoder};

use super::operation::{Operation, Scratch};
use super::reply::Reply;
use super::spec::HttpSpec;
use crate::driver::{Demand, Driver, Fault, OperationId, Step, Turn};
use crate::drivers::OperationError;
use crate::drivers::choice::Choice;

/// Fewer bytes of a body are cheaper to copy than a further call of the system.
const WORTH_SKIPPING: u64 = 16 * 1024;

/// Speaks HTTP/1.1 for one worker.
#[derive(Debug)]
pub struct HttpDriver {
    operations: Vec<Operation>,
    choice: Choice,
    scratch: Scratch,
}

/// One connection.
#[derive(Debug)]
pub struct HttpDialogue {
    decoder: ResponseDecoder,
    operation: OperationId,
    reply: Reply,
}

impl HttpDriver {
    /// A driver for a mix. With `close_after_each` every request asks the server to close.
    pub fn new(spec: &HttpSpec, close_after_each: bool) -> Result<Self, OperationError> {
        let weights: Vec<f64> = spec.operations.iter().map(|op| op.weight).collect();
        let choice = Choice::new(&weights)?;
        let operations: Result<Vec<Operation>, _> =
            spec.operations.iter().map(|op| Operation::new(op, &spec.authority, close_after_each)).collect();
        Ok(Self { operations: operations?, choice, scratch: Scratch::default() })
    }
}

impl Driver for HttpDriver {
    type Dialogue = HttpDialogue;

    fn operations(&self) -> Vec<String> {
        self.operations.iter().map(|op| op.name.clone()).collect()
    }

    fn dialogue(&mut self) -> HttpDialogue {
        HttpDialogue { decoder: ResponseDecoder::new(), operation: 0, reply: Reply::default() }
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
                            "{extra} bytes after the end of the reply: a body longer than announced"
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
            // All but the last byte, so that what comes behind the body is noticed.
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

    /// Begins an operation; what is sent.
    fn begin(driver: &mut HttpDriver, dialogue: &mut HttpDialogue) -> Vec<u8> {
        let (mut out, mut rng) = (Vec::new(), Pcg64Mcg::seed_from_u64(1));
        driver.begin(dialogue, Turn { out: &mut out, rng: &mut rng, counters: &mut [] });
        out
    }

    fn receive(driver: &mut HttpDriver, dialogue: &mut HttpDialogue, piece: &[u8]) -> Step {
        let (mut out, mut rng) = (Vec::new(), Pcg64Mcg::seed_from_u64(1));
        driver.receive(dialogue, piece, Turn { out: &mut out, rng: &mut rng, counters: &mut [] })
    }

    /// Does one operation against a reply that arrives in the given pieces.
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
    fn a_reply_as_expected_is_a_success() {
        let (request, step) =
            converse(HttpOperation::get("/1k"), &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"]);
        assert_eq!(request, "GET /1k HTTP/1.1\r\nHost: box\r\n\r\n");
        assert_eq!(step, Step::Done { reuse: true });
    }

    #[test]
    fn a_reply_that_is_not_the_one_expected_is_an_error_and_never_a_fast_success() {
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
    fn a_large_body_is_left_unseen_unless_something_is_looked_for_in_it() {
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
            let seen = if let Demand::Skip(bytes) = demand {
                driver.skip(&mut dialogue, bytes);
                assert_eq!(receive(&mut driver, &mut dialogue, &[]), Step::Wait);
                &body[bytes as usize..]
            } else {
                &body
            };
            assert_eq!(receive(&mut driver, &mut dialogue, seen), Step::Done { reuse: true });
            begin(&mut driver, &mut dialogue);
            let is_unseen = demand != Demand::All;
            assert_eq!(driver.demand(&dialogue) == Demand::Front, is_unseen, "the size is known now");
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
    fn what_breaks_the_protocol_or_ends_early_is_told_apart() {
        let long: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhixx";
        assert_eq!(kind_of(converse(HttpOperation::get("/"), &[long]).1), Some(ErrorKind::Protocol));
        let short: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi";
        assert_eq!(kind_of(converse(HttpOperation::get("/"), &[short]).1), Some(ErrorKind::Closed));
        let until_close: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nhi";
        assert_eq!(converse(HttpOperation::get("/"), &[until_close]).1, Step::Done { reuse: false });
    }

    #[test]
    fn a_drawn_path_and_body_keep_their_framing() {
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
    fn an_operation_that_cannot_be_sent_is_refused_by_name() {
        let injected =
            HttpOperation { name: Some("bad".to_owned()), ..HttpOperation::get("/ HTTP/1.1\r\nX: y") };
        let spec = HttpSpec { authority: "box".to_owned(), operations: vec![injected] };
        let error = HttpDriver::new(&spec, false).expect_err("refused").to_string();
        assert!(error.starts_with("operation \"bad\": target"), "{error}");
        let error = HttpDriver::new(&HttpSpec { operations: vec![expecting("")], ..spec }, false);
        assert!(error.expect_err("refused").to_string().contains("leave `contains` out"));
    }
}
