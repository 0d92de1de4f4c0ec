"""What the conformance tests stand on: servers, sockets, tokens and HTTP, none of it the project's own code."""
