"""Which config meets which framework, arguments, hardware, world size and release."""
