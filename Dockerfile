# A presence server in a container, from the Debian package: make deb, then docker build -t presence .
FROM debian:12-slim
COPY .build-package/presenced_*.deb /tmp/presenced.deb
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/presenced.deb ca-certificates && rm -rf /tmp/presenced.deb /var/lib/apt/lists/*
USER presence
VOLUME /var/lib/presence
# Only what is published can be reached. Without TLS in the server, publish to this machine or to a TLS proxy.
ENV PRESENCE_HOST=0.0.0.0 PRESENCE_ALLOW_PLAIN=true PRESENCE_DATA_DIRECTORY=/var/lib/presence
EXPOSE 4040
HEALTHCHECK --interval=10s --timeout=5s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${PRESENCE_PORT:-4040} && printf 'GET /readyz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r answer <&3 && [[ $answer == *' 200 '* ]]"]
ENTRYPOINT ["presenced"]
CMD ["serve", "--config", "/etc/presence/presenced.yaml"]
