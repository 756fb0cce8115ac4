"""The linter and auto-fixer for DeepSpeed training."""

__version__ = "0.1.0"
