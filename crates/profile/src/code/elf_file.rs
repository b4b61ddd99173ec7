//! What a profile needs of an ELF file: where its segments are, how its stacks are unwound, where its functions start.
//! Names of functions are left to [`super::symbols`].

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use framehop::ExplicitModuleSectionInfo;
use gimli::{BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, NativeEndian, ParsedEhFrameHdr, UnwindSection};
use object::{Object, ObjectSection, ObjectSegment, ReadCache, ReadRef, SegmentFlags};

/// Larger sections are not read: those of the largest servers have some MB.
const MOST_SECTION_BYTES: u64 = 256 << 20;

/// The identity of a file: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileIdentity(u64, u64);

/// A part of the file that is loaded as code.
#[derive(Debug)]
struct Segment {
    offset: Range<u64>,
    address: u64,
}

#[derive(Debug)]
struct Section {
    addresses: Range<u64>,
    data: Arc<[u8]>,
}

/// An ELF file. Addresses are those that the file states, without the bias of a process.
#[derive(Debug)]
pub(crate) struct ElfFile {
    /// Its name without directories.
    pub name: String,
    /// Where its symbols can be read. None for the vDSO, which is no file.
    pub symbols: Option<SymbolFile>,
    /// The dynamic symbols of the vDSO: address and name, ascending.
    pub own_symbols: Vec<(u64, String)>,
    segments: Vec<Segment>,
    eh_frame: Option<Section>,
    eh_frame_hdr: Option<Section>,
    debug_frame: Option<Section>,
    text: Option<Range<u64>>,
    got: Option<Range<u64>>,
}

/// A file that stays open: by its path, a server could have put something else there.
#[derive(Debug)]
pub(crate) struct SymbolFile {
    file: File,
    /// Whether root or this user owns it, so that what it links to is theirs, too.
    pub is_trusted: bool,
}

impl SymbolFile {
    fn of(file: File) -> io::Result<Self> {
        let owner = file.metadata()?.uid();
        let is_trusted = owner == 0 || owner == rustix::process::geteuid().as_raw();
        Ok(Self { file, is_trusted })
    }

    /// The path of this very file, as long as this is.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }
}

/// Opens a regular file, and does not wait for anything else that a path may name.
pub(crate) fn open_regular(path: &Path) -> io::Result<(File, FileIdentity)> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no regular file"));
    }
    Ok((file, FileIdentity(metadata.dev(), metadata.ino())))
}

impl ElfFile {
    /// Reads what is needed of a file.
    pub(crate) fn read(name: &str, file: File) -> Result<Self, object::Error> {
        let symbols = file.try_clone().and_then(SymbolFile::of).ok();
        let cache = ReadCache::new(file);
        let elf = Self::parse(name, &object::File::parse(&cache)?);
        Ok(Self { symbols, ..elf })
    }

    /// The code that the kernel maps into each process.
    pub(crate) fn of_vdso(image: &[u8]) -> Result<Self, object::Error> {
        let object = object::File::parse(image)?;
        let symbols = object.dynamic_symbols();
        let mut own_symbols: Vec<(u64, String)> = symbols
            .filter_map(|symbol| {
                use object::ObjectSymbol;
                Some((symbol.address(), symbol.name().ok()?.to_owned()))
            })
            .collect();
        own_symbols.sort();
        Ok(Self { own_symbols, ..Self::parse("[vdso]", &object) })
    }

