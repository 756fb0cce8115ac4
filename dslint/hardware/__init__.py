"""GPU kinds and what they can do."""
