# make test    everything that must hold before a change lands, installing what is missing
# make demo    a running board with simulated players; nothing needs to be installed
# make help    the rest

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

BIN   := .cache/bin
TOOLS := -modfile=.ci/tools.mod
# A tool is built again when its pinned version changes, and not otherwise.
LINT  := $(BIN)/golangci-lint
NATS  := $(BIN)/nats-server
# Real input, fetched and never committed.
COUNTS := .cache/npm/package/counts.json

# Two cores under the race detector: packages one after another starve no test of its deadline.
TEST_FLAGS ?= -race -p 2 -timeout 25m

.PHONY: build
build: ## build bin/rankgate and bin/loadtest
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...

.PHONY: demo
demo: ## serve a board with simulated players
	go run ./cmd/rankgate demo

.PHONY: test
test: servers tidy lint ## all checks and all tests, on real servers
	go vet ./...
	go build ./...
	go test $(TEST_FLAGS) ./...
	go test -run AllocatesNothing ./gateway # what the race detector cannot tell

.PHONY: lint
lint: $(LINT) ## the package walls and everything else that a machine can judge
	$(LINT) run ./...

.PHONY: tidy
tidy: ## go.mod and go.sum say exactly what is used
	go mod tidy -diff
	go mod verify

.PHONY: bench
bench: servers ## the benchmarks of the layers
	go test -run '^$$' -bench . -benchmem -timeout 30m ./...

.PHONY: bench-edge
bench-edge: ## answers out of memory beside fasthttp and Fiber: without sockets, and whole processes on one core each
	go test -run '^$$' -bench BenchmarkHit ./gateway
	go test -run '^$$' -bench BenchmarkEdge -benchtime 1x ./cmd/rankgate

# Every scenario for a minute; FAULTS="--scenario mix --for 10m --seed 7" is another choice.
FAULTS ?= --scenario all --for 1m

.PHONY: faults
faults: servers build ## the long form of the fault suite: hurt everything under load, compare with what was acknowledged
	bin/loadtest chaos --binary bin/rankgate $(FAULTS)
	bin/loadtest outage --binary bin/rankgate
	go test -tags long -run '^(TestTheBoundHoldsForMinutes|TestAMillionRandomIDs)' -v -count=1 -timeout 30m ./cmd/rankgate

.PHONY: import-npm
import-npm: servers $(COUNTS) ## import 3.77 million real names into both stores and compare with a sort of the file
	NPM_COUNTS=$(CURDIR)/$(COUNTS) go test -tags npm -run '^TestImportOfNPM' -v -count=1 -timeout 60m ./cmd/rankgate

.PHONY: ranks
ranks: servers ## ask for a million ranks of a million members with many ties through the count index, and compare with a sort
	go test -tags long -run '^TestAMillionRanks' -v -count=1 -timeout 30m ./rankcore/redisstore

$(COUNTS):
	@mkdir -p .cache/npm
	npm pack --silent download-counts@2.20260301.0 --pack-destination .cache/npm
	tar -xzf .cache/npm/download-counts-2.20260301.0.tgz -C .cache/npm
	@touch $@

.PHONY: servers
servers: $(NATS) ## install the servers that tests start: redis-server, nats-server
	@command -v redis-server >/dev/null || { \
		sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
		$$sudo apt-get update -q && $$sudo apt-get install -y -q redis-server; }

$(LINT): .ci/tools.mod .ci/tools.sum
	go build $(TOOLS) -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

$(NATS): go.mod
	go build -o $@ github.com/nats-io/nats-server/v2
	@touch $@

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 14
