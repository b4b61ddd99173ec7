//! Lists of CPUs as a plan writes them: `0`, `0-3,8`.

use std::collections::BTreeSet;

/// Most CPUs that a list may name: a list from a strange plan must not fill the memory.
const MOST: u32 = 1 << 16;

/// The numbers in a list; parts that are no numbers are left out.
pub(crate) fn parse(list: &str) -> BTreeSet<u32> {
    let part = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (from.trim().parse().ok()?, to.trim().parse::<u32>().ok()?);
        (from <= to && to < MOST).then_some(from..=to)
    };
    list.split(',').filter_map(part).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        let set = |numbers: &[u32]| numbers.iter().copied().collect::<BTreeSet<_>>();
        assert_eq!(parse("0"), set(&[0]));
        assert_eq!(parse("0-2,8"), set(&[0, 1, 2, 8]));
        for nothing in ["", "x", "3-1", "0-4294967295", "-"] {
            assert_eq!(parse(nothing), set(&[]), "{nothing}");
        }
    }
}
