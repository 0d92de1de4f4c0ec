"""The server's version."""

import os
import subprocess

from support.api import API


async def test_the_version_is_told_by_the_command_and_by_a_metric(server):
    said = subprocess.run([os.environ["PRESENCED"], "--version"], capture_output=True, text=True, check=True).stdout
    name, version = said.split()
    assert name == "presenced" and version[0].isdigit()
    page = (await API(server).request("GET", "/metrics")).body
    assert f'presence_build_info{{version="{version}"}} 1\n' in page
