"""What makes a mutant live in the process under test: light, standard library only."""
