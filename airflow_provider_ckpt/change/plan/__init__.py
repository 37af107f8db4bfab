"""A plan as a value: its steps, what it requires, and what people agree to."""
