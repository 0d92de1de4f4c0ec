"""Certificates made by `openssl` for one test."""

import os
import ssl
import subprocess


class Authority:
    """Issues certificates in a directory; a client must trust `file`."""

    def __init__(self, directory):
        self.directory = str(directory)
        self.file = os.path.join(self.directory, "authority.pem")
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                     "-subj", "/CN=authority", "-keyout", "authority.key", "-out", "authority.pem")

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.directory, check=True, capture_output=True, timeout=30)

    def issue(self, name="server", names="DNS:localhost,IP:127.0.0.1", days=2):
        """A new certificate and key, which replace earlier ones of the same name. Returns the names of both files."""
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=server",
                     "-addext", f"subjectAltName={names}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "authority.pem", "-CAkey", "authority.key",
                     "-CAcreateserial", "-copy_extensions", "copy", "-days", str(days), "-out", f"{name}.pem")
        return os.path.join(self.directory, f"{name}.pem"), os.path.join(self.directory, f"{name}.key")

    def trust(self, version=None):
        """A client's TLS context that trusts this authority, if requested with one version of TLS only."""
        context = ssl.create_default_context(cafile=self.file)
        if version:
            # Versions that this machine's own policy forbids must be tested, too.
            context.set_ciphers("DEFAULT:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = version
        return context
