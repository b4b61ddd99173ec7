//! Parses CPU lists of a plan: `0`, `0-3,8`.

use std::collections::BTreeSet;

/// Maximum CPU number: a list in an untrusted plan must not exhaust the memory.
const MAX_CPUS: u32 = 1 << 16;

/// The CPU numbers in a list; malformed parts are ignored.
pub(crate) fn parse(list: &str) -> BTreeSet<u32> {
    let part = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (from.trim().parse().ok()?, to.trim().parse::<u32>().ok()?);
        (from <= to && to < MAX_CPUS).then_some(from..=to)
    };
    list.split(',').filter_map(part).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_in_the_kernels_format_are_parsed() {
        let set = |numbers: &[u32]| numbers.iter().copied().collect::<BTreeSet<_>>();
        assert_eq!(parse("0"), set(&[0]));
        assert_eq!(parse("0-2,8"), set(&[0, 1, 2, 8]));
        for nothing in ["", "x", "3-1", "0-4294967295", "-"] {
            assert_eq!(parse(nothing), set(&[]), "{nothing}");
        }
    }
}
