"""Changes of the sources of the next query: added, dropped, moved, copied, named, and names taken away."""
