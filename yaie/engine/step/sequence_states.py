"""Sequence states: the recurrent layers' states of running sequences, and where steps leave more.

A running sequence holds a state at a position of its path; its next rows start there. Tokens behind
the deepest state are computed again, cached or not. A step leaves states where later prompts may
part (`state_places.py`). Used by the scheduler; pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as SequenceOf
from typing import NamedTuple

from yaie.attention.plan import RowSelection, StepPlan
from yaie.attention.state_chains import StateChain
from yaie.base.errors import InvariantViolated
from yaie.engine.request import PooledPass, PromptPass, Sequence
from yaie.engine.step.state_places import find_borders, find_places
from yaie.kvcache.node import Node
from yaie.kvcache.node_states import NO_STATE, NodeStates
from yaie.kvcache.radix_tree import RadixTree

_Place = tuple[Node, int]  # the state after the first tokens of a node


class _Held(NamedTuple):
    position: int  # tokens before the state
    slot: int


class SequenceStates:
    """The states of running sequences. A slot is written only while one step alone holds it."""

    def __init__(self, tree: RadixTree, nodes: NodeStates, turn_ends: SequenceOf[int] = ()) -> None:
        """`turn_ends`: tokens that end a message."""
        self._tree = tree
        self._turn_ends = turn_ends
        self.nodes = nodes
        self._held: dict[Sequence, _Held] = {}
        self._reached: dict[Sequence, tuple[int, int]] = {}  # rows' first and end position
        self._pending: dict[Sequence, _Held] = {}  # once the step has succeeded
        # Likewise: with their slots, and True at intervals alone.
        self._checkpoints: list[tuple[_Place, int, bool]] = []

    # -- a step's rows --------------------------------------------------------------------------

    def add_rows(self, selection: RowSelection, sequence: Sequence) -> bool:
        """Select a sequence's next rows; True if the step yields its next logits."""
        cursor = sequence.cursor
        assert cursor is not None
        first = self.find_start(sequence)
        end = selection.add_from(cursor, self._tree.path(cursor), first)
        self.note_rows(sequence, first, end)
        return end == cursor.position

    def count_rows(self, sequence: Sequence) -> int:
        """Count the rows from a sequence's state to its next token."""
        assert sequence.cursor is not None
        held = self._held.get(sequence)
        return sequence.cursor.position - (held.position if held is not None else 0)

    def find_start(self, sequence: Sequence) -> int:
        """Return the position of the state from which a sequence's next rows are computed.

        A sequence that is more than a token behind takes a deeper state if there is one.
        """
        cursor = sequence.cursor
        assert cursor is not None
        held = self._held.get(sequence)
        limit = cursor.position - 1
        if isinstance(sequence, PromptPass | PooledPass):
            limit = min(limit, sequence.next_output)
        if held is None or held.position < limit:
            position, slot = self._find(sequence, limit)
            if held is None or position > held.position:
                self.nodes.hold(slot)
                self.nodes.note_use(slot)
                if held is not None:
                    self.nodes.release(held.slot)
                held = self._held[sequence] = _Held(position, slot)
        return held.position

    def note_rows(self, sequence: Sequence, first: int, end: int) -> None:
        """Note the positions of a sequence's rows in this step."""
        if end > first:
            self._reached[sequence] = (first, end)

    def _find(self, sequence: Sequence, limit: int) -> tuple[int, int]:
        """Return position and slot of the deepest state on a sequence's path."""
        cursor = sequence.cursor
        assert cursor is not None
        found = self.nodes.find(cursor.node, cursor.offset, limit)
        path = set(self._tree.path(cursor))
        for other, (position, slot) in self._held.items():
            if found[0] < position <= limit and other.cursor is not None:
                node = other.cursor.node
                while node is not None and node.start >= position:
                    node = node.parent
                if node in path:
                    found = position, slot
        return found

    # -- a step's chains ------------------------------------------------------------------------

    def lay_out(self, selection: RowSelection, plan: StepPlan) -> list[StateChain]:
        """Return the chains of a step's rows, and take the slots for their end states."""
        starts: dict[_Place, int] = {}  # by first row
        ends: dict[_Place, list[Sequence]] = {}
        wanted: dict[_Place, bool] = {}
        for sequence, (first, end) in self._reached.items():
            assert sequence.cursor is not None
            path = self._tree.path(sequence.cursor)
            starts.setdefault(_row_at(path, first), self._held[sequence].slot)
            ends.setdefault(_place_at(path, end), []).append(sequence)
            for place, is_spaced in self._wanted(sequence, path, first, end):
                wanted[place] = wanted.get(place, True) and is_spaced
        chains, chain_at = _cut(selection, plan, {*ends, *wanted}, starts)
        targets = self._take_slots(ends, wanted)
        for place, slot in targets.items():
            index = chain_at[place]
            chains[index] = chains[index]._replace(target=slot)
        return chains

    def _wanted(
        self, sequence: Sequence, path: list[Node], first: int, end: int
    ) -> Iterator[tuple[_Place, bool]]:
        """Yield the places of a sequence's rows that get a checkpoint, and True at intervals."""
        request = sequence.request
        if request.borders is None:
            request.borders = find_borders(request.prompt, self._turn_ends)
        above = 0
        if first:
            above, _ = self.nodes.find(*_place_at(path, first), first)
        found = find_places(
            path,
            first,
            end,
            above=above,
            num_prompt=len(request.prompt),
            borders=request.borders,
        )
        for is_spaced, positions in enumerate(found):
            for position in positions:
                place = _place_at(path, position)
                if not self.nodes.has(*place):
                    yield place, bool(is_spaced)
                elif not is_spaced:
                    self.nodes.note_want(*place)

    def _take_slots(
        self, ends: dict[_Place, list[Sequence]], wanted: dict[_Place, bool]
    ) -> dict[_Place, int]:
        """Return the slots for end states.

        A slot that the rows' sequences held alone is free at once: each layer writes its states
        after it has read all.
        """
        for sequence in self._reached:
            self.nodes.release(self._held.pop(sequence).slot)
        targets: dict[_Place, int] = {}
        # The slot that was freed last is taken first, so most states are replaced in place.
        for place, sequences in reversed(ends.items()):
            slot = self.nodes.take()
            if slot == NO_STATE:
                raise InvariantViolated("more sequences run than there are state slots")
            targets[place] = slot
            node, offset = place
            for index, sequence in enumerate(sequences):
                if index:
                    self.nodes.hold(slot)
                self._pending[sequence] = _Held(node.start + offset, slot)
        for place, is_spaced in wanted.items():
            if place in targets:
                self.nodes.hold(targets[place])
            elif (slot := self.nodes.take()) != NO_STATE:
                targets[place] = slot
            else:
                continue
            self._checkpoints.append((place, targets[place], is_spaced))
        return targets

    def apply(self) -> None:
        """Take over the states that a successful step has left."""
        self._held.update(self._pending)
        for (node, offset), slot, is_spaced in self._checkpoints:
            self.nodes.keep(node, offset, slot, is_spaced=is_spaced)
        self._forget_step()

    def discard(self) -> None:
        """Give up the states of a failed step; its sequences resume from checkpoints."""
        for held in self._pending.values():
            self.nodes.release(held.slot)
        for _, slot, _ in self._checkpoints:
            self.nodes.release(slot)
        self._forget_step()

    def _forget_step(self) -> None:
        self._pending.clear()
        self._checkpoints.clear()
        self._reached.clear()

    # -- ends -----------------------------------------------------------------------------------

    def leave(self, sequence: Sequence) -> None:
        """Keep the state of a sequence that is about to lose its cursor as a checkpoint."""
        held = self._held.pop(sequence, None)
        if held is None or held.slot == NO_STATE:
            return
        assert sequence.cursor is not None
        place = _place_at(self._tree.path(sequence.cursor), held.position)
        if held.slot in self.nodes:
            self.nodes.release(held.slot)
            self.nodes.note_want(*place)
        else:
            self.nodes.keep(*place, held.slot)

    def drop(self, sequence: Sequence) -> None:
        """Give up the state of a sequence, and the checkpoints on its path: one is not valid."""
        held = self._held.pop(sequence, None)
        if held is not None:
            self.nodes.release(held.slot)
        if sequence.cursor is not None:
            self.nodes.drop_path(sequence.cursor.node)


