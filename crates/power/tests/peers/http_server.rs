//! A small HTTP server: fixed answers by path.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What is sent for a path, as bytes on the wire.
pub enum Answer {
    /// Status 200 with this JSON.
    Json(String),
    /// The same, if the request has a line that begins so; otherwise status 401 with this challenge.
    JsonFor(&'static str, &'static str, String),
    /// These bytes, and the end of the connection.
    Raw(Vec<u8>),
    /// A head with a length, and then a byte now and then.
    Slow,
}

/// Serves until the test ends.
pub struct HttpServer {
    pub address: String,
    /// The lines of all requests.
    pub requests: Arc<Mutex<Vec<Vec<String>>>>,
}

impl HttpServer {
    /// Serves these paths; any other is 404.
    pub fn start(answers: Vec<(&'static str, Answer)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address").to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answers) = (Arc::clone(&requests), Arc::new(answers));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, answers) = (Arc::clone(&seen), Arc::clone(&answers));
                thread::spawn(move || serve(stream, &answers, &seen));
            }
        });
        Self { address, requests }
    }

    /// A source of this kind at the server; `rest` begins with a comma.
    pub fn source(&self, kind: &str, rest: &str) -> Box<dyn power::PowerSource> {
        super::open(&format!("{kind}=http://{}{rest}", self.address))
    }
}

fn serve(mut stream: TcpStream, answers: &[(&str, Answer)], seen: &Mutex<Vec<Vec<String>>>) {
    let lines = BufReader::new(stream.try_clone().expect("a second handle")).lines();
    let head: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let Some(first) = head.first() else { return };
    seen.lock().expect("no test panics here").push(head.clone());
    let path = first.split(' ').nth(1).unwrap_or_default();
    let found = answers.iter().find(|(known, _)| *known == path).map(|(_, answer)| answer);
    let json = |status: &str, text: &str| {
        let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n");
        format!("{head}Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
    };
    let bytes = match found {
        None => json("404 Not Found", "{}"),
        Some(Answer::Json(text)) => json("200 OK", text),
        Some(Answer::JsonFor(line, challenge, text)) => {
            if head.iter().any(|other| other.to_lowercase().starts_with(&line.to_lowercase())) {
                json("200 OK", text)
            } else {
                json(&format!("401 Unauthorized\r\nWWW-Authenticate: {challenge}"), "{}")
            }
        }
        Some(Answer::Raw(bytes)) => bytes.clone(),
        Some(Answer::Slow) => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{");
            while stream.write_all(b" ").is_ok() {
                thread::sleep(Duration::from_millis(100));
            }
            return;
        }
    };
    let _ = stream.write_all(&bytes);
}

/// An answer of JSON.
pub fn json(text: &str) -> Answer {
    Answer::Json(text.to_owned())
}
