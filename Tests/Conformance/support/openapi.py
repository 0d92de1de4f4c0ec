"""The required form of an OpenAPI document, as far as ours uses the language, and its rules for an answer."""

import json
import re

from .documents import Document

METHODS = ("get", "head", "post", "put", "patch", "delete", "options")

TEXT = {"type": "string", "minLength": 1}


def table(item, key=r"^[A-Za-z0-9_.-]+$"):
    return {"type": "object", "propertyNames": {"pattern": key}, "additionalProperties": item, "minProperties": 1}


def closed(required=(), /, **properties):
    return {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}


def part(name):
    return {"$ref": f"#/$defs/{name}"}


def or_reference(name):
    return {"if": {"type": "object", "required": ["$ref"]}, "then": part("reference"), "else": part(name)}


STRUCTURE = {
    **closed(
        ("openapi", "info", "paths"),
        openapi={"const": "3.1.0"},
        info=closed(("title", "version"), title=TEXT, version=TEXT, summary=TEXT, description=TEXT,
                    license=closed(("name",), name=TEXT, identifier=TEXT)),
        servers={"type": "array", "minItems": 1, "items": closed(
            ("url",), url=TEXT, description=TEXT,
            variables=table(closed(("default",), default={"type": "string"}, description=TEXT)))},
        tags={"type": "array", "items": closed(("name",), name=TEXT, description=TEXT)},
        security=part("security"),
        paths=table(part("path"), key="^/"),
        components=closed(
            securitySchemes=table(closed(("type", "scheme"), type={"const": "http"}, scheme=TEXT, bearerFormat=TEXT,
                                         description=TEXT)),
            parameters=table(part("parameter")), responses=table(part("response")), schemas=table(part("schema")))),
    "$defs": {
        "reference": closed(("$ref",), **{"$ref": {"type": "string", "pattern": "^#/components/[A-Za-z]+/[A-Za-z]+$"}}),
        "security": {"type": "array", "items": table({"type": "array", "items": TEXT}) | {"minProperties": 0}},
        "path": closed(parameters=part("parameters"), **{method: part("operation") for method in METHODS}),
        "operation": closed(
            ("operationId", "tags", "summary", "responses"), operationId={"type": "string", "pattern": "^[a-zA-Z]+$"},
            tags={"type": "array", "minItems": 1, "items": TEXT}, summary=TEXT, description=TEXT,
            security=part("security"), parameters=part("parameters"),
            requestBody=closed(("content",), required={"type": "boolean"}, description=TEXT, content=part("content")),
            responses=table(or_reference("response"), key="^[1-5][0-9][0-9]$")),
        "parameters": {"type": "array", "items": or_reference("parameter")},
        "parameter": {
            **closed(("name", "in", "schema"), name=TEXT, required={"type": "boolean"}, description=TEXT,
                     schema=part("schema"), example={}, **{"in": {"enum": ["path", "header", "query"]}}),
            "if": {"properties": {"in": {"const": "path"}}},
            "then": {"required": ["required"], "properties": {"required": {"const": True}}}},
        "response": closed(("description",), description=TEXT, headers=table(part("header")), content=part("content")),
        "header": closed(("schema",), required={"type": "boolean"}, description=TEXT, schema=part("schema")),
        "content": table(part("media"), key=r"^[a-z]+/[a-z.+-]+(; [a-z]+=[a-z0-9.-]+)*$"),
        "media": closed(("schema",), schema=part("schema"), examples=table(closed(("value",), value={}, summary=TEXT))),
        # JSON Schema's metaschema checks schemas.
        "schema": {"type": "object"},
    },
}


