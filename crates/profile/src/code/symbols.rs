//! Names of functions, from symbol tables and installed debug files. Stripped functions have their module and address.

use std::collections::{BTreeMap, BTreeSet};

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolizer};

use super::address_space::{CodeFiles, FileIndex};
use super::elf_file::ElfFile;

/// The names of a file's functions, by address.
pub(crate) struct FileSymbols {
    /// The name of the function at each address that was asked for.
    pub names: BTreeMap<u64, String>,
    /// Those of them without a symbol.
    pub unnamed: BTreeSet<u64>,
}

/// Finds names.
pub(crate) struct Symbols(Symbolizer);

impl Symbols {
    pub(crate) fn new() -> Self {
        // Lines and inlined functions would need all of the debug information, which is gigabytes of some servers.
        Self(Symbolizer::builder().enable_code_info(false).enable_inlined_fns(false).build())
    }

    /// The names of functions of a file.
    pub(crate) fn find(&self, files: &CodeFiles, index: FileIndex, addresses: &[u64]) -> FileSymbols {
        let file = files.get(index);
        let known: Vec<Option<String>> = match &file.path {
            Some(path) => {
                let source = Source::Elf(Elf::new(path));
                let found = self.0.symbolize(&source, Input::VirtOffset(addresses)).unwrap_or_default();
                found.iter().map(|symbol| symbol.as_sym().map(|sym| sym.name.to_string())).collect()
            }
            None => addresses.iter().map(|address| own_symbol(file, *address)).collect(),
        };
        let mut symbols = FileSymbols { names: BTreeMap::new(), unnamed: BTreeSet::new() };
        for (at, address) in addresses.iter().enumerate() {
            let name = known.get(at).cloned().flatten().unwrap_or_else(|| {
                symbols.unnamed.insert(*address);
                format!("[{}+{address:#x}]", file.name)
            });
            symbols.names.insert(*address, name);
        }
        symbols
    }
}

fn own_symbol(file: &ElfFile, address: u64) -> Option<String> {
    let after = file.own_symbols.partition_point(|(start, _)| *start <= address);
    Some(file.own_symbols.get(after.checked_sub(1)?)?.1.clone())
}
