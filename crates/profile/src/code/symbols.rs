//! Names of functions, from symbol tables and installed debug files. Stripped functions have their module and address.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

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
pub(crate) struct Symbols {
    /// With installed debug files.
    installed: Symbolizer,
    /// With nothing but the file: that of another user may link to anything.
    alone: Symbolizer,
}

impl Symbols {
    pub(crate) fn new() -> Self {
        // Lines and inlined functions would need all of the debug information, which is gigabytes of some servers.
        let builder = || Symbolizer::builder().enable_code_info(false).enable_inlined_fns(false);
        let nowhere: [&Path; 0] = [];
        Self { installed: builder().build(), alone: builder().set_debug_dirs(Some(nowhere)).build() }
    }

    /// The names of functions of a file.
    pub(crate) fn find(&self, files: &CodeFiles, index: FileIndex, addresses: &[u64]) -> FileSymbols {
        let file = files.get(index);
        let known: Vec<Option<String>> = match &file.symbols {
            Some(symbols) => {
                let source = Source::Elf(Elf::new(symbols.path()));
                let symbolizer = if symbols.is_trusted { &self.installed } else { &self.alone };
                let found = symbolizer.symbolize(&source, Input::VirtOffset(addresses)).unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::elf_file::open_regular;
    use super::*;

    /// A server replaces its program by a pipe, which nobody writes to.
    #[test]
    fn symbols_are_those_of_the_file_that_was_opened() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("server");
        fs::copy("/proc/self/exe", &path).expect("a copy of this program");
        let (file, _) = open_regular(&path).expect("a file");
        let elf = ElfFile::read("server", file).expect("it is ELF");
        fs::remove_file(&path).expect("it is there");
        let pipe = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(pipe.expect("mkfifo(1)").success());
        let mut files = CodeFiles::default();
        let index = files.add(elf);
        let own = symbols_are_those_of_the_file_that_was_opened as *const () as u64;
        let mut here = CodeFiles::default();
        let space = super::super::address_space::AddressSpace::read(std::process::id(), &mut here)
            .expect("own memory");
        let super::super::address_space::CodeAddress::File(_, address) = space.locate(own) else {
            panic!("code")
        };
        let found = Symbols::new().find(&files, index, &[address]);
        assert!(found.names[&address].contains("symbols_are_those"), "{:?}", found.names);
    }
}
