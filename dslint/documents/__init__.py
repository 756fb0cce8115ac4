"""Text to a tree of nodes with exact spans, and back: edits by JSON Pointer."""
