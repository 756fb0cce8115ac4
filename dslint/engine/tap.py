"""Listening in on an engine: its backward and step are wrapped on the instance, so that every framework's loop passes by."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple


class Listener(NamedTuple):
    """What is called, and when.

    backward: with each micro batch's loss and whether the engine divides it by the accumulation steps; gives the loss that
    the engine shall go on with. before and after: around each optimizer step, not around the calls of `step` that only
    accumulate.
    """

    backward: Callable[[Any, bool], Any]
    before: Callable[[Any], None]
    after: Callable[[Any], None]


def tap(engine: Any, listener: Listener) -> Callable[[], None]:
    """Wrap the engine's backward and step; the function that comes back undoes it."""
    backward, step = engine.backward, engine.step

    @functools.wraps(backward)
    def tapped_backward(loss: Any, *args: Any, **options: Any) -> Any:
        return backward(listener.backward(loss, options.get("scale_wrt_gas") is not False), *args, **options)

    @functools.wraps(step)
    def tapped_step(*args: Any, **options: Any) -> Any:
        taken = engine.global_steps
        if engine.is_gradient_accumulation_boundary():
            listener.before(engine)
        result = step(*args, **options)
        if engine.global_steps != taken:
            listener.after(engine)
        return result

    engine.backward, engine.step = tapped_backward, tapped_step

    def undo() -> None:
        # The class's own methods show again.
        for name in ("backward", "step"):
            vars(engine).pop(name, None)

    return undo
