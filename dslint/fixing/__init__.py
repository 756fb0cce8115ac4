"""Fixes to edits to text: to a fixpoint, verified, written whole or not at all."""
