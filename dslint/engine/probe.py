"""Counts, over every gradient of a backward pass, the elements that are 0 and those that are infinite or NaN.

Hooks see a gradient as autograd made it, in the model's own number format and under the loss scale, before DeepSpeed reduces,
unscales and clears it.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Shares(NamedTuple):
    """Shares of all elements, 0 to 1; None where no gradient was seen."""

    zeros: float | None
    infinite: float | None


class Probe:
    """Hooks on the parameters of a model. Embeddings are left out: rows of tokens that did not come up are 0 by right."""

    def __init__(self, model: Any) -> None:
        import torch

        self.dtype: str | None = None
        self._counts: list[Any] = []
        self._elements = 0
        for module in model.modules():
            if not isinstance(module, torch.nn.Embedding):
                for parameter in module.parameters(recurse=False):
                    if parameter.requires_grad:
                        parameter.register_hook(self._see)

    def _see(self, gradient: Any) -> None:
        import torch

        self.dtype = str(gradient.dtype).removeprefix("torch.")
        whole = torch.isfinite(gradient).sum()
        self._counts.append(torch.stack(((gradient == 0).sum(), gradient.numel() - whole)))
        self._elements += gradient.numel()

    def take(self) -> Shares:
        """The shares since the last call."""
        import torch

        if not self._elements:
            return Shares(None, None)
        zeros, infinite = torch.stack(self._counts).sum(0).tolist()
        shares = Shares(zeros / self._elements, infinite / self._elements)
        self._counts, self._elements = [], 0
        return shares
