"""Installs the .deb in bare roots of Debian, runs `doctor`, the queue and a comparison there as an ordinary user, removes it, and looks for what is left:
`make dist-try`. Needs root and debootstrap(8). How the packages are made is left to the other files of this folder.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

MIRROR = "http://deb.debian.org/debian"
USER = "tester"
SERVERS = ("memcached", "redis-server")

# What README lists under "Remove", with each place below the user's home.
LEFT = ("home/tester/runs", "home/tester/.cache/showdown", "home/tester/.local/state/showdown", "run/lock/showdown.lock", "tmp/showdown.lock")
# What dpkg and apt write themselves.
OF_DPKG = ("var/lib/dpkg/", "var/log/", "var/cache/apt/", "var/lib/apt/", "var/cache/debconf/", "etc/ld.so.cache", "var/cache/ldconfig/")

# The second program: it serves the queue until it is stopped. The queue answers when it is ready.
SERVE = """
showdown serve --listen 127.0.0.1:0 --no-controller > serve.out 2>&1 &
for _ in $(seq 100); do showdown queue > queue.out 2>&1 && break; sleep 0.1; done
kill -INT $!; wait $!; cat serve.out queue.out; rm serve.out queue.out
"""

# Begins as root in the root's own name spaces of mounts and processes: whatever it starts and mounts ends with it.
IN_ROOT = """
set -e
mount -t proc proc "$0/proc"
mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm"
mount -t devpts devpts "$0/dev/pts"
mount -t sysfs -o ro sysfs "$0/sys"
exec chroot "$0" "$@"
"""


def main() -> int:
    """Tries each suite; returns the exit code."""
    parser = argparse.ArgumentParser(prog="dist.roots", description="Try the .deb in bare roots of Debian.")
    parser.add_argument("--package", type=Path, required=True, help="the .deb, or the directory that has it")
    parser.add_argument("--scratch", type=Path, required=True, help="a directory for the roots; bare ones are kept there for the next time")
    parser.add_argument("--suite", action="append", default=[], dest="suites", help="a release of Debian (bookworm and trixie)")
    options = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("dist-try: debootstrap and root are needed: run  scripts/install-packages dist-try", file=sys.stderr)
        return 1
    package = next(options.package.glob("*.deb")) if options.package.is_dir() else options.package
    faults = []
    for suite in options.suites or ["bookworm", "trixie"]:
        found = attempt(suite, package, options.scratch.resolve())
        print(f"{suite}: {'; '.join(found) if found else 'installed, compared, removed; nothing else is left'}", flush=True)
        faults += found
    return 1 if faults else 0


def attempt(suite: str, package: Path, scratch: Path) -> list[str]:
    """What went wrong in a root of this suite."""
    root = scratch / "root"
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["cp", "--archive", bare(suite, scratch), root], check=True)
    # The services of the servers stay off, as in any build root.
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    inside(root, ["useradd", "--create-home", USER])
    inside(root, ["apt-get", "install", "--yes", "--quiet=2", "--no-install-recommends", *SERVERS])
    before = files(root)
    shutil.copy(package, root / "tmp/showdown.deb")
    inside(root, ["dpkg", "--install", "/tmp/showdown.deb"])
    (root / "tmp/showdown.deb").unlink()
    faults = tried(root)
    inside(root, ["dpkg", "--purge", "showdown"])
    faults += [f"left: {path}" for path in sorted(files(root) - before) if not path.startswith(OF_DPKG) and not is_listed(path)]
    shutil.rmtree(root)
    return faults


def bare(suite: str, scratch: Path) -> Path:
    """A root with the required packages only; made once."""
    there = scratch / f"bare-{suite}"
    if not (there / "etc/debian_version").exists():
        shutil.rmtree(there, ignore_errors=True)
        making = there.with_name(there.name + ".making")
        shutil.rmtree(making, ignore_errors=True)
        subprocess.run(["debootstrap", "--variant=minbase", suite, making, MIRROR], check=True, stdout=subprocess.DEVNULL)
        making.rename(there)
    return there


def tried(root: Path) -> list[str]:
    """What went wrong with the program as an ordinary user. That a busy machine gives no verdict is no fault; that no trial has a value is."""
    faults = []
    doctor = as_user(root, "showdown doctor")
    # 3: this host is unfit for benchmarking, which is an answer.
    if doctor.returncode not in (0, 3) or "This host is" not in doctor.stdout:
        faults.append(f"doctor: exit code {doctor.returncode}: {doctor.stderr.strip()}")
    served = as_user(root, SERVE)
    if "/link?secret=" not in served.stdout or "queue is empty" not in served.stdout:
        faults.append(f"serve: {served.stdout.strip()}")
    compared = as_user(root, "showdown compare memcached redis --quick")
    print(compared.stdout.partition("\n\n")[0], flush=True)
    verdicts = list((root / "home" / USER / "runs").glob("*/verdict.json"))
    variants = json.loads(verdicts[0].read_text())["variants"] if verdicts else []
    if compared.returncode not in (0, 3) or not variants or not all(variant["values"] for variant in variants):
        faults.append(f"compare: exit code {compared.returncode}: {compared.stderr.strip()[-500:]}")
    return faults


def as_user(root: Path, command: str) -> subprocess.CompletedProcess[str]:
    """A command of the ordinary user, in the home directory."""
    return subprocess.run(of(root, ["su", "--login", USER, "--command", command]), capture_output=True, text=True, check=False)


def inside(root: Path, command: list[str]) -> None:
    """A command as root."""
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    subprocess.run(of(root, command), check=True, env=environment, stdout=subprocess.DEVNULL)


def of(root: Path, command: list[str]) -> list[str]:
    """The command in the root."""
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", IN_ROOT, str(root), *command]


def files(root: Path) -> set[str]:
    """The paths of everything in a root, but for what the kernel mounts there."""
    found = set()
    for folder, folders, names in os.walk(root):
        here = Path(folder).relative_to(root)
        if str(here) in ("proc", "sys", "dev"):
            folders.clear()
            continue
        found.update(str(here / name) for name in (*folders, *names))
    return found


def is_listed(path: str) -> bool:
    """Whether README lists the path, or it is a folder above one that it lists, or below it."""
    return any(path == left or path.startswith(f"{left}/") or left.startswith(f"{path}/") for left in LEFT)


if __name__ == "__main__":
    sys.exit(main())
