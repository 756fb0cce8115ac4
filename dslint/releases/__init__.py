"""What each DeepSpeed release accepts, ignores and defaults to; and which release a repository uses."""
