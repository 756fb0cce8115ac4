"""What a trial trains: a small transformer with random weights, or the user's own model, on synthetic tokens.

torch is imported inside the functions.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

VOCABULARY: Final = 128
WIDTH: Final = 64
HEADS: Final = 4
LAYERS: Final = 2
LENGTH: Final = 32
# A larger micro batch tells the engine nothing more; it counts batches, not rows.
MOST_ROWS: Final = 8


class NoModel(Exception):
    """The model that --model names can't be had; the message is one sentence."""


class Subject(NamedTuple):
    """A model, and what makes a micro batch of so many rows for it: the arguments of its forward, by name."""

    model: Any
    batch: Callable[[int], Any]


def subject(name: str, folders: Sequence[str], framework: str) -> Subject:
    """The model by its name, "tiny" or MODULE:FACTORY.

    FACTORY is called without arguments and gives a torch module, or a module and a function from a number of rows to the
    arguments of its forward (a dict or a tuple). Its forward gives the loss: alone, as `.loss`, under "loss" or first in
    a tuple. A module alone is given `input_ids` and `labels`.

    Raises:
        NoModel: there is no such factory, or it gives something else.
    """
    if name == "tiny":
        return Subject(tiny_llama() if framework == "transformers" else tiny_transformer(), tokens)
    module_name, _, factory_name = name.partition(":")
    if not factory_name:
        raise NoModel(f"--model {name} is neither tiny nor MODULE:FACTORY")
    sys.path[:0] = [folder for folder in folders if folder not in sys.path]
    try:
        factory = getattr(importlib.import_module(module_name), factory_name)
        made = factory()
    except Exception as error:
        raise NoModel(f"--model {name} gives no model: {type(error).__name__}: {error}") from error
    return checked(name, made)


def checked(name: str, made: Any) -> Subject:
    import torch

    model, batch = made if isinstance(made, tuple) and len(made) == 2 else (made, tokens)
    if not isinstance(model, torch.nn.Module) or not callable(batch):
        raise NoModel(
            f"--model {name} gives {type(made).__name__}, not a torch module (and a function for its batches)"
        )
    return Subject(model, batch)


def tokens(rows: int) -> dict[str, Any]:
    """Counting in steps of three from random starts: a model soon knows which token comes next."""
    import torch

    starts = torch.randint(0, VOCABULARY, (rows, 1))
    ids = (starts + 3 * torch.arange(LENGTH)) % VOCABULARY
    return {"input_ids": ids, "labels": ids}


def tiny_llama() -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=WIDTH,
            intermediate_size=2 * WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=HEADS,
            max_position_embeddings=LENGTH,
            use_cache=False,
        )
    )


def tiny_transformer() -> Any:
    """A decoder of two layers that gives its loss; written out, so that plain torch is all that it needs."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Layer(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.before_attention, self.before_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.attention, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, hidden: Any) -> Any:
            rows, length, _ = hidden.shape
            parts = self.attention(self.before_attention(hidden)).chunk(3, dim=-1)
            heads = [part.view(rows, length, HEADS, -1).transpose(1, 2) for part in parts]
            seen = functional.scaled_dot_product_attention(*heads, is_causal=True)
            hidden = hidden + self.out(seen.transpose(1, 2).reshape(rows, length, WIDTH))
            return hidden + self.down(functional.gelu(self.up(self.before_mlp(hidden))))

    class Transformer(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
            self.last, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

        # Some settings make the engine pass more: the share of layers to keep, the length of a curriculum.
        def forward(self, input_ids: Any, labels: Any, **_: Any) -> Any:
            places = torch.arange(input_ids.shape[1], device=input_ids.device)
            hidden = self.tokens(input_ids) + self.places(places)
            for layer in self.layers:
                hidden = layer(hidden)
            guesses = self.head(self.last(hidden))[:, :-1].float()
            return functional.cross_entropy(guesses.flatten(0, 1), labels[:, 1:].flatten())

    return Transformer()


def loss_of(output: Any) -> Any:
    """The loss in what a model gives.

    Raises:
        NoModel: there is none in it.
    """
    import torch

    if isinstance(output, dict):
        output = output.get("loss")
    output = getattr(output, "loss", output)
    if isinstance(output, tuple | list) and output:
        output = output[0]
    if not isinstance(output, torch.Tensor) or output.numel() != 1:
        raise NoModel(
            'the model\'s forward gives no loss: a scalar tensor, alone, as .loss, under "loss" or first'
        )
    return output


def moved(batch: Any, device: Any, kind: Any) -> Any:
    """A batch on a device, its floating-point tensors in a dtype."""
    import torch

    if isinstance(batch, torch.Tensor):
        return batch.to(device, kind) if batch.is_floating_point() else batch.to(device)
    if isinstance(batch, dict):
        return {name: moved(part, device, kind) for name, part in batch.items()}
    if isinstance(batch, tuple | list):
        return type(batch)(moved(part, device, kind) for part in batch)
    return batch
