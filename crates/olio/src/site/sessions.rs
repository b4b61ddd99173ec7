//! Where sessions are kept: in memcached, as in all implementations, or where the implementation keeps them of its own accord, which
//! is the memory of this process.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use super::memcached::Memcached;

/// A session ends an hour after its last change.
const LIFETIME: Duration = Duration::from_hours(1);

/// The setting of all implementations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SessionStore {
    /// In memcached, in the same way in all implementations
    #[default]
    Memcached,
    /// As each implementation does it by itself: memory (Rust, Java), files (PHP), a cookie (Rails)
    Native,
}

impl SessionStore {
    /// As the setting is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memcached => "memcached",
            Self::Native => "native",
        }
    }
}

/// Sessions of one process by their keys.
#[derive(Default)]
pub struct Sessions {
    store: SessionStore,
    native: Mutex<HashMap<String, (Instant, Vec<u8>)>>,
}

impl Sessions {
    pub fn new(store: SessionStore) -> Self {
        Self { store, native: Mutex::default() }
    }

    pub async fn get(&self, cache: &Memcached, key: &str) -> Option<Vec<u8>> {
        if self.store == SessionStore::Memcached {
            return cache.get(&[key]).await.remove(key);
        }
        let native = self.native.lock().expect("no holder panics");
        let (changed, session) = native.get(key)?;
        if changed.elapsed() < LIFETIME { Some(session.clone()) } else { None }
    }

    pub async fn set(&self, cache: &Memcached, key: &str, session: Vec<u8>) {
        if self.store == SessionStore::Memcached {
            return cache.set(key, &session, LIFETIME.as_secs() as u32).await;
        }
        let mut native = self.native.lock().expect("no holder panics");
        // Whenever there is no room, those that have ended make some.
        if native.len() == native.capacity() {
            native.retain(|_, (changed, _)| changed.elapsed() < LIFETIME);
        }
        native.insert(key.to_owned(), (Instant::now(), session));
    }

    pub async fn delete(&self, cache: &Memcached, key: &str) {
        if self.store == SessionStore::Memcached {
            return cache.delete(key).await;
        }
        self.native.lock().expect("no holder panics").remove(key);
    }
}
