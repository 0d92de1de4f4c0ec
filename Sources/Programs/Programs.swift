// The target has no code: its dependencies in Package.swift are what it is for.
