"""Reports of the results: JSON for programs, pictures and a table for people."""