    fn parse<'data, R: ReadRef<'data>>(name: &str, object: &object::File<'data, R>) -> Self {
        let range = |name: &str| {
            let section = object.section_by_name(name)?;
            Some(section.address()..section.address().checked_add(section.size())?)
        };
        let read = |name: &str| {
            let section = object.section_by_name(name)?;
            (section.size() <= MOST_SECTION_BYTES).then_some(())?;
            let data = section.uncompressed_data().ok()?;
            Some(Section { addresses: range(name)?, data: Arc::from(&*data) })
        };
        let is_code =
            |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags & object::elf::PF_X != 0);
        let code = object.segments().filter(|segment| is_code(segment.flags()));
        let segments = code.map(|segment| {
            let (offset, size) = segment.file_range();
            Segment { offset: offset..offset.saturating_add(size), address: segment.address() }
        });
        Self {
            name: name.to_owned(),
            symbols: None,
            own_symbols: Vec::new(),
            segments: segments.collect(),
            eh_frame: read(".eh_frame"),
            eh_frame_hdr: read(".eh_frame_hdr"),
            debug_frame: read(".debug_frame"),
            text: range(".text"),
            got: range(".got"),
        }
    }

    /// The address of the byte at this offset, where a mapping of code begins.
    pub(crate) fn address_of(&self, offset: u64) -> Option<u64> {
        // A mapping begins at a page and a segment may begin within it, after the end of another one.
        let page = !(rustix::param::page_size() as u64 - 1);
        let holds = |segment: &&Segment| (segment.offset.start & page..segment.offset.end).contains(&offset);
        let segment = self.segments.iter().find(holds)?;
        Some(segment.address.wrapping_add(offset.wrapping_sub(segment.offset.start)))
    }

    /// What unwinding needs.
    pub(crate) fn unwind_sections(&self) -> ExplicitModuleSectionInfo<Arc<[u8]>> {
        let addresses = |section: &Option<Section>| section.as_ref().map(|s| s.addresses.clone());
        let data = |section: &Option<Section>| section.as_ref().map(|s| Arc::clone(&s.data));
        ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: self.text.clone(),
            got_svma: self.got.clone(),
            eh_frame_svma: addresses(&self.eh_frame),
            eh_frame: data(&self.eh_frame),
            eh_frame_hdr_svma: addresses(&self.eh_frame_hdr),
            eh_frame_hdr: data(&self.eh_frame_hdr),
            debug_frame: data(&self.debug_frame),
            ..ExplicitModuleSectionInfo::default()
        }
    }

    /// The start of the function at an address, from the tables that unwinding uses: they survive `strip`.
    pub(crate) fn function_start(&self, address: u64) -> Option<u64> {
        let (frame, header) = (self.eh_frame.as_ref()?, self.eh_frame_hdr.as_ref()?);
        let mut bases = BaseAddresses::default()
            .set_eh_frame_hdr(header.addresses.start)
            .set_eh_frame(frame.addresses.start);
        if let Some(text) = &self.text {
            bases = bases.set_text(text.start);
        }
        if let Some(got) = &self.got {
            bases = bases.set_got(got.start);
        }
        let index: ParsedEhFrameHdr<_> =
            EhFrameHdr::new(&header.data, NativeEndian).parse(&bases, size_of::<usize>() as u8).ok()?;
        let eh_frame: EhFrame<EndianSlice<'_, NativeEndian>> = EhFrame::new(&frame.data, NativeEndian);
        let entry =
            index.table()?.fde_for_address(&eh_frame, &bases, address, EhFrame::cie_from_offset).ok()?;
        Some(entry.initial_address())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> (PathBuf, ElfFile) {
        let path = std::env::current_exe().expect("a test has a program");
        let (file, _) = open_regular(&path).expect("it can be read");
        let elf = ElfFile::read("test", file).expect("it is ELF");
        (path, elf)
    }

    #[test]
    fn a_function_starts_where_the_symbols_say() -> Result<(), Box<dyn std::error::Error>> {
        use object::ObjectSymbol;
        let (path, elf) = own();
        let bytes = std::fs::read(path)?;
        let object = object::File::parse(&*bytes)?;
        let name = "a_function_starts_where_the_symbols_say";
        let is_function = |symbol: &object::Symbol<'_, '_>| {
            symbol.name().is_ok_and(|text| text.contains(name)) && symbol.size() > 16
        };
        let symbol = object.symbols().find(is_function).ok_or("the test's own symbol")?;
        assert_eq!(elf.function_start(symbol.address() + 9), Some(symbol.address()));
        assert_eq!(elf.function_start(u64::MAX), None);
        Ok(())
    }

    #[test]
    fn what_is_no_elf_file_and_no_regular_file_is_refused() {
        assert!(open_regular(Path::new("/dev/zero")).is_err());
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("text");
        std::fs::write(&path, "#!/bin/sh").expect("a file");
        let (file, _) = open_regular(&path).expect("a regular file");
        assert!(ElfFile::read("text", file).is_err());
    }
}
