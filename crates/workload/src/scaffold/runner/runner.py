"""The example runner of the workload my-service: it computes hashes. Replace `operation` with your own work.

docs/BYOD.md documents the lines that a runner reads from standard input and prints on standard output.
"""

import argparse
import hashlib
import json
import random
import select
import sys
import time
from collections import Counter

parser = argparse.ArgumentParser()
parser.add_argument("--algorithm", required=True)
parser.add_argument("--bytes", type=int, required=True)
options = parser.parse_args()

data = random.randbytes(options.bytes)


def operation(name):
    hashlib.new(options.algorithm, data[:64] if name == "short" else data).digest()


def send(line):
    print(json.dumps(line), flush=True)


def stop_requested():
    return select.select([sys.stdin], [], [], 0)[0]


def send_interval(index, counts):
    operations = {name: {"values_us": sorted(values.items())} for name, values in counts.items()}
    send({"interval": index, "operations": operations})


def run(interval_s, rng, names, weights):
    """Runs operations until the stop line, and prints the times of each interval."""
    begin, index, counts = time.monotonic(), 0, {}
    while not stop_requested():
        name = rng.choices(names, weights)[0]
        started = time.perf_counter_ns()
        operation(name)
        took_us = round((time.perf_counter_ns() - started) / 1000)
        now = int((time.monotonic() - begin) / interval_s)
        if now > index:
            send_interval(index, counts)
            index, counts = now, {}
        counts.setdefault(name, Counter())[took_us] += 1
    send_interval(index, counts)
    send({"stopped": time.monotonic() - begin})


operation("long")  # a mistake ends the program here, with its message in the log
send({"runner": 1})  # ready
while line := sys.stdin.readline():
    word, *arguments = line.split()
    if word == "start":  # start INTERVAL_MS SEED NAME=WEIGHT ...
        mix = [pair.split("=") for pair in arguments[2:]]
        names, weights = [name for name, _ in mix], [float(weight) for _, weight in mix]
        run(int(arguments[0]) / 1000, random.Random(int(arguments[1])), names, weights)
