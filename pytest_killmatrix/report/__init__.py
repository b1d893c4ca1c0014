"""What people and programs see of a run: the terminal summary, the progress line, the JSON file."""
