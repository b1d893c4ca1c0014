"""How children are made: a zygote that forks them, and the pool that feeds it."""
