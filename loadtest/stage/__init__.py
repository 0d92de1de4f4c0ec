"""The stage of a load test: everything that a scenario needs, started on free ports and ended whatever happens."""