class Operation:
    """One method of one path."""

    def __init__(self, document, path, method, node, shared):
        self.path, self.method, self.node = path, method.upper(), node
        self.name = node["operationId"]
        self.parameters = [document.resolve(each) for each in (*shared, *node.get("parameters", ()))]
        self.responses = {int(status): document.resolve(each) for status, each in node["responses"].items()}
        security = node.get("security", document.root.get("security", []))
        self.needs_token = bool(security) and {} not in security
        self.needs_backend = self.needs_token and all("backend" in each.get("token", ()) for each in security if "key" not in each)

    @property
    def is_upload(self):
        """Whether its body is a file."""
        kinds = self.node.get("requestBody", {}).get("content", {})
        return bool(kinds) and "application/json" not in kinds

    def fits(self, path):
        """Whether a path matches it."""
        return re.fullmatch(re.sub(r"\{[a-z]+\}", "[^/]*", self.path), path) is not None

    def __repr__(self):
        return f"{self.method} {self.path}"

    @property
    def requests(self):
        """The examples of its body, or no body."""
        if "requestBody" not in self.node:
            return [None]
        return [each["value"] for media in self.node["requestBody"]["content"].values()
                for each in media["examples"].values()]


class OpenAPI(Document):
    def __init__(self, name):
        super().__init__(name)
        self.operations = [
            Operation(self, path, method, item[method], item.get("parameters", ()))
            for path, item in self.root["paths"].items() for method in METHODS if method in item]
        self.answered = []
        """The contents of answers that matched the document: (content type, body)."""

    def methods_at(self, path):
        """The methods that one path has, by whichever of the document's paths."""
        found = set()
        for operation in self.operations:
            if re.fullmatch(re.sub(r"\{[a-z]+\}", "[^/]*", operation.path), path):
                found.add(operation.method)
        return found

    def examples(self):
        """Every example of a body with its media type's place, type, schema and value."""
        for place, node in self.nodes():
            for kind, media in (node.get("content") or {}).items() if isinstance(node, dict) else ():
                for name, example in media.get("examples", {}).items():
                    yield f"{place}/content/{kind} {name}", kind, media["schema"], example["value"]

    def is_of(self, place, *tags):
        """Whether a place belongs only to operations of these tags: it is in one, or in a response that no other
        operation refers to."""
        inside, outside = [], []
        for operation in self.operations:
            (inside if set(tags) & set(operation.node["tags"]) else outside).append(operation)
        name = re.match("#/components/responses/([A-Za-z]+)", place)
        if name:
            reference = f'"#/components/responses/{name.group(1)}"'
            return reference in json.dumps([each.node for each in inside]) \
                and reference not in json.dumps([each.node for each in outside])
        return any(place.startswith("#/paths/" + each.path.replace("/", "~1") + "/") for each in inside)

    def check(self, method, answer, response, what):
        """Fails unless an answer matches a response object."""
        stated = {name.lower(): header for name, header in response.get("headers", {}).items()}
        for name, header in stated.items():
            value = answer.headers.get(name)
            assert value is not None or not header.get("required"), f"{what}: no {name} in {answer.headers.items()}"
            if value is not None:
                faults = list(self.faults(value, header["schema"]))
                assert not faults, f"{what}: {name}: {value}: {faults}"
        # Headers that the document describes for every answer.
        usual = {"content-type", "content-length", "connection", "date", "x-content-type-options", "vary", "x-request-id"}
        strange = {name.lower() for name in answer.headers.keys()} - usual - stated.keys()
        assert not strange, f"{what}: headers {strange} are not described"
        if method == "HEAD" or "content" not in response:
            assert answer.body == "", f"{what}: a body, {answer}"
            return
        kind = answer.headers.get("Content-Type")
        assert kind in response["content"], f"{what}: {kind!r} instead of {list(response['content'])}: {answer}"
        body = answer.json if kind == "application/json" else answer.body
        faults = list(self.faults(body, response["content"][kind]["schema"]))
        assert not faults, f"{what}: {json.dumps(body)[:500]}: {faults}"
        self.answered.append((kind, body))

    def component(self, name):
        return self.root["components"]["responses"][name]
