# A static binary in an image that holds nothing else: no shell, no package manager, no root.
FROM golang:1.26.8 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/rankgate ./cmd/rankgate
RUN mkdir -p /out/data && printf 'listen: 0.0.0.0:8080\ndata: /data\n' > /out/rankgate.yaml

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/rankgate /rankgate
COPY --from=build /out/rankgate.yaml /etc/rankgate.yaml
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
# Mount your own file over this one, or set RANKGATE_ variables, which win over it.
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["/rankgate", "healthcheck", "--config", "/etc/rankgate.yaml"]
ENTRYPOINT ["/rankgate"]
CMD ["serve", "--config", "/etc/rankgate.yaml"]
