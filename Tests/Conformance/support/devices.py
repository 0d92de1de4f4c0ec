"""Users' devices, and users who are away."""

from support.accounts import CheckedAPI

DEVICE = "/v1/me/devices/current"
APNS_TOKEN = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"


def phone(platform, token="device"):
    return {"pushToken": token, "platform": platform}


async def register(room, person, device):
    answer = await CheckedAPI(room.server).request("PUT", DEVICE, device, token=room.token(person))
    assert answer.status == 204, answer


async def away(room, person, device=None):
    """A user who was online, has a device and no session."""
    client = await room.come(person)
    if device:
        await register(room, person, device)
    await client.close()
    return client
