"""Moves of a whole launch at once: from fp16 to bf16 and back, and from one DeepSpeed release to another."""
