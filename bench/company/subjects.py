"""What is compared beside other programs: servers with themselves, and the known server with a copy that works more."""

from __future__ import annotations

from aa.subjects import KNOWN, Subject
from workloads.lines import LINES

QUICK = ("--quick",)
UNKNOWN = 0.0
"""The truth of servers that differ by nobody knows how much."""


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
    Subject("nginx-apache", ("nginx", "apache"), "static-web", UNKNOWN, QUICK, "nginx and Apache"),
    Subject(
        "nginx-apache-cpu", ("nginx", "apache"), "static-web", UNKNOWN, (*QUICK, "--measure", "cpu", "--rate", "4k"),
        "nginx and Apache, CPU time an operation at one rate",
    ),
]
"""The truth of the last two is what a quiet machine says of the same measure."""

README_KIND = "compile"
"""The company of README's lines, as the bar of `quick comparisons answered` has it."""


def _of_readme() -> list[Subject]:
    """README's comparisons of two variants, with its own options. What a sweep says is no verdict on one pair."""
    subjects = []
    for line in LINES:
        verb, *words = line.arguments.split()
        variants = tuple(word for word in words[:2] if not word.startswith("-"))
        options = words[len(variants) :]
        is_of_two = verb == "compare" and len(variants) == 2 and (not options or options[0].startswith("-"))
        if is_of_two:
            named = [word for word in options if word not in ("-w", line.workload)]
            subjects.append(Subject(f"readme-{line.name}", variants, line.workload, UNKNOWN, (*QUICK, *named), f"`{line.arguments}`"))
    return subjects


README = _of_readme()
