//! Replies, counted by their status.

/// Names of the driver's counters: the statuses of IANA's list and those of common proxies, then others by their class.
pub(super) const COUNTERS: &[&str] = &[
    "status 200",
    "status 201",
    "status 202",
    "status 203",
    "status 204",
    "status 205",
    "status 206",
    "status 207",
    "status 208",
    "status 226",
    "status 300",
    "status 301",
    "status 302",
    "status 303",
    "status 304",
    "status 305",
    "status 307",
    "status 308",
    "status 400",
    "status 401",
    "status 402",
    "status 403",
    "status 404",
    "status 405",
    "status 406",
    "status 407",
    "status 408",
    "status 409",
    "status 410",
    "status 411",
    "status 412",
    "status 413",
    "status 414",
    "status 415",
    "status 416",
    "status 417",
    "status 418",
    "status 421",
    "status 422",
    "status 423",
    "status 424",
    "status 425",
    "status 426",
    "status 428",
    "status 429",
    "status 431",
    "status 451",
    "status 499",
    "status 500",
    "status 501",
    "status 502",
    "status 503",
    "status 504",
    "status 505",
    "status 506",
    "status 507",
    "status 508",
    "status 510",
    "status 511",
    "status 520",
    "status 521",
    "status 522",
    "status 523",
    "status 524",
    "status 525",
    "status other 2xx",
    "status other 3xx",
    "status other 4xx",
    "status other 5xx",
    "status other",
];

const CODES: usize = COUNTERS.len() - 5;

/// The counter of each status from 200 to 599.
static PLACES: [u8; 400] = places();

#[expect(clippy::cast_possible_truncation, reason = "there are fewer than 256 counters")]
const fn places() -> [u8; 400] {
    let mut places = [0; 400];
    let mut at = 0;
    while at < 400 {
        places[at] = (CODES + at / 100) as u8;
        at += 1;
    }
    let mut counter = 0;
    while counter < CODES {
        let name = COUNTERS[counter].as_bytes();
        let code = number(name[7]) * 100 + number(name[8]) * 10 + number(name[9]);
        places[code - 200] = counter as u8;
        counter += 1;
    }
    places
}

const fn number(digit: u8) -> usize {
    (digit - b'0') as usize
}

/// Which counter a status has.
#[inline]
pub(super) fn place(status: u16) -> usize {
    let place = PLACES.get(usize::from(status).wrapping_sub(200));
    place.map_or(COUNTERS.len() - 1, |place| usize::from(*place))
}

/// What a counter counts, if it is one of statuses: `200`, `other 5xx`.
pub fn status_of(counter: &str) -> Option<&str> {
    counter.strip_prefix("status ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_counter() {
        for (status, counter) in [
            (200, "status 200"),
            (301, "status 301"),
            (404, "status 404"),
            (525, "status 525"),
            (299, "status other 2xx"),
            (399, "status other 3xx"),
            (460, "status other 4xx"),
            (599, "status other 5xx"),
            (999, "status other"),
        ] {
            assert_eq!(COUNTERS[place(status)], counter);
        }
        let codes = COUNTERS.iter().filter_map(|name| status_of(name)?.parse::<u16>().ok());
        assert!(codes.clone().all(|code| COUNTERS[place(code)] == format!("status {code}")));
        assert_eq!(codes.count(), CODES);
    }
}
