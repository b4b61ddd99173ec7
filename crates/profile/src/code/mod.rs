//! The code of programs: files, mappings, unwinding, and names of functions.

pub(crate) mod address_space;
pub(crate) mod elf_file;
pub(crate) mod kernel_symbols;
pub(crate) mod known_callers;
pub(crate) mod stack_reader;
pub(crate) mod symbols;
