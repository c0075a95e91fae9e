"""Native mixers: recurrent layers of a model that transformers runs, a call of the library each.

A mixer is recognised by its modules. The executor compares the model's logits with the original's.
"""

from __future__ import annotations

import torch
from torch import nn

from yaie.kernels.decoder_structures import Mixer, MixerCall
from yaie.kernels.library import Library
from yaie.kernels.recurrent_structures import Chains
from yaie.models.architecture.mixer_hook import ChainedStates, hooked_mixers, replace_mixer
from yaie.models.native.decoder_structure import NotRecognised
from yaie.models.native.packed_mixers import pack_mixer, place_states, require_few_formats
from yaie.models.native.packing import Packer
from yaie.models.native.recurrent_structure import recognise_mixer


class NativeMixer:
    """A packed mixer in a model of transformers."""

    def __init__(self, library: Library, mixer: Mixer) -> None:
        self._library = library
        self._mixer = mixer

    def compute(self, hidden: torch.Tensor, chained: ChainedStates) -> torch.Tensor:
        """Compute rows [1, rows, hidden], in their dtype; see `replace_mixer`."""
        x = hidden[0].float().contiguous()
        y = torch.empty_like(x)
        place_states(self._mixer, chained.states)
        chains = chained.chains
        call = MixerCall(
            x=x.data_ptr(),
            y=y.data_ptr(),
            num_rows=len(x),
            chains=Chains(chains.data_ptr(), len(chains), chained.num_spare),
        )
        self._library.mix(self._mixer, call)
        return y.to(hidden.dtype)[None]


def pack_mixers(model: nn.Module, library: Library, packer: Packer) -> int:
    """Have the library compute each known mixer of a model; return the number of other mixers."""
    num_other = 0
    for module in hooked_mixers(model):
        try:
            parts = recognise_mixer(module)
            require_few_formats(parts)
        except NotRecognised:
            num_other += 1
            continue
        replace_mixer(module, NativeMixer(library, pack_mixer(packer, parts)).compute)
        for name, _ in list(module.named_children()):
            delattr(module, name)
    return num_other
