//! The decoders of this crate for the harness. One byte, the selector, says which replies a decoder expects.

use wire::http1::{self, HeadCache, ResponseDecoder};
use wire::memcache::{self, Expect, ReplyDecoder};
use wire::{mysql, postgres, resp, smtp};

use crate::harness::{Codec, DecodeStep, Item};

/// Replies that are expected on a connection; later bytes are unsolicited.
const REPLIES: u8 = 3;

/// Reports an error, which ends the run.
fn report<E: std::fmt::Debug>(error: E, sink: &mut dyn FnMut(Item<'_>)) -> DecodeStep {
    sink(Item::Other(&error));
    DecodeStep::Failed
}

/// HTTP/1; bit `n` of the selector says whether request `n` is a HEAD.
pub struct Http1 {
    decoder: ResponseDecoder,
    cache: HeadCache,
    selector: u8,
    expected: u8,
}

impl Http1 {
    pub fn new(selector: u8) -> Self {
        Self::with_cache(selector, HeadCache::new())
    }

    pub fn with_cache(selector: u8, cache: HeadCache) -> Self {
        Self { decoder: ResponseDecoder::new(), cache, selector, expected: 0 }
    }

    pub fn into_cache(self) -> HeadCache {
        self.cache
    }
}

impl Codec for Http1 {
    fn expect_next(&mut self) {
        if self.expected < REPLIES {
            self.decoder.expect(self.selector >> self.expected & 1 == 1);
            self.expected += 1;
        }
    }

    fn decode(&mut self, input: &mut &[u8], sink: &mut dyn FnMut(Item<'_>)) -> DecodeStep {
        match self.decoder.decode(&mut self.cache, input) {
            Ok(None) => DecodeStep::NeedsMore,
            Ok(Some(http1::Event::Body(data))) => {
                sink(Item::Data(data));
                DecodeStep::Event
            }
            Ok(Some(event)) => {
                sink(Item::Other(&event));
                if matches!(event, http1::Event::End { .. }) { DecodeStep::Final } else { DecodeStep::Event }
            }
            Err(error) => report(error, sink),
        }
    }

    fn eof(&mut self, sink: &mut dyn FnMut(Item<'_>)) {
        sink(Item::Other(&self.decoder.eof()));
    }
}

/// memcached; the selector chooses the command of all requests.
pub struct Memcache {
    decoder: ReplyDecoder,
    expect: Expect,
    expected: u8,
}

impl Memcache {
    pub const EXPECTATIONS: [Expect; 12] = [
        Expect::Get,
        Expect::Store,
        Expect::Delete,
        Expect::Arithmetic,
        Expect::Touch,
        Expect::MetaGet,
        Expect::MetaStore,
        Expect::MetaDelete,
        Expect::MetaNoop,
        Expect::Ok,
        Expect::Version,
        Expect::Stats,
    ];

    pub fn new(selector: u8) -> Self {
        Self::expecting(Self::EXPECTATIONS[usize::from(selector) % Self::EXPECTATIONS.len()])
    }

    pub fn expecting(expect: Expect) -> Self {
        Self { decoder: ReplyDecoder::new(), expect, expected: 0 }
    }
}

impl Codec for Memcache {
    fn expect_next(&mut self) {
        if self.expected < REPLIES {
            self.decoder.expect(self.expect);
            self.expected += 1;
        }
    }

    fn decode(&mut self, input: &mut &[u8], sink: &mut dyn FnMut(Item<'_>)) -> DecodeStep {
        match self.decoder.decode(input) {
            Ok(None) => DecodeStep::NeedsMore,
            Ok(Some(memcache::Event::Data(data))) => {
                sink(Item::Data(data));
                DecodeStep::Event
            }
            Ok(Some(event)) => {
                sink(Item::Other(&event));
                if matches!(event, memcache::Event::Done { .. }) {
                    DecodeStep::Final
                } else {
                    DecodeStep::Event
                }
            }
            Err(error) => report(error, sink),
        }
    }

    fn eof(&mut self, sink: &mut dyn FnMut(Item<'_>)) {
        sink(Item::Other(&self.decoder.eof()));
    }
}

/// RESP.
#[derive(Default)]
pub struct Resp {
    decoder: resp::ReplyDecoder,
    expected: u8,
}

impl Codec for Resp {
    fn expect_next(&mut self) {
        if self.expected < REPLIES {
            self.decoder.expect();
            self.expected += 1;
        }
    }

    fn decode(&mut self, input: &mut &[u8], sink: &mut dyn FnMut(Item<'_>)) -> DecodeStep {
        match self.decoder.decode(input) {
            Ok(None) => DecodeStep::NeedsMore,
            Ok(Some(resp::Event::Data(data))) => {
                sink(Item::Data(data));
                DecodeStep::Event
            }
            Ok(Some(event)) => {
                sink(Item::Other(&event));
                if matches!(event, resp::Event::End { .. }) { DecodeStep::Final } else { DecodeStep::Event }
            }
            Err(error) => report(error, sink),
        }
    }

    fn eof(&mut self, sink: &mut dyn FnMut(Item<'_>)) {
        sink(Item::Other(&self.decoder.eof()));
    }
}

/// PostgreSQL; bit `n` of the selector says whether reply `n` is part of a login.
#[derive(Default)]
pub struct Postgres {
    decoder: postgres::ReplyDecoder,
    selector: u8,
    expected: u8,
}

impl Postgres {
    pub fn new(selector: u8) -> Self {
        Self { selector, ..Self::default() }
    }
}

impl Codec for Postgres {
    fn expect_next(&mut self) {
        if self.expected < REPLIES {
            let is_login = self.selector >> self.expected & 1 == 1;
            self.decoder.expect(if is_login { postgres::Expect::Login } else { postgres::Expect::Query });
            self.expected += 1;
        }
    }

    fn decode(&mut self, input: &mut &[u8], sink: &mut dyn FnMut(Item<'_>)) -> DecodeStep {
        match self.decoder.decode(input) {
            Ok(None) => DecodeStep::NeedsMore,
            Ok(Some(event)) => {
                sink(Item::Other(&event));
                if event.is_final() { DecodeStep::Final } else { DecodeStep::Event }
            }
            Err(error) => report(error, sink),
        }
    }

    fn eof(&mut self, sink: &mut dyn FnMut(Item<'_>)) {
        sink(Item::Other(&self.decoder.eof()));
    }
}

/// MySQL; the selector chooses the first reply and the next ones.
#[derive(Default)]
pub struct Mysql {
    decoder: mysql::ReplyDecoder,
    selector: u8,
    expected: u8,
}

impl Mysql {
    pub const EXPECTATIONS: [mysql::Expect; 5] = [
        mysql::Expect::Greeting,
        mysql::Expect::Login,
        mysql::Expect::Query,
        mysql::Expect::Execute,
        mysql::Expect::Prepare,
    ];

    pub fn new(selector: u8) -> Self {
        Self { selector, ..Self::default() }
    }
}

impl Codec for Mysql {
    fn expect_next(&mut self) {
        if self.expected < REPLIES {
            let kinds = Self::EXPECTATIONS.len();
            let kind = usize::from(self.selector) / kinds.pow(u32::from(self.expected)) % kinds;
            self.decoder.expect(Self::EXPECTATIONS[kind]);
            self.expected += 1;
        }
    }

    fn decode(&mut self, input: &mut &[u8], sink: &mut dyn FnMut(Item<'_>)) -> DecodeStep {
        match self.decoder.decode(input) {
            Ok(None) => DecodeStep::NeedsMore,
            Ok(Some(event)) => {
                sink(Item::Other(&event));
                if let mysql::Event::Row(row) = &event {
                    sink(Item::Other(&row.texts().collect::<Vec<_>>()));
                }
                if event.is_final() { DecodeStep::Final } else { DecodeStep::Event }
            }
            Err(error) => report(error, sink),
        }
    }

    fn eof(&mut self, sink: &mut dyn FnMut(Item<'_>)) {
        sink(Item::Other(&self.decoder.eof()));
    }
}

/// SMTP; the selector says how many replies, one to four, are expected at a time, as with pipelined commands.
#[derive(Default)]
pub struct Smtp {
    decoder: smtp::ReplyDecoder,
    selector: u8,
    expected: u8,
}

impl Smtp {
    pub fn new(selector: u8) -> Self {
        Self { selector, ..Self::default() }
    }
}

impl Codec for Smtp {
    fn expect_next(&mut self) {
        if self.expected < REPLIES && self.decoder.due() == 0 {
            (0..=self.selector % 4).for_each(|_| self.decoder.expect());
            self.expected += 1;
        }
    }

    fn decode(&mut self, input: &mut &[u8], sink: &mut dyn FnMut(Item<'_>)) -> DecodeStep {
        match self.decoder.decode(input) {
            Ok(None) => DecodeStep::NeedsMore,
            Ok(Some(event)) => {
                sink(Item::Other(&event));
                let (smtp::Event::Line(line) | smtp::Event::End(line)) = event;
                sink(Item::Other(&line.enhanced()));
                if matches!(event, smtp::Event::End(_)) { DecodeStep::Final } else { DecodeStep::Event }
            }
            Err(error) => report(error, sink),
        }
    }

    fn eof(&mut self, sink: &mut dyn FnMut(Item<'_>)) {
        sink(Item::Other(&self.decoder.eof()));
    }
}
