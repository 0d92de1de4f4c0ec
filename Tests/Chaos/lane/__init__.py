"""Real servers, a real Redis and hundreds of clients, to which everything happens that can be made to happen."""
