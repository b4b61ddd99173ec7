"""What is compared beside other programs: servers with themselves, and the known server with a copy that works more."""

from __future__ import annotations

from aa.subjects import KNOWN, Subject

QUICK = ("--quick",)


def _known(percent: int, preset: tuple[str, ...]) -> Subject:
    variants = ("known", f"known:extra_work={10 * percent}")
    return Subject(f"known-{percent}%", variants, KNOWN, 1 + percent / 100, preset, f"known server, {percent} % more work a request")


SUBJECTS = [
    Subject("nginx", ("nginx", "nginx"), "static-web", 1.0, QUICK, "nginx and itself"),
    Subject("memcached", ("memcached", "memcached"), "cache", 1.0, QUICK, "memcached and itself"),
    Subject("mariadb", ("mariadb", "mariadb"), "oltp", 1.0, (*QUICK, "--on-op", "point-select"), "MariaDB and itself, point-select"),
    _known(0, QUICK),
    _known(5, QUICK),
    _known(2, ()),
    Subject("nginx-apache", ("nginx", "apache"), "static-web", 0.0, QUICK, "nginx and Apache"),
]
"""The truth of the last one is what a quiet machine says of the same measure."""
