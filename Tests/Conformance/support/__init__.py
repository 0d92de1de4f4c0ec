"""The foundation of the conformance tests: servers, sockets, tokens and HTTP, without the project's own code."""
