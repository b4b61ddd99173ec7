//! The code in a process's memory: which file is at an address, and who called whom.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use framehop::{
    CacheNative, FrameAddress, MayAllocateDuringUnwind, Module, UnwindRegsNative, Unwinder, UnwinderNative,
};
use procfs::FromRead;
use procfs::process::{MMPermissions, MMapPath, MemoryMaps};

use super::elf_file::{ElfFile, FileIdentity, open_regular};

/// Deeper stacks are cut: recursion without an end must not fill the memory.
const MOST_FRAMES: usize = 256;

/// Farther away nothing is read after a sample.
const MOST_READ_LATER: u64 = 1 << 20;

/// An index in [`CodeFiles`].
pub(crate) type FileIndex = u32;

/// All files with code that were seen. Processes share them.
#[derive(Debug, Default)]
pub(crate) struct CodeFiles {
    files: Vec<ElfFile>,
    by_identity: HashMap<FileIdentity, Option<FileIndex>>,
    vdso: OnceCell<Option<FileIndex>>,
    starts: HashMap<(FileIndex, u64), u64>,
}

impl CodeFiles {
    pub(crate) fn get(&self, index: FileIndex) -> &ElfFile {
        &self.files[index as usize]
    }

    /// The start of the function at an address; the address itself where that is not known.
    pub(crate) fn function_start(&mut self, index: FileIndex, address: u64) -> u64 {
        let file = &self.files[index as usize];
        *self
            .starts
            .entry((index, address))
            .or_insert_with(|| file.function_start(address).unwrap_or(address))
    }

    /// A file of a process; none if it cannot be read or is not ELF.
    fn open(&mut self, root: &Path, path: &Path) -> Option<FileIndex> {
        let inside = root.join(path.strip_prefix("/").ok()?);
        let (file, identity) = open_regular(&inside).ok()?;
        if let Some(known) = self.by_identity.get(&identity) {
            return *known;
        }
        let name = path.file_name()?.to_string_lossy();
        let index = ElfFile::read(&name, file).ok().map(|elf| self.add(elf));
        self.by_identity.insert(identity, index);
        index
    }

    pub(super) fn add(&mut self, elf: ElfFile) -> FileIndex {
        self.files.push(elf);
        (self.files.len() - 1) as FileIndex
    }

    /// The vDSO of this process: the kernel maps the same one into all 64-bit processes.
    fn vdso(&mut self) -> Option<FileIndex> {
        if self.vdso.get().is_none() {
            let elf = own_vdso().and_then(|image| ElfFile::of_vdso(&image).ok());
            let index = elf.map(|elf| self.add(elf));
            // It was empty.
            let _ = self.vdso.set(index);
        }
        self.vdso.get().copied().flatten()
    }
}

fn own_vdso() -> Option<Vec<u8>> {
    let maps = MemoryMaps::from_file("/proc/self/maps").ok()?;
    let (start, end) = maps.iter().find(|map| map.pathname == MMapPath::Vdso)?.address;
    let mut memory = File::open("/proc/self/mem").ok()?;
    memory.seek(SeekFrom::Start(start)).ok()?;
    let mut image = vec![0; (end - start) as usize];
    memory.read_exact(&mut image).ok()?;
    Some(image)
}

/// Registers of a thread in user mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Registers {
    /// The instruction that runs next.
    pub instruction: u64,
    /// The stack pointer.
    pub stack: u64,
    /// The frame pointer.
    pub frame: u64,
    /// The return address of a leaf function (aarch64 only).
    pub link: u64,
}

impl Registers {
    #[cfg(target_arch = "x86_64")]
    fn native(self) -> UnwindRegsNative {
        UnwindRegsNative::new(self.instruction, self.stack, self.frame)
    }

    #[cfg(target_arch = "aarch64")]
    fn native(self) -> UnwindRegsNative {
        // Pointers may be signed; addresses of programs have 48 bits at most.
        let mask = framehop::aarch64::PtrAuthMask(0x0000_ffff_ffff_ffff);
        UnwindRegsNative::new_with_ptr_auth_mask(mask, self.link, self.stack, self.frame)
    }
}

/// A place in a process's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CodeAddress {
    /// In a file, at the address that the file states.
    File(FileIndex, u64),
    /// In memory that belongs to no readable file, such as compiled code of a virtual machine.
    Anonymous,
}

/// A function on a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UserFrame {
    /// Where it runs.
    pub address: CodeAddress,
    /// The stack pointer in it.
    pub stack_pointer: u64,
}

/// A stack of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserStack {
    /// Innermost first.
    pub frames: Vec<UserFrame>,
    /// Whether it reaches the start of its thread.
    pub is_complete: bool,
    /// Whether its outer part is not from the copy.
    pub is_completed: bool,
}

#[derive(Debug)]
struct Mapping {
    range: Range<u64>,
    /// Address in memory minus address in the file.
    bias: u64,
    file: FileIndex,
}

/// The cache of unwinding, for all processes.
pub(crate) type UnwindCache = CacheNative<MayAllocateDuringUnwind>;

/// The code in the memory of a process.
pub(crate) struct AddressSpace {
    mappings: Vec<Mapping>,
    unwinder: UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>,
}

