"""Pictures that the tests upload, and readings of the pictures that are served."""

import io
import random
import struct
import zlib

from PIL import Image, ImageOps

CORNERS = [(255, 0, 0), (0, 160, 0), (0, 0, 255), (255, 220, 0)]
"""The colours of a scene: upper left, upper right, lower left, lower right. In greys they differ, too."""


def scene(width=96, height=64, mode="RGB"):
    """A picture that is the same in no two of the eight orientations."""
    image = Image.new("RGB", (width, height))
    for place, colour in enumerate(CORNERS):
        x, y = place % 2, place // 2
        image.paste(colour, (x * width // 2, y * height // 2, (x + 1) * width // 2, (y + 1) * height // 2))
    return image.convert(mode)


def noise(width, height, mode="RGB"):
    """A picture that cannot be compressed."""
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


def photo(width=64, height=48):
    """A JPEG with the location where it was taken."""
    file, exif = io.BytesIO(), Image.Exif()
    place = exif.get_ifd(0x8825)
    place[1], place[2], place[3], place[4] = "N", (52.0, 31.0, 12.0), "E", (13.0, 24.0, 36.0)
    scene(width, height).save(file, "JPEG", exif=exif)
    return file.getvalue()


def many_scans(width, height, scans):
    """A small progressive JPEG: one scan of DC, one of AC, and then the same refinement again and again."""
    def segment(marker, data):
        return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data

    def packed(bits):
        bits += "1" * (-len(bits) % 8)
        data = int(bits, 2).to_bytes(len(bits) // 8, "big") if bits else b""
        return data.replace(b"\xff", b"\xff\x00")
    blocks = ((width + 7) // 8) * ((height + 7) // 8)
    symbols = [0xE0] + [run << 4 for run in range(14)]
    data = b"\xff\xd8" + segment(0xDB, b"\0" + bytes([1] * 64))
    data += segment(0xC2, struct.pack(">BHHB", 8, height, width, 1) + bytes([1, 0x11, 0]))
    data += segment(0xC4, b"\x00" + bytes([1] + [0] * 15) + bytes([0]))
    data += segment(0xC4, b"\x10" + bytes([0, 0, 0, len(symbols)] + [0] * 12) + bytes(symbols))

    def refinement(high, low):
        bits, left = "", blocks
        while left:
            run = min(14, left.bit_length() - 1)
            count = min(left, (1 << (run + 1)) - 1)
            bits += format(symbols.index(run << 4), "04b") + (format(count - (1 << run), f"0{run}b") if run else "")
            left -= count
        return segment(0xDA, bytes([1, 1, 0x00, 1, 63, high << 4 | low])) + packed(bits)
    data += segment(0xDA, bytes([1, 1, 0x00, 0, 0, 0x01])) + packed("0" * blocks)
    return data + refinement(0, 1) + refinement(1, 0) * (scans - 2) + b"\xff\xd9"


def png(image, **options):
    file = io.BytesIO()
    image.save(file, "PNG", **options)
    return file.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bare_png(width, height, depth, colour, rows, extra=b"", interlaced=0, piece=None):
    """A PNG from its parts: `rows` are the bytes before compression. `piece` is the number of bytes of each IDAT."""
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    data = zlib.compress(rows, 9)
    piece = piece or len(data)
    parts = [chunk(b"IDAT", data[place:place + piece]) for place in range(0, len(data), piece)]
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + b"".join(parts) + chunk(b"IEND", b"")


PNG_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
"""One of each colour type: grey, colour, palette, grey and alpha, colour and alpha."""

ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
"""The passes of an interlaced PNG: where each begins, and its steps, in x and y."""


def noisy_png(colour, depth, interlaced=0, extra=b"", piece=None):
    """A PNG of any kind, of some 9 KB: pixels by chance, rows with each of the five filters."""
    bits = depth * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    side = int((9_000 * 8 / bits) ** 0.5)
    chance = random.Random(f"{colour} {depth} {interlaced}")
    rows = b""
    for left, top, right, down in ADAM7 if interlaced else [(0, 0, 1, 1)]:
        width, height = -(-(side - left) // right), -(-(side - top) // down)
        rows += b"".join(bytes([y % 5]) + chance.randbytes(-(-width * bits // 8)) for y in range(height))
    if colour == 3:
        # Half of the entries are transparent, more or less.
        extra += chunk(b"PLTE", chance.randbytes(3 << depth)) + chunk(b"tRNS", chance.randbytes(1 << depth >> 1))
    return bare_png(side, side, depth, colour, rows, extra, interlaced, piece)


def whole():
    """Pictures of every kind that is read, each of 6 to 21 KB: name and bytes."""
    for mode in ("RGB", "L", "CMYK"):
        image = noise(100, 80, "L" if mode == "L" else "RGB").convert(mode)
        for progressive in (False, True):
            kind = "progressive" if progressive else "baseline"
            yield f"JPEG {mode} {kind}", jpeg(image, quality=90, progressive=progressive)
    # The cuts include places before the picture data.
    yield "JPEG with 4 KB beside the picture", jpeg(noise(100, 80), 6, "x" * 2_000, quality=90)
    for colour, depths in PNG_DEPTHS.items():
        for depth in depths:
            yield f"PNG {colour} {depth}", noisy_png(colour, depth)
        yield f"PNG {colour} {depths[-1]} interlaced", noisy_png(colour, depths[-1], interlaced=1)
    text = chunk(b"tEXt", b"Comment\0" + b"x" * 3_000)
    yield "PNG with 3 KB beside the picture, in pieces", noisy_png(2, 8, extra=text, piece=1_000)


def shown(data):
    """A picture as it should look: turned, in colour, over white."""
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
    """The additional data of a JPEG: the markers of its segments, except those that a decoder needs."""
    found, place = [], 2
    while place < len(data) and data[place] == 0xFF and data[place + 1] != 0xDA:
        marker, length = data[place + 1], struct.unpack(">H", data[place + 2:place + 4])[0]
        needed = marker in (0xC0, 0xC1, 0xC2, 0xC4, 0xDB, 0xDD) or data[place + 4:place + 9] == b"JFIF\0"
        if not needed:
            found.append(hex(marker))
        place += 2 + length
    return found
