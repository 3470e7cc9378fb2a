# A static binary in an image that holds nothing else: no shell, no package manager, no root.
FROM golang:1.26.8 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/rankgate ./cmd/rankgate
RUN mkdir -p /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/rankgate /rankgate
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
ENV RANKGATE_LISTEN=0.0.0.0:8080 RANKGATE_DATA=/data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["/rankgate", "healthcheck"]
ENTRYPOINT ["/rankgate"]
CMD ["serve"]
