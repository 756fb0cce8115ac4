"""dslint held against the real DeepSpeedConfig of several releases, on mutated real configs."""
