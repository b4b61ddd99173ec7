//! The part of `RocksDB`'s C interface (`rocksdb/c.h`) that is used here, of a shared library that is loaded when it
//! is asked for: nobody else needs to have it. All that is unsafe is in this file.
#![expect(unsafe_code, reason = "a C library is called; each call keeps what c.h asks of its caller")]

use std::ffi::{CStr, CString, c_char, c_uchar, c_void};
use std::fs;
use std::path::Path;
use std::ptr;

use libloading::Library;

/// What the library gives and takes back; never looked into.
type Pointer = *mut c_void;
/// Where a call leaves its complaint, which is ours to free.
type Complaint = *mut *mut c_char;

macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Its functions, by their names in c.h without `rocksdb_`, as they have been since version 5.
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            fn of(library: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the types are those of c.h, and the library outlives this.
                unsafe {
                    Ok(Self { $($name: *library.get(concat!("rocksdb_", stringify!($name)))?,)* })
                }
            }
        }
    };
}

functions! {
    options_create() -> Pointer;
    options_destroy(Pointer);
    options_set_create_if_missing(Pointer, c_uchar);
    options_set_block_based_table_factory(Pointer, Pointer);
    block_based_options_create() -> Pointer;
    block_based_options_destroy(Pointer);
    block_based_options_set_block_cache(Pointer, Pointer);
    cache_create_lru(usize) -> Pointer;
    cache_destroy(Pointer);
    readoptions_create() -> Pointer;
    readoptions_destroy(Pointer);
    writeoptions_create() -> Pointer;
    writeoptions_destroy(Pointer);
    writeoptions_set_sync(Pointer, c_uchar);
    flushoptions_create() -> Pointer;
    flushoptions_destroy(Pointer);
    open(Pointer, *const c_char, Complaint) -> Pointer;
    close(Pointer);
    put(Pointer, Pointer, *const u8, usize, *const u8, usize, Complaint);
    get_pinned(Pointer, Pointer, *const u8, usize, Complaint) -> Pointer;
    pinnableslice_value(Pointer, *mut usize) -> *const u8;
    pinnableslice_destroy(Pointer);
    flush(Pointer, Pointer, Complaint);
    free(Pointer);
}

/// An open store.
pub struct Database {
    functions: Functions,
    open: Pointer,
    reading: Pointer,
    /// Durable or not, as asked.
    writing: Pointer,
    /// Not durable.
    loading: Pointer,
    /// The functions are in it.
    _library: Library,
}

// SAFETY: "a single DB object may be safely shared by multiple threads" (RocksDB wiki, Basic Operations,
// Concurrency); the options are written before it is shared and only read after.
unsafe impl Send for Database {}
unsafe impl Sync for Database {}

impl Database {
    /// Makes a store with a block cache of this size, whose writes are on the disk when they return if `is_durable`.
    /// `file` is the library: a path, or a name that the system looks for.
    pub fn create(
        file: &Path,
        directory: &Path,
        cache_bytes: usize,
        is_durable: bool,
    ) -> Result<Self, String> {
        let (library, functions) = load(file)?;
        let path = CString::new(directory.as_os_str().as_encoded_bytes()).map_err(|e| e.to_string())?;
        // SAFETY: each thing is destroyed once, after its last use; the table's options share in the cache, the
        // store's in the table's, and the store in all of them.
        unsafe {
            let f = &functions;
            let (options, tables) = ((f.options_create)(), (f.block_based_options_create)());
            let cache = (f.cache_create_lru)(cache_bytes);
            (f.block_based_options_set_block_cache)(tables, cache);
            (f.options_set_block_based_table_factory)(options, tables);
            (f.options_set_create_if_missing)(options, 1);
            let opened = f.checked(|complaint| (f.open)(options, path.as_ptr(), complaint));
            (f.options_destroy)(options);
            (f.block_based_options_destroy)(tables);
            (f.cache_destroy)(cache);
            let open = opened?;
            let (writing, loading) = ((f.writeoptions_create)(), (f.writeoptions_create)());
            (f.writeoptions_set_sync)(writing, c_uchar::from(is_durable));
            let reading = (f.readoptions_create)();
            Ok(Self { functions, open, reading, writing, loading, _library: library })
        }
    }

