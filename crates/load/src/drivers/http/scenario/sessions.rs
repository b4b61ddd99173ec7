//! What each user keeps between its operations: values, cookies and flags, in one slab. A user has the same bytes from the start
//! to the end; what does not fit is refused.

use super::browser::Browsers;
use super::cookies::{Jar, JarError, SetCookie, jar_bytes, write_cookies};
use super::spec::{CookieSlots, ValueSlot};
use crate::inputs::template::Session;

/// Most flags of a scenario.
pub(super) const MOST_FLAGS: usize = 32;
/// Bytes of the length of a value.
const LENGTH_BYTES: usize = 2;
/// The length of a value that is not there.
const NOT_THERE: u16 = u16::MAX;

/// Where a value is in a user's memory: its length and its bytes, the same for the one that is being received, and a list of such
/// values with their number and the place of the next one to take.
#[derive(Clone, Copy, Debug)]
struct ValueField {
    at: usize,
    /// Bytes of a value.
    size: usize,
    /// Bytes of one that is being received, with the text after it.
    receiving: usize,
    /// Values of a list.
    list: usize,
}

impl ValueField {
    fn bytes(self) -> usize {
        let list = if self.list > 0 { 2 * LENGTH_BYTES + self.list * self.item() } else { 0 };
        self.list_at() + list
    }

    fn list_at(self) -> usize {
        2 * LENGTH_BYTES + self.size + self.receiving
    }

    /// Bytes of a value in a list.
    fn item(self) -> usize {
        LENGTH_BYTES + self.size
    }
}

