FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The repository is not in the build context, so the version comes from outside: --build-arg VERSION=v1.2.3.
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X main.version=${VERSION}" -o /out/strata ./cmd/strata && mkdir -p /out/data

# Nothing but the program: no shell, no libc. It runs as nobody (65532) and writes to /data only.
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/strata /usr/local/bin/strata
COPY --from=build --chown=65532:65532 /out/data /data
VOLUME /data
EXPOSE 8081
ENTRYPOINT ["/usr/local/bin/strata"]
# There is no authentication yet, and a container must listen beyond its own loopback to be reached at all: publish
# the port to the host's loopback only (docker run -p 127.0.0.1:8081:8081), as --insecure says in so many words.
CMD ["serve", "--data=/data/strata.db", "--listen=0.0.0.0:8081", "--insecure"]
