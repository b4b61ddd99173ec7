//! Bindings to the part of `RocksDB`'s C interface (`rocksdb/c.h`) that the runner uses. The shared library is loaded at
//! run time, so only users of this runner need it. All unsafe code of the `RocksDB` runner is in this file.
#![expect(unsafe_code, reason = "calls into a C library; each call meets the requirements of c.h")]

use std::ffi::{CStr, CString, NulError, c_char, c_uchar, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;
use procfs::process::{MMapPath, MemoryMaps};
use procfs::{FromRead, ProcError};

/// An opaque pointer from the library.
type Opaque = *mut c_void;
/// Where a call stores an error message, which the caller must free.
type ErrorMessage = *mut *mut c_char;

/// For a library that cannot be loaded. A static program loads none.
const REMEDY: &str = if cfg!(target_feature = "crt-static") {
    "this is a static build of showdown: use one of `cargo build --release` for RocksDB"
} else {
    "apt install librocksdb-dev"
};

/// An error of the library.
#[derive(Debug, thiserror::Error)]
pub enum RocksDbError {
    /// The library cannot be loaded.
    #[error("cannot load {}: {source}: {REMEDY}", file.display())]
    Library {
        /// The file.
        file: PathBuf,
        /// The error of the dynamic loader.
        source: libloading::Error,
    },
    /// The path of the store contains a NUL.
    #[error(transparent)]
    Path(#[from] NulError),
    /// The library returned this message.
    #[error("{0}")]
    Call(String),
    /// The library's file cannot be determined.
    #[error("cannot read /proc/self/maps: {0}")]
    Maps(#[from] ProcError),
}

macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions by their names in c.h without `rocksdb_`. The types are those since version 5.
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
    options_create() -> Opaque;
    options_destroy(Opaque);
    options_set_create_if_missing(Opaque, c_uchar);
    options_set_block_based_table_factory(Opaque, Opaque);
    block_based_options_create() -> Opaque;
    block_based_options_destroy(Opaque);
    block_based_options_set_block_cache(Opaque, Opaque);
    cache_create_lru(usize) -> Opaque;
    cache_destroy(Opaque);
    readoptions_create() -> Opaque;
    readoptions_destroy(Opaque);
    writeoptions_create() -> Opaque;
    writeoptions_destroy(Opaque);
    writeoptions_set_sync(Opaque, c_uchar);
    flushoptions_create() -> Opaque;
    flushoptions_destroy(Opaque);
    open(Opaque, *const c_char, ErrorMessage) -> Opaque;
    close(Opaque);
    put(Opaque, Opaque, *const u8, usize, *const u8, usize, ErrorMessage);
    get_pinned(Opaque, Opaque, *const u8, usize, ErrorMessage) -> Opaque;
    pinnableslice_value(Opaque, *mut usize) -> *const u8;
    pinnableslice_destroy(Opaque);
    flush(Opaque, Opaque, ErrorMessage);
    free(Opaque);
}

/// An open store.
pub struct Database {
    functions: Functions,
    open: Opaque,
    reading: Opaque,
    /// Durable if requested.
    writing: Opaque,
    /// Not durable.
    loading: Opaque,
    /// Contains the functions.
    _library: Library,
}

// SAFETY: "a single DB object may be safely shared by multiple threads" (RocksDB wiki, Basic Operations,
// Concurrency). The options are written before the object is shared, and only read afterwards.
unsafe impl Send for Database {}
unsafe impl Sync for Database {}

impl Database {
    /// Creates a store with a block cache of this size. If `is_durable`, writes are on the disk when they return. `file`
    /// is the library: a path, or a name that the system searches for.
    pub fn create(
        file: &Path,
        directory: &Path,
        cache_bytes: usize,
        is_durable: bool,
    ) -> Result<Self, RocksDbError> {
        let (library, functions) = load(file)?;
        let path = CString::new(directory.as_os_str().as_encoded_bytes())?;
        // SAFETY: each object is destroyed once, after its last use. The table options share ownership of the cache,
        // the store's options that of the table options, and the store that of all of them.
        unsafe {
            let f = &functions;
            let (options, tables) = ((f.options_create)(), (f.block_based_options_create)());
            let cache = (f.cache_create_lru)(cache_bytes);
            (f.block_based_options_set_block_cache)(tables, cache);
            (f.options_set_block_based_table_factory)(options, tables);
            (f.options_set_create_if_missing)(options, 1);
            let opened = f.checked(|message| (f.open)(options, path.as_ptr(), message));
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

    /// Stores a record, durably if requested.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), RocksDbError> {
        self.write(self.writing, key, value)
    }

    /// Stores a record that is durable only after [`Self::flush`].
    pub fn load(&self, key: &[u8], value: &[u8]) -> Result<(), RocksDbError> {
        self.write(self.loading, key, value)
    }

    fn write(&self, options: Opaque, key: &[u8], value: &[u8]) -> Result<(), RocksDbError> {
        let f = &self.functions;
        // SAFETY: the store is open, and it copies key and value.
        f.checked(|message| unsafe {
            (f.put)(self.open, options, key.as_ptr(), key.len(), value.as_ptr(), value.len(), message);
        })
    }

    /// Passes the value of a key to `read`, without a copy.
    pub fn get<T>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> T) -> Result<T, RocksDbError> {
        let f = &self.functions;
        // SAFETY: the value is valid until the slice is destroyed, which is after `read`. Without a slice there is no
        // value.
        unsafe {
            let slice = f.checked(|message| {
                (f.get_pinned)(self.open, self.reading, key.as_ptr(), key.len(), message)
            })?;
            if slice.is_null() {
                return Ok(read(None));
            }
            let mut length = 0;
            let value = (f.pinnableslice_value)(slice, &raw mut length);
            let result = read(Some(std::slice::from_raw_parts(value, length)));
            (f.pinnableslice_destroy)(slice);
            Ok(result)
        }
    }

    /// Writes the memtable to a file of the tree.
    pub fn flush(&self) -> Result<(), RocksDbError> {
        let f = &self.functions;
        // SAFETY: the store is open. By default the call waits until the write is complete.
        unsafe {
            let options = (f.flushoptions_create)();
            let flushed = f.checked(|message| (f.flush)(self.open, options, message));
            (f.flushoptions_destroy)(options);
            flushed
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let f = &self.functions;
        // SAFETY: this is the only reference.
        unsafe {
            (f.close)(self.open);
            (f.readoptions_destroy)(self.reading);
            (f.writeoptions_destroy)(self.writing);
            (f.writeoptions_destroy)(self.loading);
        }
    }
}

impl Functions {
    /// Makes a call that may store an error message, and returns that as the error.
    fn checked<T>(&self, call: impl FnOnce(ErrorMessage) -> T) -> Result<T, RocksDbError> {
        let mut message = ptr::null_mut();
        let result = call(&raw mut message);
        if message.is_null() {
            return Ok(result);
        }
        // SAFETY: the message is a NUL-terminated text, which the caller must free once.
        unsafe {
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.free)(message.cast());
            Err(RocksDbError::Call(text))
        }
    }
}

fn load(file: &Path) -> Result<(Library, Functions), RocksDbError> {
    let failed = |source| RocksDbError::Library { file: file.to_owned(), source };
    // SAFETY: loading runs the constructors of a C++ library, which have no requirements.
    let library = unsafe { Library::new(file) }.map_err(failed)?;
    let functions = Functions::of(&library).map_err(failed)?;
    Ok((library, functions))
}

/// The library's version, from the name of its file: the C interface has no function for it.
pub fn version(file: &Path) -> Result<String, RocksDbError> {
    let (_library, _) = load(file)?;
    let maps = MemoryMaps::from_file("/proc/self/maps")?;
    let version = maps.into_iter().find_map(|map| match map.pathname {
        MMapPath::Path(path) => Some(path.to_str()?.split_once("librocksdb.so.")?.1.to_owned()),
        _ => None,
    });
    Ok(version.unwrap_or_else(|| "of unknown version".to_owned()))
}