/// The number that these bytes begin with, as [`bytes_of`] writes it.
fn number_of(bytes: &[u8]) -> usize {
    usize::from(u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn bytes_of(length: usize) -> [u8; LENGTH_BYTES] {
    u16::try_from(length).expect("a value has at most 16,384 bytes").to_le_bytes()
}

/// The sessions of a worker's users.
#[derive(Debug)]
pub(super) struct Sessions {
    values: Vec<ValueField>,
    jar: std::ops::Range<usize>,
    cookie_bytes: usize,
    bytes: usize,
    memory: Vec<u8>,
    flags: Vec<u32>,
    /// What their browsers have.
    pub browsers: Browsers,
    worker: u32,
    workers: u32,
}

impl Sessions {
    /// For values of these sizes and of these longest texts that end them.
    pub fn new(
        values: &[(ValueSlot, usize)],
        cookies: CookieSlots,
        browsers: Browsers,
        worker: u32,
        workers: u32,
    ) -> Self {
        let mut at = 0;
        let fields = values.iter().map(|(slot, end)| {
            let size = usize::from(slot.bytes);
            let field = ValueField { at, size, receiving: size + end, list: slot.list.into() };
            at += field.bytes();
            field
        });
        let fields = fields.collect();
        let jar = at..at + jar_bytes(cookies.slots.into(), cookies.bytes.into());
        Self {
            values: fields,
            bytes: jar.end,
            jar,
            cookie_bytes: cookies.bytes.into(),
            memory: Vec::new(),
            flags: Vec::new(),
            browsers,
            worker,
            workers,
        }
    }

    /// Bytes of a user.
    pub fn bytes_of_user(&self) -> usize {
        self.bytes + size_of::<u32>() + self.browsers.bytes_of_user()
    }

    /// Makes room for the users up to this slot; before the load.
    pub fn make_room(&mut self, slot: u32) {
        self.browsers.make_room(slot);
        for slot in self.flags.len()..=slot as usize {
            self.memory.resize((slot + 1) * self.bytes, 0);
            self.flags.push(0);
            self.reset(u32::try_from(slot).expect("a slot"));
        }
    }

    /// Nothing is left of a session.
    pub fn reset(&mut self, slot: u32) {
        self.flags[slot as usize] = 0;
        self.browsers.reset(slot);
        let begin = slot as usize * self.bytes;
        let memory = &mut self.memory[begin..begin + self.bytes];
        memory.fill(0);
        for field in &self.values {
            memory[field.at..field.at + LENGTH_BYTES].copy_from_slice(&NOT_THERE.to_le_bytes());
        }
    }

    pub fn flag(&self, slot: u32, flag: u8) -> bool {
        self.flags[slot as usize] & 1 << flag != 0
    }

    pub fn set_flag(&mut self, slot: u32, flag: u8, is_set: bool) {
        let flags = &mut self.flags[slot as usize];
        *flags = *flags & !(1 << flag) | u32::from(is_set) << flag;
    }

    pub fn set_cookie(&mut self, slot: u32, cookie: &SetCookie<'_>) -> Result<(), JarError> {
        let begin = slot as usize * self.bytes;
        Jar::new(&mut self.memory[begin + self.jar.start..begin + self.jar.end], self.cookie_bytes)
            .set(cookie)
    }

    /// Appends the value of `Cookie`. Whether there is a cookie.
    pub fn write_cookies(&self, slot: u32, out: &mut Vec<u8>) -> bool {
        let begin = slot as usize * self.bytes;
        write_cookies(&self.memory[begin + self.jar.start..begin + self.jar.end], self.cookie_bytes, out)
    }

    fn field(&mut self, slot: u32, value: u16) -> (ValueField, &mut [u8]) {
        let field = self.values[usize::from(value)];
        let begin = slot as usize * self.bytes + field.at;
        (field, &mut self.memory[begin..begin + field.bytes()])
    }

    /// Whether a value is there.
    pub fn has_value(&self, slot: u32, value: u16) -> bool {
        self.of(slot).value(value).is_some()
    }

    /// A value is not there any more, nor a list of them.
    pub fn remove_value(&mut self, slot: u32, value: u16) {
        let (field, memory) = self.field(slot, value);
        memory[..LENGTH_BYTES].copy_from_slice(&NOT_THERE.to_le_bytes());
        if field.list > 0 {
            memory[field.list_at()..][..2 * LENGTH_BYTES].fill(0);
        }
    }

    /// Adds the value to its list. Whether there is a place for it.
    pub fn add_item(&mut self, slot: u32, value: u16) -> bool {
        let (field, memory) = self.field(slot, value);
        let (own, list) = memory.split_at_mut(field.list_at());
        let count = number_of(list);
        if count == field.list {
            return false;
        }
        let place = 2 * LENGTH_BYTES + count * field.item();
        list[place..][..field.item()].copy_from_slice(&own[..field.item()]);
        list[..LENGTH_BYTES].copy_from_slice(&bytes_of(count + 1));
        true
    }

    /// Takes the next value of its list; with `once`, the next that the user's browser does not have. Whether there is one.
    pub fn take_item(&mut self, slot: u32, value: u16, once: bool) -> bool {
        loop {
            let (field, memory) = self.field(slot, value);
            let (own, list) = memory.split_at_mut(field.list_at());
            let (count, next) = (number_of(list), number_of(&list[LENGTH_BYTES..]));
            if next == count {
                return false;
            }
            let item = &list[2 * LENGTH_BYTES + next * field.item()..][..field.item()];
            own[..field.item()].copy_from_slice(item);
            list[LENGTH_BYTES..][..LENGTH_BYTES].copy_from_slice(&bytes_of(next + 1));
            if !once {
                return true;
            }
            let begin = slot as usize * self.bytes + field.at;
            let length = number_of(&self.memory[begin..]);
            let text = &self.memory[begin + LENGTH_BYTES..][..length];
            if self.browsers.wants_item(slot, text) {
                return true;
            }
        }
    }

    /// Sets a value. Whether it fits.
    pub fn set_value(&mut self, slot: u32, value: u16, bytes: &[u8]) -> bool {
        self.begin_value(slot, value);
        self.add_to_value(slot, value, bytes) && self.end_value(slot, value, 0)
    }

    /// Begins to receive a value.
    pub fn begin_value(&mut self, slot: u32, value: u16) {
        let (field, memory) = self.field(slot, value);
        memory[LENGTH_BYTES + field.size..][..LENGTH_BYTES].fill(0);
    }

    /// Receives the next bytes of a value. Whether they fit.
    pub fn add_to_value(&mut self, slot: u32, value: u16, bytes: &[u8]) -> bool {
        let (field, memory) = self.field(slot, value);
        let (length, place) = memory[LENGTH_BYTES + field.size..].split_at_mut(LENGTH_BYTES);
        let received = number_of(length);
        let after = received + bytes.len();
        if after > field.receiving {
            return false;
        }
        place[received..after].copy_from_slice(bytes);
        length.copy_from_slice(&bytes_of(after));
        true
    }

    /// The value is complete, but for its last bytes. Whether it fits.
    pub fn end_value(&mut self, slot: u32, value: u16, without: usize) -> bool {
        let (field, memory) = self.field(slot, value);
        let (kept, receiving) = memory.split_at_mut(LENGTH_BYTES + field.size);
        let received = number_of(receiving);
        let length = received.saturating_sub(without);
        if length > field.size {
            return false;
        }
        kept[..LENGTH_BYTES].copy_from_slice(&bytes_of(length));
        kept[LENGTH_BYTES..][..length].copy_from_slice(&receiving[LENGTH_BYTES..][..length]);
        true
    }

    /// The session of a user, for templates.
    pub fn of(&self, slot: u32) -> UserSession<'_> {
        UserSession { sessions: self, slot }
    }
}

/// The session of one user.
#[derive(Debug)]
pub(super) struct UserSession<'a> {
    sessions: &'a Sessions,
    slot: u32,
}

