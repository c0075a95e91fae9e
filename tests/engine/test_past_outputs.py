"""Drafts from past outputs: true continuations of answers in the same namespace, and no others."""

from __future__ import annotations

import random

import numpy as np

from tests.engine.fake_model import Bench
from yaie.engine.drafts.past_outputs import LEAST_MATCH, NUM_TOKENS, OutputRing, PastOutputs
from yaie.engine.drafts.token_search import LONGEST_MATCH
from yaie.engine.request import Sequence, SequenceState
from yaie.kvcache.node import as_tokens

ANSWER = [*range(100, 130)]


def make_sequence(prompt: list[int], output: list[int], namespace: str = "") -> Sequence:
    bench = Bench()
    bench.add("r", prompt, max_new=200, namespace=namespace)
    (sequence,) = bench.sequences["r"]
    sequence.output.extend(output)
    return sequence


def end(drafter: PastOutputs, sequence: Sequence) -> None:
    drafter.propose(sequence, 1)
    sequence.become(SequenceState.RUNNING)
    sequence.become(SequenceState.FINISHED)
    drafter.keep_only(())


def test_an_answer_is_guessed_from_an_earlier_one() -> None:
    drafter = PastOutputs()
    end(drafter, make_sequence([1, 2, 3, 4, 5], ANSWER))
    later = make_sequence([9, 8, 3, 4, 5], ANSWER[:1])
    guess = drafter.propose(later, 16)
    assert guess is not None
    assert guess.match_length == 4  # with the end of the prompt
    assert guess.token_ids == (101, 102, 103, 104)
    later.output.extend([101, 102, 103, 104])
    guess = drafter.propose(later, 16)
    assert guess is not None
    assert guess.token_ids == (105, 106, 107, 108, 109, 110, 111, 112)
    later.output.append(7)
    assert drafter.propose(later, 16) is None
    later.output.extend(ANSWER[10:14])
    guess = drafter.propose(later, 2)
    assert guess is not None
    assert guess.token_ids == (114, 115)


def test_another_namespace_sees_nothing_of_it() -> None:
    drafter = PastOutputs()
    end(drafter, make_sequence([1, 2, 3, 4, 5], ANSWER, namespace="one"))
    assert drafter.propose(make_sequence([1, 2, 3, 4, 5], ANSWER[:9], "other"), 16) is None
    assert drafter.propose(make_sequence([1, 2, 3, 4, 5], ANSWER[:9], "one"), 16) is not None


def test_a_flush_forgets_every_answer() -> None:
    drafter = PastOutputs()
    end(drafter, make_sequence([1, 2, 3, 4, 5], ANSWER))
    later = make_sequence([1, 2, 3, 4, 5], ANSWER[:9])
    assert drafter.propose(later, 16) is not None
    drafter.forget_all()
    assert drafter.propose(later, 16) is None


def test_only_answers_that_ended_are_kept() -> None:
    drafter = PastOutputs()
    preempted = make_sequence([1, 2, 3, 4, 5], ANSWER)
    drafter.propose(preempted, 1)
    drafter.keep_only(())
    assert drafter.propose(make_sequence([1, 2, 3, 4, 5], ANSWER[:9]), 16) is None


def test_guesses_are_true_continuations_however_the_ring_turns() -> None:
    rng = random.Random(1)
    ring = OutputRing(200)
    answers: list[tuple[str, list[int]]] = []
    num_found = num_wanted = 0
    for number in range(400):
        namespace = rng.choice("ab")
        tokens = [rng.randrange(4) for _ in range(rng.choice([3, 20, 60]))]
        answers.append((namespace, tokens))
        ring.add(namespace, as_tokens(tokens))
        assert len(ring) <= 200 // (LEAST_MATCH + 1)
        asked = rng.choice("ab")
        text = as_tokens(rng.choice(answers[-3:])[1][-20:-2])[-LONGEST_MATCH:]
        if len(text) < LEAST_MATCH:
            continue
        place = ring.find(asked, text[-LEAST_MATCH:].tolist())
        length = ring.match_at(place, asked, text)
        if number < 3 or not length:
            continue
        found = ring.read(place, 5)
        run = [*text[len(text) - length :].tolist(), *found]
        assert any(
            run == kept[start : start + len(run)]
            for name, kept in answers
            if name == asked
            for start in range(len(kept))
        )
        num_found += 1
        num_wanted += bool(found)
    assert num_found > 50
    assert num_wanted > 50


def test_the_ring_has_a_bound_and_keeps_the_end_of_a_longer_answer() -> None:
    ring = OutputRing(64)
    tokens = np.arange(1, 100, dtype=np.int32)
    ring.add("", tokens)
    assert len(ring) == 1
    place = ring.find("", tokens[66:70].tolist())
    assert ring.match_at(place, "", tokens[60:70]) == 10
    assert ring.read(place, 3) == (71, 72, 73)
    assert not ring.match_at(ring.find("", tokens[16:20].tolist()), "", tokens[10:20])
    assert sum(each.nbytes for each in vars(OutputRing()).values() if hasattr(each, "nbytes")) == (
        16 * NUM_TOKENS
    )
