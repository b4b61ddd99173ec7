//! The kernel's functions, from `/proc/kallsyms`.

use std::fs;

/// A function of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KernelSymbol {
    address: u64,
    name: String,
    /// Empty for the kernel itself.
    module: String,
}

/// The kernel's functions, by address.
#[derive(Debug, Default)]
pub(crate) struct KernelSymbols(Vec<KernelSymbol>);

impl KernelSymbols {
    /// Those of this machine; none where this user sees no addresses.
    pub(crate) fn read() -> Self {
        fs::read_to_string("/proc/kallsyms").map(|text| Self::parse(&text)).unwrap_or_default()
    }

    fn parse(text: &str) -> Self {
        let mut symbols: Vec<KernelSymbol> = text.lines().filter_map(parse_line).collect();
        symbols.sort_by_key(|symbol| symbol.address);
        // Aliases: the first name of an address stands for it.
        symbols.dedup_by_key(|symbol| symbol.address);
        Self(symbols)
    }

    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The start of a function.
    pub(crate) fn address_of(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|symbol| symbol.name == name).map(|symbol| symbol.address)
    }

    /// The function at an address: its start, its name, and its module.
    pub(crate) fn find(&self, address: u64) -> Option<(u64, &str, &str)> {
        let after = self.0.partition_point(|symbol| symbol.address <= address);
        let symbol = self.0.get(after.checked_sub(1)?)?;
        Some((symbol.address, &symbol.name, if symbol.module.is_empty() { "kernel" } else { &symbol.module }))
    }
}

/// `ffffffff81000000 T startup_64 [module]`. Only functions, and only where the address is shown.
fn parse_line(line: &str) -> Option<KernelSymbol> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok().filter(|address| *address != 0)?;
    if !matches!(words.next()?, "t" | "T" | "w" | "W") {
        return None;
    }
    let name = words.next()?.to_owned();
    let module = words.next().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    Some(KernelSymbol { address, name, module })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_an_address_inside() {
        let text = "\
ffffffff81000100 T second
ffffffff81000000 T first
ffffffff81000000 t alias_of_first
ffffffff81000080 d data
ffffffffc0000000 t in_module\t[nf_tables]
";
        let symbols = KernelSymbols::parse(text);
        assert_eq!(symbols.find(0xffff_ffff_8100_0090), Some((0xffff_ffff_8100_0000, "first", "kernel")));
        assert_eq!(symbols.find(0xffff_ffff_8100_0100), Some((0xffff_ffff_8100_0100, "second", "kernel")));
        assert_eq!(
            symbols.find(0xffff_ffff_c000_0010),
            Some((0xffff_ffff_c000_0000, "in_module", "nf_tables"))
        );
        assert_eq!(symbols.find(5), None);
        assert_eq!(symbols.address_of("second"), Some(0xffff_ffff_8100_0100));
    }

    #[test]
    fn hidden_addresses_are_no_symbols() {
        assert!(KernelSymbols::parse("0000000000000000 T first\n0000000000000000 T second\n").is_empty());
    }
}
