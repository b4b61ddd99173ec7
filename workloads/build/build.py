"""The runner of Showdown's workload "build": an operation is one build from an empty directory. See docs/BYOD.md."""

import argparse
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time

# The interval at which it checks for the stop line while compilers run.
POLL_S = 0.02


def send(line):
    print(json.dumps(line), flush=True)


def stop_requested():
    return bool(select.select([sys.stdin], [], [], 0)[0])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True)
    parser.add_argument("--into", required=True)
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--parts", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--flags", required=True)
    return parser.parse_args()


class Build:
    def __init__(self, args):
        self.into, self.source = args.into, args.source
        makefile = os.path.join(os.path.dirname(os.path.abspath(__file__)), "build.mk")
        self.command = ["make", "--silent", f"--file={makefile}", f"--jobs={args.jobs}", args.parts]
        # Not as make variables: make evaluates what is in them.
        self.environment = {**os.environ, "SHOWDOWN_CXX": args.compiler, "SHOWDOWN_CXXFLAGS": args.flags,
                            # A cache of objects would be measured, and no compiler.
                            "CCACHE_DISABLE": "1"}

    def clean(self):
        shutil.rmtree(self.into, ignore_errors=True)
        os.makedirs(self.into)
        os.symlink(self.source, os.path.join(self.into, "source"))

    def run(self):
        """Returns the exit code, or None after the stop line."""
        make = subprocess.Popen(self.command, cwd=self.into, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=sys.stderr, process_group=0)
        while True:
            try:
                return make.wait(POLL_S)
            except subprocess.TimeoutExpired:
                if stop_requested():
                    return end(make)
            except SystemExit:
                end(make)
                raise


def end(make):
    os.killpg(make.pid, signal.SIGTERM)
    make.wait()


def run(build, interval_s):
    begin, index = time.monotonic(), -1
    while not stop_requested():
        build.clean()
        sent = time.monotonic()
        code = build.run()
        if code is None:
            break
        ended = time.monotonic()
        index = max(index + 1, int((ended - begin) / interval_s))
        took_us = round((ended - sent) * 1e6)
        outcome = {"errors": {f"make ended with {code}": 1}} if code else {"values_us": [[took_us, 1]]}
        send({"interval": index, "operations": {"build": outcome}})
    send({"stopped": time.monotonic() - begin})


def strange_name(source):
    """The name of a source file that make or its shell would evaluate; None if there is none."""
    for part in ["googletest/src", "googlemock/src", "googletest/samples"]:
        folder = os.path.join(source, part)
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if name.endswith(".cc") and not re.fullmatch("[A-Za-z0-9_][A-Za-z0-9._-]*", name):
                return os.path.join(folder, name)
    return None


def main():
    args = arguments()
    if not os.path.isdir(args.source):
        sys.exit(f"there is no source in {args.source}: apt install googletest")
    if strange := strange_name(args.source):
        sys.exit(f"the name of {strange!r} has characters that a shell evaluates: rename it")
    for program in ["make", args.compiler]:
        if not shutil.which(program):
            sys.exit(f"there is no program {program}: apt install build-essential, or name another compiler")
    build = Build(args)
    # As at the end of the input: what is built is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        build.clean()
        send({"runner": 1})
        while line := sys.stdin.readline():
            words = line.split()
            if words[0] == "start":
                run(build, int(words[1]) / 1000)
    finally:
        shutil.rmtree(build.into, ignore_errors=True)


if __name__ == "__main__":
    main()
