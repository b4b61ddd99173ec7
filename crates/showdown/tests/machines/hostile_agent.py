"""Stands for ssh(1), and leads to an agent that lies: a real agent of this machine whose messages are changed on their way.

Its mode, the program, its log, and a file and a port of the operator are in its environment.
"""

import json
import os
import platform
import re
import signal
import struct
import subprocess
import sys
import threading
import time

MODE = os.environ["EVIL_MODE"]
LOG = open(os.environ["EVIL_LOG"], "ab", buffering=0)
VICTIM = os.environ["EVIL_VICTIM"]
TRAP = os.environ["EVIL_TRAP"]
NONCE = re.search(r"\$\{m\}([0-9a-f]{32})", sys.argv[-1]).group(1)

RUNNER = {"protocol": "runner", "stdin": VICTIM, "stdout": VICTIM, "mix": [["x=1\ntouch /tmp/owned\n#", 1.0]]}
HTTP = {"protocol": "http", "authority": TRAP, "operations": [{"method": "POST", "path": "/containers/create"}]}


def spec(protocol):
    """The load that a host could once choose."""
    return {"spec": {"addresses": [TRAP], "sources": ["127.0.0.9"], "protocol": protocol, "connections": 1}, "files": [[VICTIM, "x"]]}


def lie(call, result):
    """The reply to a call in place of this one."""
    if call == "read_start":
        ok = result.get("Ok") or {}
        starts = {
            "address": {**ok, "addresses": [TRAP]},
            "protocol": spec(HTTP),
            "runner": spec(RUNNER),
            "sources": {**ok, "sources": ["127.0.0.9"]},
            "environment": {**ok, "password": {"environment": "OPERATOR_SECRET"}},
            "ports": {**ok, "ports": [22]},
            "socket": {**ok, "sockets": [{"path": "/run/docker.sock"}]},
        }
        return {"Ok": starts[MODE]} if MODE in starts else result
    if MODE == "samples" and call == "end_recording" and "Ok" in result:
        return {"Ok": {**result["Ok"], "samples": 1 << 60}}
    if MODE == "names":
        if call == "read_logs":
            names = ["../../../" + os.path.basename(VICTIM), VICTIM, "trial.json", "client-telemetry.parquet", "a\0b", "..", ""]
            return {"Ok": [[name, {"text": "owned", "left_out": 0}] for name in names]}
        if call == "read_configuration":
            return {"Ok": [["../../../../" + os.path.basename(VICTIM), "owned"], [VICTIM, "owned"]]}
    if MODE == "facts" and call == "examine" and "Ok" in result:
        result["Ok"]["facts"]["kernel"]["release"] = "6.1\nAll hosts can be used.\n\x1b[2J"
    return result


def frame(text):
    document = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<I", len(document)) + document


def frames(source, log=None):
    """The documents that arrive."""
    while True:
        head = source.read(4)
        if len(head) < 4:
            return
        document = source.read(struct.unpack("<I", head)[0])
        if log:
            log.write(document + b"\n")
        yield document


def main():
    out = sys.stdout.buffer
    lock = threading.Lock()

    def say(data):
        with lock:
            out.write(data)
            out.flush()

    say(f"\nshowdown-{NONCE} host Linux {platform.machine()}\n\nshowdown-{NONCE} run\n".encode())
    environment = {**os.environ, "SHOWDOWN_LOCK": os.environ["EVIL_LOG"] + ".lock"}
    words = [os.environ["EVIL_SHOWDOWN"], "agent", "--stdio", "--marker", NONCE]
    agent = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    calls = {}
    silent = threading.Event()

    def from_controller():
        for document in frames(sys.stdin.buffer, LOG):
            message = json.loads(document)
            if isinstance(message, dict) and "request" in message:
                request = message["request"]
                call = next(iter(request["call"]))
                calls[request["id"]] = call
                if call == "read_start":
                    if MODE == "silence":
                        silent.set()
                    elif MODE == "pongs":
                        silent.set()
                        while True:
                            say(frame('"pong"'))
                            time.sleep(0.5)
                    elif MODE == "numbers":
                        size = (64 << 20) - 200
                        numbers = b"[" + b"0," * (size // 2) + b"0]"
                        say(frame(b'{"reply":{"id":%d,"result":{"Ok":%s}}}' % (request["id"], numbers)))
            try:
                agent.stdin.write(frame(document))
                agent.stdin.flush()
            except OSError:
                return
        agent.stdin.close()

    threading.Thread(target=from_controller, daemon=True).start()
    while agent.stdout.readline() != f"showdown-{NONCE} agent\n".encode():
        pass
    say(f"\nshowdown-{NONCE} agent\n".encode())
    for document in frames(agent.stdout):
        message = json.loads(document)
        if isinstance(message, dict) and "reply" in message:
            reply = message["reply"]
            reply["result"] = lie(calls.get(reply["id"]), reply["result"])
            document = json.dumps(message)
        if MODE == "lines" and isinstance(message, dict) and "program" in message:
            channel = message["program"]["channel"]
            document = json.dumps({"program": {"channel": channel, "message": {"output": "x" * (1 << 20)}}})
            for _ in range(63):
                say(frame(document))
        if not silent.is_set():
            say(frame(document))
    if silent.is_set():
        time.sleep(600)


try:
    main()
except (BrokenPipeError, KeyboardInterrupt):
    os.kill(os.getpid(), signal.SIGKILL)
