"""The rule book: rule files, their compiled form, and what evaluates them on a launch."""