impl Session for UserSession<'_> {
    fn user(&self) -> u64 {
        u64::from(self.slot) * u64::from(self.sessions.workers) + u64::from(self.sessions.worker) + 1
    }

    fn value(&self, value: u16) -> Option<&[u8]> {
        let field = self.sessions.values[usize::from(value)];
        let memory = &self.sessions.memory[self.slot as usize * self.sessions.bytes + field.at..];
        let length = u16::from_le_bytes([memory[0], memory[1]]);
        (length != NOT_THERE).then(|| &memory[LENGTH_BYTES..][..usize::from(length)])
    }
}

#[cfg(test)]
impl Sessions {
    /// For values with their bytes, the length of a list, and the length of the text that ends them.
    pub fn of_values(values: &[(u16, u16, usize)], cookies: CookieSlots, worker: u32, workers: u32) -> Self {
        let slots: Vec<_> = values
            .iter()
            .map(|(bytes, list, end)| (ValueSlot { bytes: *bytes, list: *list }, *end))
            .collect();
        let browsers = Browsers::new(super::spec::BrowserCache::default(), 0);
        Self::new(&slots, cookies, browsers, worker, workers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> Sessions {
        let mut sessions =
            Sessions::of_values(&[(4, 0, 2), (8, 3, 0)], CookieSlots { slots: 1, bytes: 10 }, 1, 2);
        sessions.make_room(2);
        sessions
    }

    #[test]
    fn users_keep_their_own_values() {
        let mut sessions = sessions();
        assert_eq!((sessions.of(0).value(0), sessions.of(2).user()), (None, 6));
        assert!(sessions.set_value(1, 0, b"abcd") && sessions.set_value(2, 1, b""));
        assert_eq!(sessions.of(1).value(0), Some(&b"abcd"[..]));
        assert_eq!((sessions.of(0).value(0), sessions.of(2).value(1)), (None, Some(&b""[..])));
        sessions.set_flag(1, 3, true);
        assert!(sessions.flag(1, 3) && !sessions.flag(1, 2) && !sessions.flag(0, 3));
        sessions.reset(1);
        assert!(sessions.of(1).value(0).is_none() && !sessions.flag(1, 3));
    }

    #[test]
    fn a_value_that_is_too_long_leaves_the_one_before() {
        let mut sessions = sessions();
        assert!(sessions.set_value(0, 0, b"old"));
        assert!(!sessions.set_value(0, 0, b"longer"), "six bytes were received, and four are kept");
        sessions.begin_value(0, 0);
        assert!(sessions.add_to_value(0, 0, b"abc") && sessions.add_to_value(0, 0, b"d\">"));
        assert!(!sessions.add_to_value(0, 0, b"x"));
        assert_eq!(sessions.of(0).value(0), Some(&b"old"[..]));
        assert!(sessions.end_value(0, 0, 2));
        assert_eq!(sessions.of(0).value(0), Some(&b"abcd"[..]));
    }

    #[test]
    fn the_values_of_a_list_are_taken_one_after_the_other() {
        let mut sessions = sessions();
        for item in [&b"a.jpg"[..], b"b.jpg", b"a.jpg"] {
            assert!(sessions.set_value(1, 1, item) && sessions.add_item(1, 1));
        }
        assert!(!sessions.add_item(1, 1), "it has three places");
        assert!(!sessions.take_item(0, 1, true), "the list of another user");
        let mut taken = Vec::new();
        while sessions.take_item(1, 1, true) {
            taken.push(sessions.of(1).value(1).expect("a value").to_vec());
        }
        assert_eq!(taken, [&b"a.jpg"[..], b"b.jpg"], "each once");
        sessions.remove_value(1, 1);
        assert!(sessions.set_value(1, 1, b"a.jpg") && sessions.add_item(1, 1));
        assert!(!sessions.take_item(1, 1, true), "the browser has it");
        sessions.remove_value(1, 1);
        assert!(sessions.set_value(1, 1, b"a.jpg") && sessions.add_item(1, 1));
        assert!(sessions.take_item(1, 1, false) && !sessions.take_item(1, 1, false));
    }

    /// Olio: an event, a tag, a token, a place, and two cookies.
    #[test]
    fn a_user_is_small() {
        let values = [(12, 0, 8), (16, 0, 8), (64, 0, 8), (96, 0, 0)];
        let sessions = Sessions::of_values(&values, CookieSlots::default(), 0, 1);
        assert!(sessions.bytes_of_user() <= 1_024, "{}", sessions.bytes_of_user());
    }
}
