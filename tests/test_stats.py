"""Statistics: each has a metric, and what the engine counts arrives at a client."""

from __future__ import annotations

from dataclasses import fields

import msgspec

from yaie.base.stats import WAIT_BOUNDS_S, EngineStats, TenantStats, WaitStats, metrics

NUMBERS = [field.name for field in fields(EngineStats) if field.name != "waits"]


def test_every_number_has_a_metric_of_its_own() -> None:
    found = metrics()
    assert [each.field for each in found] == NUMBERS
    assert len({each.name for each in found}) == len({each.description.help for each in found})
    assert len({each.series for each in found}) == len(found)
    labelled = {each.series for each in found if each.name == "yaie_engine_missed_tokens"}
    causes = ("new", "changed", "evicted")
    assert labelled == {f'yaie_engine_missed_tokens_total{{cause="{each}"}}' for each in causes}


def test_metric_names_follow_prometheus() -> None:
    names = {each.field: each.name for each in metrics()}
    assert names["num_running"] == "yaie_num_running"
    assert names["num_steps"] == "yaie_engine_steps"
    assert names["cached_tokens"] == "yaie_engine_cached_tokens"
    assert names["num_tree_decode_steps"] == "yaie_engine_tree_decode_steps"
    assert names["attention_estimate_s"] == "yaie_engine_attention_estimate_seconds"
    assert names["forward_s"] == "yaie_engine_forward_seconds"
    assert names["oldest_wait_s"] == "yaie_oldest_wait_seconds"


def test_statistics_travel_as_they_are() -> None:
    tenant = TenantStats(
        tenant="a", num_waiting=1, num_admitted=2, mean_wait_s=0.5, longest_wait_s=3.0, tokens=4
    )
    waits = WaitStats(counts=(*range(len(WAIT_BOUNDS_S) + 1),), total_s=1.5, tenants=(tenant,))
    stats = EngineStats(**{name: number for number, name in enumerate(NUMBERS)}, waits=waits)  # type: ignore[arg-type]
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(stats), type=EngineStats) == stats


def test_growth_is_that_of_every_number() -> None:
    before = EngineStats(**dict.fromkeys(NUMBERS, 1))  # type: ignore[arg-type]
    after = EngineStats(
        **{name: 1 + number for number, name in enumerate(NUMBERS)},  # type: ignore[arg-type]
        waits=WaitStats(total_s=7.0),
    )
    grown = after.since(before)
    assert [getattr(grown, name) for name in NUMBERS] == [*range(len(NUMBERS))]
    assert grown.waits == after.waits


def test_a_number_that_is_unknown_before_or_after_has_no_growth() -> None:
    before = EngineStats(device_total_bytes=8, device_used_bytes=2)
    after = EngineStats(device_used_bytes=5, device_reserved_bytes=4, num_steps=3)
    grown = after.since(before)
    assert grown == EngineStats(device_used_bytes=3, num_steps=3)
    assert "device_total_bytes" not in grown.values()
    assert grown.values()["num_steps"] == 3
