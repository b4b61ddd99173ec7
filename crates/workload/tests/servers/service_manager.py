"""A stand-in for a container's daemon or a service manager: starts servers for others, outside of their process trees.

    service_manager.py SOCKET            the daemon, which listens on a Unix socket; SOCKET.pids gets the servers that it starts
    service_manager.py SOCKET run PORT   asks for a server and stays until it has ended, as `docker run` does
    service_manager.py SOCKET start PORT asks for a server and ends, as `systemctl start` does
    service_manager.py SOCKET stop PORT  stops it and waits for its end
    service_manager.py SOCKET pid PORT   prints its process ID
"""
import os
import signal
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Hello(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        # In one piece: a reply in two would wait for a delayed acknowledgement.
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n")

    def log_message(self, *_):
        pass


def serve(port):
    """Becomes a daemon: a grandchild in a session of its own. Returns its process ID to who called."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.write(writing, str(os.getpid()).encode())
        os.close(writing)
        for pipe in (0, 1, 2):
            os.dup2(os.open(os.devnull, os.O_RDWR), pipe)
        ThreadingHTTPServer(("127.0.0.1", port), Hello).serve_forever()
    os.waitpid(child, 0)
    return int(os.read(reading, 20))


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def daemon(path):
    servers = {}
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("up", flush=True)
    while True:
        connection, _ = listener.accept()
        verb, port = connection.recv(100).decode().split()
        if verb == "start":
            servers[port] = serve(int(port))
            with open(path + ".pids", "a") as started:
                print(servers[port], file=started)
        pid = servers.get(port, 0)
        if verb == "stop" and pid:
            os.kill(pid, signal.SIGTERM)
        connection.send(str(pid).encode())
        connection.close()


def ask(path, verb, port):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.send(f"{verb} {port}".encode())
        return int(connection.recv(20))


def main():
    path, *request = sys.argv[1:]
    if not request:
        return daemon(path)
    verb, port = request
    pid = ask(path, "start" if verb == "run" else verb, port)
    if verb == "pid":
        print(pid)
    while verb in ("run", "stop") and is_running(pid):
        time.sleep(0.02)


main()
