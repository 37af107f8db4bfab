"""The hook that opens checkpoint locations."""
