//! Misbehaving servers, each a few lines on plain sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// A server that runs `behave` for every connection, each in its own thread. It ends with the test.
pub fn serve(behave: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let behave = Arc::new(behave);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let behave = behave.clone();
            thread::spawn(move || behave(stream));
        }
    });
    address
}

/// Reads one request; false if the client has closed the connection.
pub fn read_request(stream: &mut TcpStream) -> bool {
    let mut buffer = [0; 4096];
    // Requests without a body arrive in one piece.
    stream.read(&mut buffer).is_ok_and(|count| count > 0)
}

/// Waits until the client closes the connection.
pub fn linger(stream: &mut TcpStream) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
}

/// A server that sends this reply to every request.
pub fn replies(reply: impl AsRef<[u8]> + Send + Sync + 'static) -> SocketAddr {
    serve(move |mut stream| {
        while read_request(&mut stream) {
            if stream.write_all(reply.as_ref()).is_err() {
                return;
            }
        }
    })
}

/// A server that sends this reply to the first request of a connection and closes it.
pub fn replies_and_closes(reply: impl AsRef<[u8]> + Send + Sync + 'static) -> SocketAddr {
    serve(move |mut stream| {
        if read_request(&mut stream) {
            let _ = stream.write_all(reply.as_ref());
        }
    })
}

/// A server that answers the first request with `begin`, followed by `again` without end.
pub fn endless(
    begin: impl AsRef<[u8]> + Send + Sync + 'static,
    again: impl AsRef<[u8]> + Send + Sync + 'static,
) -> SocketAddr {
    serve(move |mut stream| {
        let mut going = read_request(&mut stream) && stream.write_all(begin.as_ref()).is_ok();
        while going {
            going = stream.write_all(again.as_ref()).is_ok();
        }
    })
}

/// A server that writes each reply in two parts, without `TCP_NODELAY`: the kernel holds the second part back until the client
/// acknowledges the first one.
pub fn replies_in_two_parts(head: &'static str, body: &'static str) -> SocketAddr {
    serve(move |mut stream| {
        while read_request(&mut stream) {
            if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).is_err() {
                return;
            }
        }
    })
}
