"""Rollbacks in place, and their undo: the goal, the plan, and its execution."""
