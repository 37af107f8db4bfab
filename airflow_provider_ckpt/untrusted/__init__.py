"""Reading what anybody may have written: bounded in memory, time and numbers."""