impl AddressSpace {
    /// The code that a process has mapped now. None if it has exited or may not be read.
    pub(crate) fn read(pid: u32, files: &mut CodeFiles) -> Option<Self> {
        let maps = MemoryMaps::from_file(format!("/proc/{pid}/maps")).ok()?;
        let root = process_root(pid);
        let mut space = Self { mappings: Vec::new(), unwinder: UnwinderNative::new() };
        for map in maps.iter().filter(|map| map.perms.contains(MMPermissions::EXECUTE)) {
            let file = match &map.pathname {
                MMapPath::Path(path) => files.open(&root, path),
                MMapPath::Vdso => files.vdso(),
                _ => None,
            };
            let Some(file) = file else { continue };
            space.add(map.address.0..map.address.1, map.offset, file, files);
        }
        (!space.mappings.is_empty()).then_some(space)
    }

    fn add(&mut self, range: Range<u64>, offset: u64, file: FileIndex, files: &CodeFiles) {
        let elf = files.get(file);
        let Some(address) = elf.address_of(offset) else { return };
        let bias = range.start.wrapping_sub(address);
        self.unwinder.add_module(Module::new(elf.name.clone(), range.clone(), bias, elf.unwind_sections()));
        self.mappings.push(Mapping { range, bias, file });
    }

    /// Whether an address is in a file.
    pub(crate) fn knows(&self, address: u64) -> bool {
        self.locate(address) != CodeAddress::Anonymous
    }

    pub(super) fn locate(&self, address: u64) -> CodeAddress {
        let mapping = self.mappings.iter().find(|mapping| mapping.range.contains(&address));
        mapping.map_or(CodeAddress::Anonymous, |mapping| {
            CodeAddress::File(mapping.file, address.wrapping_sub(mapping.bias))
        })
    }

    /// Who called whom, from a copy of the stack that begins at the stack pointer.
    ///
    /// The kernel ends the copy at a page that is not in memory, such as one of a large buffer that was never used. What lies
    /// behind is then read from `memory`: the stack of some ms later. It is believed only if it leads to the thread's start.
    pub(crate) fn unwind(
        &self,
        registers: Registers,
        stack: &[u8],
        memory: Option<&File>,
        cache: &mut UnwindCache,
    ) -> UserStack {
        let copied = |address: u64| {
            let at = usize::try_from(address.checked_sub(registers.stack)?).ok()?;
            Some(u64::from_ne_bytes(*stack.get(at..)?.first_chunk()?))
        };
        let (frames, is_complete) = self.frames(registers, cache, copied);
        let Some(memory) = memory.filter(|_| !is_complete) else {
            return UserStack { frames, is_complete, is_completed: false };
        };
        let end = registers.stack.saturating_add(stack.len() as u64);
        let later = |address: u64| {
            let mut bytes = [0; 8];
            let is_behind = (end..end.saturating_add(MOST_READ_LATER)).contains(&address);
            (is_behind && memory.read_exact_at(&mut bytes, address).is_ok())
                .then(|| u64::from_ne_bytes(bytes))
        };
        let (longer, is_complete) =
            self.frames(registers, cache, |address| copied(address).or_else(|| later(address)));
        let frames = if is_complete { longer } else { frames };
        UserStack { frames, is_complete, is_completed: is_complete }
    }

    fn frames(
        &self,
        registers: Registers,
        cache: &mut UnwindCache,
        read: impl Fn(u64) -> Option<u64>,
    ) -> (Vec<UserFrame>, bool) {
        let mut frames = Vec::new();
        let mut read = |address| read(address).ok_or(());
        let mut native = registers.native();
        let mut next = Some(FrameAddress::InstructionPointer(registers.instruction));
        let is_complete = loop {
            // A thread starts in a file: anything else is an address that was read from the wrong place.
            let is_in_file = |frame: &UserFrame| matches!(frame.address, CodeAddress::File(..));
            let Some(address) = next else { break frames.last().is_some_and(is_in_file) };
            if frames.len() >= MOST_FRAMES {
                break false;
            }
            // A return address may lie behind a function that ends with a call: the address before it is in the call.
            let place = self.locate(address.address_for_lookup());
            frames.push(UserFrame { address: place, stack_pointer: native.sp() });
            next = match self.unwinder.unwind_frame(address, &mut native, cache, &mut read) {
                Ok(caller) => caller.and_then(FrameAddress::from_return_address),
                Err(_) => break false,
            };
        };
        (frames, is_complete)
    }
}

/// Where a process's paths begin: another place in a container.
fn process_root(pid: u32) -> PathBuf {
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    // The process may end while its files are opened: a path without it lasts longer.
    if fs::read_link(&root).is_ok_and(|target| target == Path::new("/")) { PathBuf::from("/") } else { root }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object, ObjectSymbol};

    #[test]
    fn a_function_of_this_program_is_found_at_its_address_in_the_file()
    -> Result<(), Box<dyn std::error::Error>> {
        let mut files = CodeFiles::default();
        let own = AddressSpace::read(std::process::id(), &mut files).ok_or("own memory can be read")?;
        let CodeAddress::File(file, address) = own.locate(marker as *const () as u64) else {
            return Err("code of a file".into());
        };
        let bytes = fs::read(files.get(file).symbols.as_ref().ok_or("a file")?.path())?;
        let object = object::File::parse(&*bytes)?;
        let here = object.symbols().filter(|symbol| symbol.address() == address);
        let names: Vec<&str> = here.filter_map(|symbol| symbol.name().ok()).collect();
        assert!(names.iter().any(|name| name.contains("marker")), "{names:?}");
        assert_eq!(own.locate(1), CodeAddress::Anonymous);
        Ok(())
    }

    #[inline(never)]
    fn marker() -> u32 {
        std::hint::black_box(7)
    }
}
