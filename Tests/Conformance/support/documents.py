"""The project's YAML documents, and validation of values against their schemas."""

import functools
import os

import yaml
from jsonschema import Draft202012Validator, RefResolver

DOCS = os.path.join(os.path.dirname(__file__), "..", "..", "..", "docs")


class Strict(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Rejects a repeated key: YAML forbids it, but PyYAML takes the last one."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        assert not twice, f"{twice} twice{node.start_mark}"
        return super().construct_mapping(node, deep)


def pointer(*steps):
    """The location of a node in a document, in the form of a `$ref`."""
    return "#" + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


@functools.cache
def parsed(name):
    """The content of a document; it must not be changed."""
    with open(os.path.join(DOCS, name), encoding="utf-8") as file:
        return yaml.load(file, Strict)


def below(node, steps):
    """The node and all nodes in it, except inside examples, each with its location."""
    yield pointer(*steps), node
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for step, child in inside:
        if step not in ("example", "examples", "default", "const", "enum"):
            yield from below(child, (*steps, step))


@functools.cache
def places(name):
    """The locations of a document's objects, by `id`."""
    return {id(node): place for place, node in below(parsed(name), ()) if isinstance(node, dict)}


class Document:
    """One document. `met` has the members of its schemas that values had so far, as (place of the schema, name)."""

    def __init__(self, name):
        self.root = parsed(name)
        self.resolver = RefResolver("", self.root)
        self.places = places(name)
        self.met = set()

    def nodes(self):
        """Every location of the document and its node, except inside examples."""
        return below(self.root, ())

    def resolve(self, node):
        """The node itself, or the target of its `$ref`."""
        while isinstance(node, dict) and "$ref" in node:
            _, node = self.resolver.resolve(node["$ref"])
        return node

    def dangling(self):
        """The references without a target."""
        for place, node in self.nodes():
            if isinstance(node, dict) and "$ref" in node:
                try:
                    self.resolver.resolve(node["$ref"])
                except Exception:
                    yield f"{place} names {node['$ref']}"

    # Values

    def faults(self, value, schema):
        """The faults of a value by a schema, and every member of it that the schema does not mention."""
        validator = Draft202012Validator(schema, resolver=self.resolver)
        for error in validator.iter_errors(value):
            yield f"{error.json_path}: {error.message}"
        yield from self.undescribed(value, [schema], "$")

    def undescribed(self, value, schemas, place):
        parts = [part for schema in schemas for part in self.parts(schema)]
        if isinstance(value, dict):
            for name, member in value.items():
                inside = [part["properties"][name] for part in parts if name in part.get("properties", ())]
                self.met |= {(self.places[id(part)], name) for part in parts if name in part.get("properties", ())}
                others = [part["additionalProperties"] for part in parts
                          if isinstance(part.get("additionalProperties"), dict)]
                if inside or others:
                    yield from self.undescribed(member, inside or others, f"{place}.{name}")
                else:
                    yield f"{place}.{name} is not described"
        elif isinstance(value, list):
            items = [part["items"] for part in parts if "items" in part]
            for index, member in enumerate(value):
                yield from self.undescribed(member, items, f"{place}[{index}]")

    def parts(self, schema):
        """A schema and all schemas that it combines for the same value."""
        yield schema
        if "$ref" in schema:
            yield from self.parts(self.resolve(schema))
        for word in ("allOf", "anyOf", "oneOf"):
            for part in schema.get(word, ()):
                yield from self.parts(part)

    def members(self):
        """All members of all schemas, as (place of the schema, name)."""
        return {(place, name) for place, node in self.nodes()
                if isinstance(node, dict) and isinstance(node.get("properties"), dict)
                for name in node["properties"]}

    def schemas(self):
        """The outermost schemas, with their places."""
        for place, node in self.nodes():
            if isinstance(node, dict):
                for word in ("schema", "payload", "headers"):
                    schema = node.get(word)
                    if isinstance(schema, dict) and {"$ref", "type", "const", "oneOf", "allOf"} & schema.keys():
                        yield f"{place}/{word}", schema
        for name, schema in self.root["components"]["schemas"].items():
            yield f"#/components/schemas/{name}", schema
