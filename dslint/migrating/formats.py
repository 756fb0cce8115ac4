"""The two half-precision formats, and the words that configs, scripts and programs have for them."""

from __future__ import annotations

from typing import Final, Literal

Format = Literal["fp16", "bf16"]

OTHER: Final[dict[Format, Format]] = {"fp16": "bf16", "bf16": "fp16"}

# A word of the one format → the word for the other that is spelled alike.
TO_BF16: Final = {
    "fp16": "bf16",
    "float16": "bfloat16",
    "half": "bfloat16",
    "torch.float16": "torch.bfloat16",
    "torch.half": "torch.bfloat16",
    "16-mixed": "bf16-mixed",
    "16-true": "bf16-true",
    "16": "bf16",
}
TO_FP16: Final = {
    "bf16": "fp16",
    "bfloat16": "float16",
    "torch.bfloat16": "torch.float16",
    "bf16-mixed": "16-mixed",
    "bf16-true": "16-true",
}
WORDS: Final[dict[Format, dict[str, str]]] = {"bf16": TO_BF16, "fp16": TO_FP16}

# Arguments, keys and options that name a number format by a word.
NAMES: Final = frozenset(
    {
        *("dtype", "torch_dtype", "model_dtype", "weight_dtype", "param_dtype", "train_dtype", "infer_dtype"),
        *("compute_dtype", "bnb_4bit_compute_dtype", "precision", "mixed_precision", "data_type"),
    }
)
# The Trainer's arguments for Apex's loss scaling.
FP16_ONLY: Final = ("fp16_opt_level", "fp16_backend")
# Switches that come in pairs, without the format's name in front.
SWITCHES: Final = ("", "_full_eval")


def respelled(word: object, to: Format, name: str = "") -> str | None:
    """The word for `to` where a word of the other format stands, else None; `name` is what it is the value of."""
    if not isinstance(word, str):
        return None
    if word == "16" and name != "precision":
        return None
    if name == "precision" and word == "bf16" and to == "fp16":
        # Lightning's word; it knows no "fp16".
        return "16"
    return WORDS[to].get(word)


def spellings(to: Format) -> tuple[str, ...]:
    """Every word for a format, the usual ones first."""
    return tuple(dict.fromkeys(WORDS[to].values()))
