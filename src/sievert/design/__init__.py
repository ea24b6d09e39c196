"""Which mechanism is best: optimal design, what standard mechanisms would cost, and the price of privacy."""
