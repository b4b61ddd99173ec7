//! How often somebody may try a password: a few times at once, then five times a minute, for each account and for each address. And how
//! many passwords are tried at a time: each takes 19 MiB and a CPU.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

/// The pause after which one more try is allowed, and how many are allowed after a long one.
const PAUSE: Duration = Duration::from_secs(12);
const MOST_AT_ONCE: u32 = 10;

/// Passwords that are tried at a time.
const MOST_TRIED: usize = 2;

/// The most accounts and addresses that are remembered. Beyond, those that have waited long enough are forgotten.
const MOST_KNOWN: usize = 10_000;

/// Who has tried.
#[derive(Debug)]
pub struct Logins {
    /// Until when the tries of each are used up, as if each took [`PAUSE`].
    used_until: Mutex<HashMap<String, Instant>>,
    tries: Semaphore,
}

impl Default for Logins {
    fn default() -> Self {
        Self { used_until: Mutex::default(), tries: Semaphore::new(MOST_TRIED) }
    }
}

impl Logins {
    /// Whether one more password may be tried for this account from this address.
    pub fn admit(&self, account: &str, address: IpAddr) -> bool {
        self.admit_at(account, address, Instant::now())
    }

    fn admit_at(&self, account: &str, address: IpAddr, now: Instant) -> bool {
        let mut used = self.used_until.lock().expect("no thread panics with it");
        if used.len() > MOST_KNOWN {
            used.retain(|_, until| *until > now);
        }
        let keys = [format!("account {account}"), format!("address {address}")];
        for key in &keys {
            let until = used.get(key).copied().unwrap_or(now).max(now);
            if until.duration_since(now) > PAUSE * (MOST_AT_ONCE - 1) {
                return false;
            }
        }
        for key in keys {
            let until = used.entry(key).or_insert(now);
            *until = (*until).max(now) + PAUSE;
        }
        true
    }

    /// Does what costs much, when its turn has come.
    pub async fn slowly<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let _turn = self.tries.acquire().await.ok()?;
        tokio::task::spawn_blocking(work).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_run_out_for_an_account_and_for_an_address_and_come_back() {
        let logins = Logins::default();
        let start = Instant::now();
        let (here, there) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        for _ in 0..MOST_AT_ONCE {
            assert!(logins.admit_at("ada", here, start));
        }
        assert!(!logins.admit_at("ada", there, start), "the account");
        assert!(!logins.admit_at("bob", here, start), "the address");
        assert!(logins.admit_at("bob", there, start));
        assert!(logins.admit_at("ada", here, start + PAUSE));
        assert!(!logins.admit_at("ada", here, start + PAUSE));
    }
}
