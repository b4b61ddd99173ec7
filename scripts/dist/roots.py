"""Installs each package in bare roots of Debian with README's commands, runs `doctor`, the queue and a comparison there as an ordinary user, cleans up,
removes the package, and looks for what is left: `make dist-try`. Needs root and debootstrap(8). How the packages are made is left to the other files of
this folder.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

MIRROR = "http://deb.debian.org/debian"
USER = "tester"
SERVERS = ("memcached", "redis-server")

# What `showdown clean --yes` leaves: the runs.
LEFT = ("home/tester/runs",)
# What dpkg, apt and pip write themselves.
OF_OTHERS = ("var/lib/dpkg/", "var/log/", "var/cache/apt/", "var/lib/apt/", "var/cache/debconf/", "etc/ld.so.cache", "var/cache/ldconfig/", "home/tester/.cache/pip")
# Folders that programs of a user share; they may stay if they have no file.
SHARED = ("home/tester/.cache", "home/tester/.local")


@dataclass(frozen=True)
class Kind:
    """A kind of package, with README's commands. `{file}` is the package."""

    pattern: str
    needs: tuple[str, ...]
    """Debian packages that must be there before."""
    install: str
    remove: str
    is_for_root: bool
    """Whether root installs and removes it."""
    path: str = ""
    """What the user types before the first command."""


KINDS = {
    "deb": Kind("*.deb", (), "apt-get install --yes --quiet=2 {file}", "apt-get remove --yes --quiet=2 showdown", True),
    "wheel": Kind("*.whl", ("python3-venv",), "python3 -m venv v && v/bin/pip install {file}", "rm -r v", False, 'export PATH="$HOME/v/bin:$PATH"'),
    "tar": Kind("*.tar.gz", (), "mkdir -p ~/.local && tar xf {file} -C ~/.local --strip-components=1",
                "tar tf {file} | cut -d/ -f2- | (cd ~/.local && xargs rm -f && rm -r share/doc/showdown)", False, 'export PATH="$HOME/.local/bin:$PATH"'),
}
# The static program must run on an older system, too.
PARTS = ("bookworm-deb", "trixie-deb", "bookworm-wheel", "trixie-wheel", "bookworm-tar", "trixie-tar", "bullseye-tar")

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
    """Tries each part; returns the exit code."""
    parser = argparse.ArgumentParser(prog="dist.roots", description="Try the packages in bare roots of Debian.")
    parser.add_argument("--packages", type=Path, required=True, help="the directory that has them")
    parser.add_argument("--scratch", type=Path, required=True, help="a directory for the roots; bare ones are kept there for the next time")
    parser.add_argument("--only", choices=PARTS, action="append", default=[], help="this part only; may be repeated")
    parser.add_argument("--mirror", default=MIRROR, help=f"where the roots come from ({MIRROR}); old releases move to an archive")
    options = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("dist-try: debootstrap and root are needed: run  scripts/install-packages dist-try", file=sys.stderr)
        return 1
    faults = []
    for part in options.only or PARTS:
        suite, _, kind = part.partition("-")
        package = package_of(options.packages, KINDS[kind])
        found = attempt(bare(suite, options.scratch.resolve(), options.mirror), KINDS[kind], package)
        print(f"{part}: {'; '.join(found) if found else 'installed, compared, removed; nothing but the runs is left'}", flush=True)
        faults += found
    return 1 if faults else 0


def package_of(packages: Path, kind: Kind) -> Path:
    """The only package of this kind for this machine."""
    suits = ("x86_64", "amd64") if platform.machine() == "x86_64" else ("aarch64", "arm64")
    found = [package for package in packages.glob(kind.pattern) if any(name in package.name for name in suits)]
    if len(found) != 1:
        sys.exit(f"dist-try: {packages} has {len(found)} packages {kind.pattern} for this machine: run  make dist  in an empty target/dist")
    return found[0]