def _place_at(path: list[Node], position: int) -> _Place:
    """Return the place of the state after a path's first `position` tokens; it is not at a root."""
    for node in reversed(path):
        if node.start < position:
            return node, position - node.start
    raise InvariantViolated(f"position {position} has no place on its path")


def _row_at(path: list[Node], position: int) -> _Place:
    """Return node and offset of the token at a position."""
    node, offset = _place_at(path, position + 1)
    return node, offset - 1


def _cut(
    selection: RowSelection,
    plan: StepPlan,
    cuts: set[_Place],
    starts: dict[_Place, int],
) -> tuple[list[StateChain], dict[_Place, int]]:
    """Return the chains of the selected rows, and the index of the chain that ends at each place.

    A chain ends at cuts and at the ends of nodes. A row continues after the row of the token before
    if there is one, and from the state in `starts` otherwise.
    """
    row_of = {slot: row for row, slot in enumerate(plan.slots.tolist())}
    pieces: list[tuple[int, int, Node, int]] = []  # first and end row, node, first offset
    for node, entry in selection.entries.items():
        cached = node.num_computed
        again = sorted(each for each in entry.outputs if each < cached)
        offsets = [*again, *range(cached, entry.computed_to)]
        slots = node.slots()
        first = 0
        for index in range(1, len(offsets) + 1):
            offset = offsets[index - 1] + 1
            if index < len(offsets) and offsets[index] == offset and (node, offset) not in cuts:
                continue
            row = row_of[int(slots[offsets[first]])]
            pieces.append((row, row + index - first, node, offsets[first]))
            first = index
    pieces.sort(key=lambda piece: piece[0])
    chains: list[StateChain] = []
    chain_at: dict[_Place, int] = {}
    for row, end_row, node, offset in pieces:
        parent, source = NO_STATE, NO_STATE
        if offset:
            parent = chain_at.get((node, offset), -1)
        elif node.parent is not None:
            parent = chain_at.get((node.parent, len(node.parent.tokens)), -1)
        if parent < 0 and node.start + offset:
            found = starts.get((node, offset))
            if found is None or found == NO_STATE:
                raise InvariantViolated(f"the row at {node.start + offset} has no state before it")
            source = found
        chain_at[(node, offset + end_row - row)] = len(chains)
        chains.append(StateChain(row, end_row, parent, source))
    return chains, chain_at
