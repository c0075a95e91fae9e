"""What the scheduler asks about one sequence and its path. Pure look-ups that change nothing."""

from __future__ import annotations

from yaie.engine.request import Sequence
from yaie.engine.step import PromptLogits
from yaie.kvcache.node import Node
from yaie.kvcache.radix_tree import RadixTree


def pending_rows(sequence: Sequence) -> int:
    """Rows until the sequence's next token, as if nobody shared them."""
    assert sequence.cursor is not None
    pending, node, end = 0, sequence.cursor.node, sequence.cursor.offset
    while node is not None and node.num_computed < end:
        pending += end - node.num_computed
        node = node.parent
        end = len(node.tokens) if node else 0
    scores = pending_scores(sequence)  # these have a row each, held or not
    return max(pending, scores + 1)


def pending_scores(sequence: Sequence) -> int:
    """Rows that only give log-probabilities of the prompt; how many fit a step is limited."""
    if not wants_prompt_logits(sequence):
        return 0
    request = sequence.request
    return len(request.prompt) - 1 - len(request.prompt_logprobs or ())


def own_tokens(sequence: Sequence) -> int:
    """Tokens that nobody else needs: they come free, and may have to be computed again."""
    assert sequence.cursor is not None
    own, node = 0, sequence.cursor.node
    while node is not None and node.refs == 1:
        own += len(node.tokens)
        node = node.parent
    return own


def wants_prompt_logits(sequence: Sequence) -> bool:
    """Whether rows of the prompt are still wanted for their log-probabilities."""
    wanted = sequence.request.prompt_logprobs is not None
    return wanted and sequence.index == 0 and not sequence.is_decoding


def place(sequence: Sequence) -> tuple[Node, int]:
    """The node and the token of it behind which the sequence stands."""
    assert sequence.cursor is not None
    assert sequence.cursor.node is not None
    return sequence.cursor.node, sequence.cursor.offset - 1


def prompt_logits(
    tree: RadixTree, index: dict[tuple[Node, int], int], sequence: Sequence, first: int, end: int
) -> PromptLogits:
    """Which rows of the logits belong to positions `first` to `end` of the sequence's prompt."""
    assert sequence.cursor is not None
    rows: list[int] = []
    for node in tree.path(sequence.cursor):
        start, stop = max(first, node.start), min(end, node.end)
        rows.extend(index[(node, position - node.start)] for position in range(start, stop))
    return PromptLogits(sequence, first, tuple(rows))