def attempt(bare_root: Path, kind: Kind, package: Path) -> list[str]:
    """What went wrong with a package in a copy of this root."""
    root = bare_root.with_name("root")
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["cp", "--archive", bare_root, root], check=True)
    # The services of the servers stay off, as in any build root.
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    inside(root, ["useradd", "--create-home", "--shell", "/bin/bash", USER])
    inside(root, ["apt-get", "install", "--yes", "--quiet=2", "--no-install-recommends", *SERVERS, *kind.needs])
    before = files(root)
    shutil.copy(package, root / "tmp" / package.name)
    faults = [*changed(root, kind, kind.install, package), *tried(root, kind.path)]
    faults += [*changed(root, kind, kind.remove, package)]
    (root / "tmp" / package.name).unlink()
    faults += left(root, before)
    shutil.rmtree(root)
    return faults


def changed(root: Path, kind: Kind, command: str, package: Path) -> list[str]:
    """What went wrong with the command that installs or removes the package."""
    command = command.format(file=f"/tmp/{package.name}")
    who = "root" if kind.is_for_root else USER
    done = as_user(root, command, who)
    return [] if done.returncode == 0 else [f"{command}: exit code {done.returncode}: {done.stderr.strip()[-500:]}"]


def left(root: Path, before: set[str]) -> list[str]:
    """What is there and was not, and is neither a run nor of dpkg, apt and pip."""
    new = {path for path in files(root) - before if not path.startswith(OF_OTHERS) and not is_listed(path)}
    shared = {path for path in new if path.startswith(SHARED) and "showdown" not in path and not has_file(root / path)}
    return [f"left: {path}" for path in sorted(new - shared)]


def has_file(path: Path) -> bool:
    """Whether it is a file, or a folder with one of showdown's or nobody's below it."""
    return not path.is_dir() or any(not below.is_dir() for below in path.rglob("*") if "pip" not in below.parts)


def bare(suite: str, scratch: Path, mirror: str) -> Path:
    """A root with the required packages only; made once."""
    there = scratch / f"bare-{suite}"
    if not (there / "etc/debian_version").exists():
        shutil.rmtree(there, ignore_errors=True)
        making = there.with_name(there.name + ".making")
        shutil.rmtree(making, ignore_errors=True)
        subprocess.run(["debootstrap", "--variant=minbase", suite, making, mirror], check=True, stdout=subprocess.DEVNULL)
        making.rename(there)
    return there


def tried(root: Path, path: str) -> list[str]:
    """What went wrong with the program as an ordinary user. That a busy machine gives no verdict is no fault; that no trial has a value is."""
    faults = []
    if not any(page.endswith("share/doc/showdown/docs/TROUBLESHOOTING.md") for page in files(root)):
        faults.append("docs/TROUBLESHOOTING.md is missing, which messages name")
    before = f"{path}\n" if path else ""
    doctor = as_user(root, f"{before}showdown doctor")
    # 3: this host is unfit for benchmarking, which is an answer.
    if doctor.returncode not in (0, 3) or "This host is" not in doctor.stdout:
        faults.append(f"doctor: exit code {doctor.returncode}: {doctor.stderr.strip()}")
    served = as_user(root, before + SERVE)
    if "/link?secret=" not in served.stdout or "queue is empty" not in served.stdout:
        faults.append(f"serve: {served.stdout.strip()}")
    compared = as_user(root, f"{before}showdown compare memcached redis --quick")
    print(compared.stdout.partition("\n\n")[0], flush=True)
    verdicts = list((root / "home" / USER / "runs").glob("*/verdict.json"))
    variants = json.loads(verdicts[0].read_text())["variants"] if verdicts else []
    if compared.returncode not in (0, 3) or not variants or not all(variant["values"] for variant in variants):
        faults.append(f"compare: exit code {compared.returncode}: {compared.stderr.strip()[-500:]}")
    cleaned = as_user(root, f"{before}showdown clean --yes")
    if cleaned.returncode != 0:
        faults.append(f"clean: exit code {cleaned.returncode}: {cleaned.stderr.strip()}")
    return faults


def as_user(root: Path, command: str, user: str = USER) -> subprocess.CompletedProcess[str]:
    """A command of a user, in the home directory."""
    return subprocess.run(of(root, ["su", "--login", user, "--command", command]), capture_output=True, text=True, check=False)


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
    """Whether the path may be left, or it is a folder above one that may, or below it."""
    return any(path == left or path.startswith(f"{left}/") or left.startswith(f"{path}/") for left in LEFT)


if __name__ == "__main__":
    sys.exit(main())
