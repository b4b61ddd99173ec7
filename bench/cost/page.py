"""The part of docs/results/cost.md that is measured: one comparison, priced from end to end."""

from __future__ import annotations

from typing import Any

from shared.markdown import facts_table, shell, table

from .pdu import BUSY_W, IDLE_W

HEAD = "## One comparison, priced from end to end"


def section(answer: dict[str, Any], settings: dict[str, object]) -> str:
    """The section of this answer of `showdown compare --format json`."""
    power, cost = answer.get("power") or {}, answer.get("cost") or {}
    sentences = [f"- {answer['sentence']}."]
    for found in [power.get("comparisons", []), cost.get("comparisons", []), cost.get("over_load", [])]:
        sentences += [f"- {one['sentence']}." for one in found]
    sentences += [f"- No watts: {lost}." for lost in power.get("lost", [])]
    notes = [f"- {note}." for note in dict.fromkeys([*power.get("notes", []), *cost.get("notes", [])])]
    return f"""{HEAD}

`make bench-cost` compares two servers on the machine at hand with a file of targets and a meter. **The meter is a stand-in and its watts are
made up**: Debian's snmpd serves the tree of an APC PDU, with {IDLE_W:.0f} W and {BUSY_W:.0f} W more at full use of the CPUs, and prices are invented. What is
shown is that the way works: SNMP, levels of load, intervals, prices. {_noise(answer, settings)}

{chr(10).join(sentences)}

{_costs(cost)}

{_levels(power)}

{chr(10).join(notes)}

{facts_table(settings)}

{shell([str(line) for line in settings["commands"]])}
"""


def _noise(answer: dict[str, Any], settings: dict[str, object]) -> str:
    valid = sum(variant["valid"] for variant in answer["variants"])
    trials = valid + sum(variant["invalid"] for variant in answer["variants"])
    return f"Load average before the run: {settings['load average']}; {valid} of {trials} trials are valid."


def _costs(cost: dict[str, Any]) -> str:
    variants = cost.get("variants", [])
    rows = [
        ["performance", *(_figure(one["performance"], f" {one['unit']}") for one in variants)],
        ["W at load", *(_power(one["power_at_load"]) for one in variants)],
        ["W idle", *(_power(one["power_idle"]) for one in variants)],
        ["operations a joule", *(_figure(one["operations_per_joule"]) for one in variants)],
        ["SWaP", *(_figure(one["swap"]) for one in variants)],
        ["total cost over the life", *(_number(one["total_cost"], " EUR") for one in variants)],
        ["cost of a million operations", *(_figure(one["cost_of_a_million"], " EUR") for one in variants)],
        ["carbon of a million operations", *(_figure(one["carbon_g_of_a_million"], " g") for one in variants)],
    ]
    return table(["", *(one["variant"] for one in variants)], rows, numbers=True)


def _levels(power: dict[str, Any]) -> str:
    rows = [
        [
            variant["variant"],
            "idle" if level["share"] == 0 else f"{level['share']:.0%}",
            _number(level["work_per_s"]),
            _figure(level["watts"]),
            "–" if level["share"] == 0 else _figure(level["operations_per_joule"]),
        ]
        for variant in power.get("variants", [])
        for level in variant["levels"]
    ]
    return table(["variant", "load", "operations/s", "W", "operations a joule"], rows, numbers=True)


def _figure(figure: dict[str, float] | None, unit: str = "") -> str:
    if figure is None:
        return "–"
    if figure["low"] is None:
        return f"{_number(figure['value'])}{unit} (no interval)"
    return f"{_number(figure['value'])}{unit} ({_number(figure['low'])}–{_number(figure['high'])})"


def _power(power: dict[str, Any] | None) -> str:
    return "–" if power is None else f"{_number(power['watts'])} {power['boundary']}{' (estimate)' if power['is_estimate'] else ''}"


def _number(value: float | None, unit: str = "") -> str:
    if value is None:
        return "–"
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{text}{unit}"
