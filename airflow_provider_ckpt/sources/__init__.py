"""Where the data of a source ends; a module a format."""
