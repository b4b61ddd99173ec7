"""The comparisons of the series, which are some of bench-aa's, and the bar of each."""

from dataclasses import replace

from aa import subjects

BARS = {
    "nginx-closed": 0.2,
    "memcached-closed": 0.2,
    "mariadb-closed": 0.2,
    "nginx-capacity": 0.5,
    "memcached-capacity": 0.5,
}
"""The largest half-width at equal time, as a share of the earlier release's."""


def _with_its_measure(subject: subjects.Subject) -> subjects.Subject:
    # Else this release measures CPU time where the client would be the limit, and the earlier one capacity.
    named = ("--measure", "capacity") if subject.name.endswith("-capacity") else ()
    return replace(subject, options=(*subject.options, *named))


SUBJECTS = [_with_its_measure(subject) for subject in subjects.SUBJECTS if subject.name in BARS]
