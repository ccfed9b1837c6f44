FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
# The repository is not in the build context, so the version comes from outside: --build-arg VERSION=v1.2.3.
ARG VERSION=
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X main.version=${VERSION}" -o /out/strata ./cmd/strata && mkdir -p /out/data /out/tmp

# From nothing rather than from a base image, so that there is none to pin, to trust and to renew: the program is static, knows all
# time zones, and wants of a system no more than certificate authorities, here those of the build's image. No shell, no libc, no users.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/strata /usr/local/bin/strata
COPY LICENSE NOTICE internal/program/cli/THIRD_PARTY_NOTICES /usr/share/doc/strata/
# It runs as nobody, and writes to /data and /tmp only.
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/tmp /tmp
USER 65532:65532
VOLUME /data
EXPOSE 8081 9464
# STRATA_SERVER tells the check where to ask when --listen is another port.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["/usr/local/bin/strata", "health", "--timeout=4s"]
ENTRYPOINT ["/usr/local/bin/strata"]
# A container must listen beyond its own loopback to be reached at all, and nobody is asked for a key unless --auth=required says so in
# place of --insecure: publish the port to the host's loopback only (docker run -p 127.0.0.1:8081:8081).
CMD ["serve", "--data=/data/strata.db", "--listen=0.0.0.0:8081", "--insecure"]
