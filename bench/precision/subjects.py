"""The comparisons of the series, which are some of bench-aa's, and the bar of each."""

from aa import subjects

BARS = {
    "nginx-closed": 0.2,
    "memcached-closed": 0.2,
    "mariadb-closed": 0.2,
    "nginx-capacity": 0.5,
    "memcached-capacity": 0.5,
}
"""The largest half-width at equal time, as a share of the earlier release's."""

SUBJECTS = [subject for subject in subjects.SUBJECTS if subject.name in BARS]
