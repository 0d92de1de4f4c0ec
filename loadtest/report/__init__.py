"""What was found, told: JSON for programs, pictures and a table for people."""
