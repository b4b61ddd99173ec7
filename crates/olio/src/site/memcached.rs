//! The text protocol of memcached, as far as the site needs it. A cache that does not answer is a cache without values: the site goes on,
//! more slowly.

use std::collections::HashMap;
use std::io;
use std::sync::Mutex;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A cache on the same machine answers within microseconds; one that does not is gone.
const TIMEOUT: Duration = Duration::from_millis(500);

/// A cache at an address, with the connections that are free.
pub struct Memcached {
    address: String,
    free: Mutex<Vec<BufStream<TcpStream>>>,
}

impl Memcached {
    pub fn new(address: String) -> Self {
        Self { address, free: Mutex::default() }
    }

    /// The values that are there, by their keys.
    pub async fn get(&self, keys: &[&str]) -> HashMap<String, Vec<u8>> {
        let request = format!("get {}\r\n", keys.join(" "));
        self.ask(request.into_bytes(), true).await.map(|(_, values)| values).unwrap_or_default()
    }

    /// `lifetime_s` of 0: until there is no room.
    pub async fn set(&self, key: &str, value: &[u8], lifetime_s: u32) {
        let head = format!("set {key} 0 {lifetime_s} {}\r\n", value.len());
        let _ = self.ask([head.as_bytes(), value, b"\r\n"].concat(), false).await;
    }

    /// Whether the key was not there, and now is.
    pub async fn add(&self, key: &str, lifetime_s: u32) -> bool {
        let request = format!("add {key} 0 {lifetime_s} 1\r\n1\r\n");
        let reply = self.ask(request.into_bytes(), false).await;
        reply.is_ok_and(|(line, _)| line == "STORED")
    }

    pub async fn delete(&self, key: &str) {
        let _ = self.ask(format!("delete {key}\r\n").into_bytes(), false).await;
    }

    async fn ask(
        &self,
        request: Vec<u8>,
        has_values: bool,
    ) -> io::Result<(String, HashMap<String, Vec<u8>>)> {
        let free = self.free.lock().expect("no holder panics").pop();
        let exchange = async {
            let mut stream = match free {
                Some(stream) => stream,
                None => BufStream::new(TcpStream::connect(&self.address).await?),
            };
            stream.write_all(&request).await?;
            stream.flush().await?;
            let reply = if has_values {
                read_values(&mut stream).await?
            } else {
                (read_line(&mut stream).await?, HashMap::new())
            };
            Ok::<_, io::Error>((stream, reply))
        };
        let (stream, reply) = timeout(TIMEOUT, exchange).await.map_err(io::Error::other)??;
        self.free.lock().expect("no holder panics").push(stream);
        Ok(reply)
    }
}

async fn read_line(stream: &mut BufStream<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}

async fn read_values(stream: &mut BufStream<TcpStream>) -> io::Result<(String, HashMap<String, Vec<u8>>)> {
    let mut values = HashMap::new();
    loop {
        let line = read_line(stream).await?;
        let ["VALUE", key, _, length] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Ok((line, values));
        };
        let length: usize = length.parse().map_err(io::Error::other)?;
        let mut value = vec![0; length + 2];
        stream.read_exact(&mut value).await?;
        value.truncate(length);
        values.insert(key.to_owned(), value);
    }
}
