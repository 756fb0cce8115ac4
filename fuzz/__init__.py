"""What dslint must stand: anybody's bytes. `python -m fuzz TARGET --seconds N` looks for those that it does not."""
