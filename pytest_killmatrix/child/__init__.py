"""What runs in the process under test: as little of us as possible."""
