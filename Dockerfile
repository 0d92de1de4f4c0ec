# A presence server in a container, from the Debian package: make deb, then docker build -t presence .
FROM debian:12-slim
COPY .build-package/presenced_*.deb /tmp/presenced.deb
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/presenced.deb ca-certificates && rm -rf /tmp/presenced.deb /var/lib/apt/lists/*
USER presence
VOLUME /var/lib/presence
# Only what is published can be reached. Without TLS in the server, publish to this machine or to a TLS proxy.
ENV PRESENCE_HOST=0.0.0.0 PRESENCE_ALLOW_PLAIN=true PRESENCE_DATA_DIRECTORY=/var/lib/presence
EXPOSE 4040
# Plain, or over TLS if the server has a certificate. (A port of a Kubernetes Service is an address and none of ours.)
HEALTHCHECK --interval=10s --timeout=5s CMD ["bash", "-c", "port=${PRESENCE_PORT:-4040}; [[ $port == *[!0-9]* ]] && port=4040; ask() { printf 'GET /readyz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n'; }; good() { local answer; read -r answer && [[ $answer == *' 200 '* ]]; }; { exec 3<>/dev/tcp/127.0.0.1/$port && ask >&3 && good <&3; } 2>/dev/null || good < <(ask | openssl s_client -quiet -connect 127.0.0.1:$port 2>/dev/null)"]
ENTRYPOINT ["presenced"]
CMD ["serve", "--config", "/etc/presence/presenced.yaml"]
