"""What the sources of the next query continue: sources added, dropped, moved, copied, named, and names taken away."""
