"""Pictures that the tests upload, and what is read of those that come back."""

import io
import struct
import zlib

from PIL import Image, ImageOps

CORNERS = [(255, 0, 0), (0, 160, 0), (0, 0, 255), (255, 220, 0)]
"""Of a scene: upper left, upper right, lower left, lower right. In greys they differ, too."""


def scene(width=96, height=64, mode="RGB"):
    """A picture that is the same in no two of the eight orientations."""
    image = Image.new("RGB", (width, height))
    for place, colour in enumerate(CORNERS):
        x, y = place % 2, place // 2
        image.paste(colour, (x * width // 2, y * height // 2, (x + 1) * width // 2, (y + 1) * height // 2))
    return image.convert(mode)


def noise(width, height, mode="RGB"):
    """What cannot be made small."""
    if mode == "L":
        return Image.effect_noise((width, height), 120)
    return Image.merge("RGB", [Image.effect_noise((width, height), 120) for _ in range(3)])


def jpeg(image, orientation=None, secret=None, **options):
    file = io.BytesIO()
    exif = Image.Exif()
    if orientation:
        exif[0x0112] = orientation
    if secret:
        exif[0x010E] = secret
        options["comment"] = secret.encode()
    image.save(file, "JPEG", exif=exif, **options)
    return file.getvalue()


def png(image, **options):
    file = io.BytesIO()
    image.save(file, "PNG", **options)
    return file.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bare_png(width, height, depth, colour, rows, extra=b"", interlaced=0):
    """A PNG from its parts: `rows` are the bytes before compression."""
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(rows, 9))
            + chunk(b"IEND", b""))


def shown(data):
    """A picture as it is to be seen: turned, in colour, over white."""
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    if image.mode in ("LA", "RGBA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    if image.mode.startswith("I"):
        image = image.point(lambda value: value / 257).convert("L")
    return image.convert("RGB")


def alike(one, other, within=24):
    """Whether two pictures have the same size and, in the middle of each quarter, about the same colours."""
    if one.size != other.size:
        return False
    width, height = one.size
    places = [(width * x // 4, height * y // 4) for x in (1, 3) for y in (1, 3)]
    return all(abs(a - b) <= within for place in places for a, b in zip(one.getpixel(place), other.getpixel(place)))


def metadata(data):
    """What a JPEG has beside the picture: the markers of its segments, but those that a decoder needs."""
    found, place = [], 2
    while place < len(data) and data[place] == 0xFF and data[place + 1] != 0xDA:
        marker, length = data[place + 1], struct.unpack(">H", data[place + 2:place + 4])[0]
        needed = marker in (0xC0, 0xC1, 0xC2, 0xC4, 0xDB, 0xDD) or data[place + 4:place + 9] == b"JFIF\0"
        if not needed:
            found.append(hex(marker))
        place += 2 + length
    return found