    /// Stores a record, durably if so asked.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), String> {
        self.write(self.writing, key, value)
    }

    /// Stores a record that is durable only after [`Self::flush`].
    pub fn load(&self, key: &[u8], value: &[u8]) -> Result<(), String> {
        self.write(self.loading, key, value)
    }

    fn write(&self, options: Pointer, key: &[u8], value: &[u8]) -> Result<(), String> {
        let f = &self.functions;
        // SAFETY: the store is open, and copies what it keeps.
        f.checked(|complaint| unsafe {
            (f.put)(self.open, options, key.as_ptr(), key.len(), value.as_ptr(), value.len(), complaint);
        })
    }

    /// Gives the value of a key to `look`, where it lies.
    pub fn get<T>(&self, key: &[u8], look: impl FnOnce(Option<&[u8]>) -> T) -> Result<T, String> {
        let f = &self.functions;
        // SAFETY: the value stays where it is until the slice is destroyed, which is after the look at it; nothing
        // was found where there is no slice.
        unsafe {
            let slice = f.checked(|complaint| {
                (f.get_pinned)(self.open, self.reading, key.as_ptr(), key.len(), complaint)
            })?;
            if slice.is_null() {
                return Ok(look(None));
            }
            let mut length = 0;
            let value = (f.pinnableslice_value)(slice, &raw mut length);
            let seen = look(Some(std::slice::from_raw_parts(value, length)));
            (f.pinnableslice_destroy)(slice);
            Ok(seen)
        }
    }

    /// Writes what is in memory to a file of the tree.
    pub fn flush(&self) -> Result<(), String> {
        let f = &self.functions;
        // SAFETY: the store is open; by default the call waits until all is written.
        unsafe {
            let options = (f.flushoptions_create)();
            let flushed = f.checked(|complaint| (f.flush)(self.open, options, complaint));
            (f.flushoptions_destroy)(options);
            flushed
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let f = &self.functions;
        // SAFETY: nobody else has it any more.
        unsafe {
            (f.close)(self.open);
            (f.readoptions_destroy)(self.reading);
            (f.writeoptions_destroy)(self.writing);
            (f.writeoptions_destroy)(self.loading);
        }
    }
}

impl Functions {
    /// Makes a call that may leave a complaint, which is then the error.
    fn checked<T>(&self, call: impl FnOnce(Complaint) -> T) -> Result<T, String> {
        let mut complaint = ptr::null_mut();
        let result = call(&raw mut complaint);
        if complaint.is_null() {
            return Ok(result);
        }
        // SAFETY: a complaint is a text that ends in a zero, and ours to free once.
        unsafe {
            let text = CStr::from_ptr(complaint).to_string_lossy().into_owned();
            (self.free)(complaint.cast());
            Err(text)
        }
    }
}

fn load(file: &Path) -> Result<(Library, Functions), String> {
    let failed =
        |e: libloading::Error| format!("cannot load {}: {e}: apt install librocksdb-dev", file.display());
    // SAFETY: what it runs when it is loaded are the constructors of a C++ library, which ask nothing of us.
    let library = unsafe { Library::new(file) }.map_err(failed)?;
    let functions = Functions::of(&library).map_err(failed)?;
    Ok((library, functions))
}

/// The library's version, which is the end of its file's name: the C interface does not tell.
pub fn version(file: &Path) -> Result<String, String> {
    let (_library, _) = load(file)?;
    let maps = fs::read_to_string("/proc/self/maps").map_err(|e| format!("/proc/self/maps: {e}"))?;
    let version = maps.lines().find_map(|line| Some(line.split_once("librocksdb.so.")?.1.trim()));
    Ok(version.unwrap_or("of no known version").to_owned())
}
