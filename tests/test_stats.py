"""Statistics: each has a metric, and what the engine counts arrives at a client."""

from __future__ import annotations

from dataclasses import fields

import msgspec

from yaie.stats import EngineStats, metrics


def test_every_statistic_has_a_metric_of_its_own() -> None:
    found = metrics()
    assert [each.field for each in found] == [field.name for field in fields(EngineStats)]
    assert len({each.name for each in found}) == len({each.description.help for each in found})
    assert len({each.name for each in found}) == len(found)


def test_metric_names_follow_prometheus() -> None:
    names = {each.field: each.name for each in metrics()}
    assert names["num_running"] == "yaie_num_running"
    assert names["num_steps"] == "yaie_engine_steps"
    assert names["cached_tokens"] == "yaie_engine_cached_tokens"
    assert names["forward_s"] == "yaie_engine_forward_seconds"


def test_statistics_travel_as_they_are() -> None:
    stats = EngineStats(**{each.name: number for number, each in enumerate(fields(EngineStats))})
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(stats), type=EngineStats) == stats
