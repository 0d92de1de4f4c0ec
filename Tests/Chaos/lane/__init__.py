"""Real servers, a real Redis and hundreds of clients, under every fault that can be caused."""
