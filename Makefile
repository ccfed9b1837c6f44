# Everything a developer or CI runs. Each target says what it does: make help.
SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BIN        := bin
BUF        := go tool -modfile=tools/buf/go.mod buf
LINT       := go tool -modfile=tools/lint/go.mod golangci-lint
FUZZTIME   ?= 30s
LOCOMO_DIR ?=
SEED       ?= 1
CYCLES     ?= 30
SEAMS_HITS ?= 3
REPLAYS    ?= 50
LENGTH     ?= 60s
HISTORIES  ?= 10000
NEIGHBOURS ?= 100000
MESSAGES   ?= 500000
REQUESTS   ?= 10000
MONGO_CYCLES ?= 20
LOAD       ?= 2m
RATE       ?= 15
BENCH_ARGS ?=
EVAL_ARGS  ?=
IMAGE      ?= strata
# the tag, or the commit since; empty outside a repository
VERSION    ?= $(shell git describe --tags --always --dirty 2>/dev/null)
# package:target of every fuzz test
FUZZ := $(shell grep -rhoE --include='*_test.go' --with-filename '^func Fuzz[A-Za-z0-9_]+' cmd internal | sed -E 's|/[^/]*_test.go:func |:|' | sort)
# the packages of property tests without a store
PROPERTIES := $(shell grep -rl --include='*_test.go' pgregory.net/rapid internal | xargs -n1 dirname | sort -u | grep -vE '^internal/(testing|learning/jobrunner|store)(/|$$)' | sed 's|^|./|')

.PHONY: charts proof-crash proof-load proof-properties proof-fuzz proof-servers proof-erasure proof-release help build tools test race other-packages modules sdks real-clients lint lint-openapi lint-mcp generate verify fuzz bench bench-context bench-neighbours bench-large bench-record bench-crash bench-seams bench-conflict bench-outage bench-facts bench-langmem bench-learn bench-idle bench-overload bench-load bench-load-tiers bench-sharding bench-hostile bench-tiers bench-reindex bench-hanging bench-mongokill bench-replicas locomo locomo-tiers chats learnt figures property proof docs demo backends-up backends-down backends-wipe clients clients-python clients-typescript clients-test bench-clients test-integration test-containers docker release release-check vuln clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  %-18s %s\n", $$1, $$2}'

build: ## the static binary, bin/strata
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X main.version=$(VERSION)" -o $(BIN)/strata ./cmd/strata

tools: build ## the measuring tools beside it, and the sabotaged build, whose faults they must find
	go build -C bench -trimpath -o ../$(BIN)/ ./cmd/strata-bench ./cmd/strata-eval
	CGO_ENABLED=0 go build -C bench -trimpath -tags=sabotage -o ../$(BIN)/ ./cmd/strata-twin

# One seed decides the order of the tests and what property tests draw, so that the same commit passes or fails each time;
# SEED=0 looks elsewhere, as proof does.
PACKAGES ?= ./...
# Most of its time a test waits: for the disk, for a server, until a pause is over. So eight of a package run side by side, on whatever
# number of processors.
TOGETHER := -parallel=8

test: ## all tests of PACKAGES (./...) and of bench; SEED (1) of their order and generated cases
	RAPID_SEED=$(SEED) go test $(TOGETHER) -shuffle=$(SEED) -timeout=20m $(PACKAGES)
	go test -C bench $(TOGETHER) -shuffle=$(SEED) ./...

# The race detector needs a C compiler; the product does not. It watches the packages that lock or start goroutines, which a
# search finds; the others have nothing that it could see. SQLite itself, C that was translated to Go, runs without it: half of
# the time would be spent there, on no line of this project. With -short property tests draw a fifth; left to make test are what
# computes for long on one goroutine, the commands, which start the servers that the tests of app start, and of the tests of app what
# goes once more through code that has run at once with other calls: a walk of every call by every caller takes two entrances of six
# (gRPC and REST), one hostile string in a hundred is sent, no cell of the deletion matrix is tried, nor what makes one call after the
# other. What is about several calls, writers, workers or servers at once stays whole. go vet has been there: make lint runs it.
RACE := -race -vet=off -gcflags='modernc.org/...=-race=false -d=checkptr=0' -short $(TOGETHER)
CONCURRENT := grep -rlE --include='*.go' '"sync(/atomic)?"|internal/memory/safegroup"|internal/testing/e2e"|^\s*go [a-z]|errgroup"' cmd internal migrations | xargs -n1 dirname | sort -u | sed 's|^|./|' | grep -v '^./internal/program/cli$$'

race: ## the tests of all that locks or starts goroutines, with the race detector; needs a C compiler
	RAPID_SEED=$(SEED) CGO_ENABLED=1 go test $(RACE) -shuffle=$(SEED) -timeout=20m $$($(CONCURRENT))
	CGO_ENABLED=1 go test -C bench $(RACE) -shuffle=$(SEED) ./...

sdks: ## the Python SDKs that a test gives renderings to, and the schemas of their request types; run the test with what this prints
	@python=$$(internal/testing/providerrules/sdks/venv.sh); "$$python" internal/testing/providerrules/sdks/schemas.py internal/testing/providerrules/sdks/schemas; \
		echo "STRATA_TEST_SDKS_PYTHON=$$python go test ./internal/contexts/assembly -run SDKs"

real-clients: ## calls by curl, grpcurl, Connect-ES, grpc-js, Python and a page in Chromium to the built server, and the console in Chromium; installs them, but for Node.js, Python 3, curl and chromium
	folder=$$(internal/testing/e2e/edge/testdata/clients/install.sh); \
		STRATA_TEST_CLIENTS="$$folder" STRATA_TEST_REQUIRE=clients go test -count=1 -run='TestRealClients|TestTheConsoleInABrowser' ./internal/testing/e2e/edge

clients: clients-python clients-typescript ## the clients of other languages: their stubs from proto/, and packages in clients/*/dist

clients-python: ## the Python client: its stubs from proto/, and a wheel in clients/python/dist
	clients/python/generate.sh
	@rm -rf clients/python/dist
	tools/again.sh python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir clients/python/dist ./clients/python
	@ls clients/python/dist/*.whl

clients-typescript: ## the TypeScript client: its stubs from proto/, and a package in clients/typescript/dist; wants Node.js
	clients/typescript/generate.sh
	@ls clients/typescript/dist/*.tgz

clients-test: build clients ## the tests of the clients and their adapters, with the frameworks, against the built server; they want the registries of packages
	STRATA_BINARY=$(abspath $(BIN)/strata) clients/python/check.sh
	STRATA_BINARY=$(abspath $(BIN)/strata) clients/typescript/check.sh
	STRATA_BINARY=$(abspath $(BIN)/strata) go test -C client/eino -count=1 ./...

bench-clients: build clients-typescript ## what the clients add to a call of the raw stubs
	cd clients/python && STRATA_BINARY=$(abspath $(BIN)/strata) PYTHONPATH=src "$$(./venv.sh)" bench.py
	cd clients/typescript && STRATA_BINARY=$(abspath $(BIN)/strata) node bench.mjs

modules: ## every module of Go in the repository: go mod tidy changes nothing, and all compiles, with tests and build tags
	@tools/modules.sh

lint: ## buf lint and golangci-lint
	cd proto && $(subst tools/,../tools/,$(BUF)) lint
	$(LINT) run ./...
	cd bench && $(subst tools/,../tools/,$(LINT)) run ./...
	cd client/eino && $(subst tools/,../../tools/,$(LINT)) run ./...

REDOCLY := @redocly/cli@2.77.0

lint-openapi: ## api/openapi.yaml is an OpenAPI 3.1 document whose examples fit their schemas; wants Node.js
	@tools/again.sh npx --yes --package=$(REDOCLY) -- true
	REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true npx --yes $(REDOCLY) lint --config tools/redocly/redocly.yaml api/openapi.yaml

lint-mcp: build ## the MCP Inspector's checks, over stdin and over HTTP; wants Node.js
	STRATA_BINARY=$(abspath $(BIN)/strata) tools/mcp/check.sh

generate: ## the Go code of proto/, into api/, the page of settings, the assembly of inner products, and the licences of what is linked
	$(BUF) generate --template proto/buf.gen.yaml
	go run -C tools/gen ./openapi ../../proto/openapi.examples.yaml <api/openapi.yaml >api/openapi.new
	@mv api/openapi.new api/openapi.yaml
	go run ./cmd/strata config reference >docs/operate/configuration.md
	go generate ./internal/recall/dot
	go run ./tools/licenses >internal/program/cli/notices.new && mv internal/program/cli/notices.new internal/program/cli/THIRD_PARTY_NOTICES

verify: ## what is committed is formatted, generated and linted
	@if git grep -nE '^(<<<<<<<|>>>>>>>) '; then echo "a merge left its marks"; exit 1; fi
	@out="$$(gofmt -l bench client cmd deploy docs internal migrations tools/fit tools/licenses tools/sbom)"; if [ -n "$$out" ]; then echo "gofmt these files:"; echo "$$out"; exit 1; fi
	@go run ./tools/licenses | diff -q - internal/program/cli/THIRD_PARTY_NOTICES >/dev/null || \
		{ echo "internal/program/cli/THIRD_PARTY_NOTICES is not what is linked into the program: run make generate and commit it"; exit 1; }
	@before="$$(git diff -- api; git ls-files -o --exclude-standard -- api)"; $(MAKE) --no-print-directory generate; \
		after="$$(git diff -- api; git ls-files -o --exclude-standard -- api)"; \
		if [ "$$before" != "$$after" ]; then echo "api/ is not what proto/ generates: run make generate and commit it"; git diff --stat -- api; exit 1; fi
	$(MAKE) --no-print-directory lint
	go vet -C bench -tags=sabotage ./...

fuzz: ## every fuzz target for FUZZTIME (30s)
	@for t in $(FUZZ); do echo "fuzz $$t for $(FUZZTIME)"; go test -run='^$$' -fuzz="^$${t#*:}$$" -fuzztime=$(FUZZTIME) ./"$${t%%:*}"; done

bench-context: tools ## BuildContext on W and W2: p50, p99, cold
	$(BIN)/strata-bench context -binary=$(BIN)/strata $(BENCH_ARGS)

bench-neighbours: tools ## W alone and beside NEIGHBOURS (100000) other users of 30 messages
	$(BIN)/strata-bench neighbours -binary=$(BIN)/strata -neighbours=$(NEIGHBOURS) $(BENCH_ARGS)

bench-large: tools ## one user of MESSAGES (500000): BuildContext's time, its memory with 32 calls at once
	$(BIN)/strata-bench large -binary=$(BIN)/strata -messages=$(MESSAGES) $(BENCH_ARGS)

bench-record: tools ## Record: open loop beside a bare insert, closed loops of 64 clients
	$(BIN)/strata-bench record -binary=$(BIN)/strata $(BENCH_ARGS)

bench-crash: tools ## kill -9 under load, CYCLES (30) times, and the sabotaged build
	$(BIN)/strata-bench crash -binary=$(BIN)/strata -twin=$(BIN)/strata-twin -cycles=$(CYCLES) $(BENCH_ARGS)

bench-seams: tools ## kill -9 at every point of background work, SEAMS_HITS (3) times each, and the sabotaged build
	$(BIN)/strata-bench seams -binary=$(BIN)/strata -twin=$(BIN)/strata-twin -seams-hits=$(SEAMS_HITS) $(BENCH_ARGS)

bench-conflict: tools ## two sessions of a user that contradict each other, REPLAYS (50) times, with restarts
	$(BIN)/strata-bench conflict -binary=$(BIN)/strata -replays=$(REPLAYS) $(BENCH_ARGS)

bench-outage: tools ## a model that does not answer for LENGTH (60s): facts missing after it, calls that it cost
	$(BIN)/strata-bench outage -binary=$(BIN)/strata -length=$(LENGTH) $(BENCH_ARGS)

bench-facts: tools ## BuildContext on W with 10,000 facts and an embedder: p50, p99
	$(BIN)/strata-bench facts -binary=$(BIN)/strata $(BENCH_ARGS)

bench-langmem: tools ## SearchFacts at 10,000 facts of 1,536 numbers beside LangMem over sqlite-vec; installs LangMem by pip
	$(BIN)/strata-bench langmem -binary=$(BIN)/strata -calls=300 $(BENCH_ARGS)

bench-learn: tools ## how soon a fact is there; model calls of a conversation of 100 messages
	$(BIN)/strata-bench learn -binary=$(BIN)/strata $(BENCH_ARGS)

bench-idle: tools ## an idle server's memory; whether the binary is static
	$(BIN)/strata-bench idle -binary=$(BIN)/strata $(BENCH_ARGS)

bench-overload: tools ## calls that cost most, 64 at once, beside Record and small contexts: memory, answers, delay
	$(BIN)/strata-bench overload -binary=$(BIN)/strata $(BENCH_ARGS)

bench-load: tools ## users by Zipf call one file for LOAD (2m) at a fixed rate: flat times, memory and file, nothing lost; BENCH_ARGS=-users=... -messages=... for its size
	$(BIN)/strata-bench load -binary=$(BIN)/strata -duration=$(LOAD) $(BENCH_ARGS)

bench-sharding: tools ## where a billion messages would lie on many shards, by the real keys; reckoned in half a minute
	$(BIN)/strata-bench sharding $(BENCH_ARGS)

# The figures of the distributed tiers want the three servers: see backends-up.
TIERS = file="$$(tools/backends/backends.sh file)"; given="$$(export -p | grep -E ' STRATA_TEST_[A-Z_]+=' || true)"; if [ -f "$$file" ]; then . "$$file"; fi; eval "$$given";

bench-hostile: tools ## REQUESTS (10000) hostile requests at each way in: panics, memory, whose fault replies call it
	$(BIN)/strata-bench hostile -binary=$(BIN)/strata -requests=$(REQUESTS) $(BENCH_ARGS)

bench-tiers: tools ## BuildContext over MongoDB, Milvus and Elasticsearch: own time beside theirs
	@$(TIERS) $(BIN)/strata-bench tiers -binary=$(BIN)/strata $(BENCH_ARGS)

bench-load-tiers: tools ## users by Zipf call three replicas over the three servers for LOAD (2m), RATE (15) times a second; one of each kind is killed and comes back. It kills the servers of backends-up
	$(BIN)/strata-bench load-tiers -binary=$(BIN)/strata -duration=$(LOAD) -users=2000 -messages=50000 -facts=15000 -rate=$(RATE) $(BENCH_ARGS)

bench-reindex: tools ## how fast Milvus and Elasticsearch are filled again from MongoDB
	@$(TIERS) $(BIN)/strata-bench reindex -binary=$(BIN)/strata $(BENCH_ARGS)

bench-hanging: tools ## Record while Milvus and Elasticsearch hang
	@$(TIERS) $(BIN)/strata-bench hanging -binary=$(BIN)/strata $(BENCH_ARGS)

bench-mongokill: tools ## kill -9 of the MongoDB server under load, MONGO_CYCLES (20) times
	$(BIN)/strata-bench mongokill -binary=$(BIN)/strata -cycles=$(MONGO_CYCLES) $(BENCH_ARGS)

bench-replicas: tools ## three servers on one MongoDB, one of them killed
	@$(TIERS) $(BIN)/strata-bench replicas -binary=$(BIN)/strata $(BENCH_ARGS)

# What LoCoMo is measured with, and the least it must reach.
LOCOMO = -facts=replayed -sections -bar=recall_10=.825 -bar=turns_500=.80 -bar=turns_1k=.87 -bar=turns_2k=.91 -bar=turns_4k=.94 \
	-bar=known_1k=no_facts_1k -bar=known_2k=no_facts_2k -bar=known_4k=no_facts_4k

locomo-tiers: tools ## the same as locomo with all in the three servers
	@if [ -z "$(LOCOMO_DIR)" ]; then echo "name the folder of dialogues: make locomo-tiers LOCOMO_DIR=path"; exit 2; fi
	@$(TIERS) $(BIN)/strata-eval locomo -tiers $(LOCOMO) -binary=$(BIN)/strata -data="$(LOCOMO_DIR)" $(EVAL_ARGS)

chats: tools ## recall on this project's own chats in five languages: few words shared, and by time
	$(BIN)/strata-eval chats -types=low-overlap -binary=$(BIN)/strata -data=bench/internal/eval/testdata/chats $(EVAL_ARGS)
	$(BIN)/strata-eval chats -types=time -binary=$(BIN)/strata -data=bench/internal/eval/testdata/chats $(EVAL_ARGS)

learnt: tools ## what the built-in rules learn from the same chats, by language
	$(BIN)/strata-eval facts -binary=$(BIN)/strata -data=bench/internal/eval/testdata/chats $(EVAL_ARGS)

bench: ## the Go benchmarks of all packages
	go test -run='^$$' -bench=. -benchmem ./...

locomo: tools ## recall on LoCoMo dialogues: LOCOMO_DIR=folder
	@if [ -z "$(LOCOMO_DIR)" ]; then echo "name the folder of dialogues: make locomo LOCOMO_DIR=path"; exit 2; fi
	$(BIN)/strata-eval locomo $(LOCOMO) -binary=$(BIN)/strata -data="$(LOCOMO_DIR)" $(EVAL_ARGS)

property: ## 10,000 generated histories and budgets, and HISTORIES (10000) with policies: nothing over budget, no split tool pair, nothing pinned lost
	go test -count=1 -run=TestEveryContextKeepsThePromises ./internal/contexts/assembly -rapid.checks=10000 -rapid.seed=$(SEED)
	go test -count=1 -timeout=60m -run=TestEveryPolicyKeepsThePromises ./internal/contexts/compaction -rapid.checks=$(HISTORIES) -rapid.seed=$(SEED)

figures: tools property ## every figure of docs/evaluate; LOCOMO_DIR=folder for recall
	$(BIN)/strata-bench all -binary=$(BIN)/strata -twin=$(BIN)/strata-twin -cycles=$(CYCLES) -seams-hits=$(SEAMS_HITS) -replays=$(REPLAYS) -neighbours=$(NEIGHBOURS) $(BENCH_ARGS)
	@if [ -n "$(LOCOMO_DIR)" ]; then $(MAKE) --no-print-directory locomo; else echo "SKIP recall: LOCOMO_DIR is not set"; fi

proof: proof-crash proof-load proof-properties proof-fuzz proof-servers proof-erasure proof-release ## the long proofs, one part after the other: docs/operate/safety.md

proof-crash: ## 300 kills under load and 12 at every point of background work, 300 replays of a conflict, a model's outage of ten minutes
	$(MAKE) bench-crash CYCLES=300
	$(MAKE) bench-seams SEAMS_HITS=12
	$(MAKE) bench-conflict REPLAYS=300
	$(MAKE) bench-outage LENGTH=10m

proof-load: ## the costliest calls for two minutes, 100,000 hostile requests at each way in, one user of 500,000 messages, a mixed load for half an hour
	$(MAKE) bench-overload BENCH_ARGS=-duration=2m
	$(MAKE) bench-hostile REQUESTS=100000
	$(MAKE) bench-large
	$(MAKE) bench-load LOAD=30m

proof-properties: ## 10,000 cases of each property, 100,000 histories with policies, drawn anew each time
	$(MAKE) property HISTORIES=100000 SEED=0
	RAPID_CHECKS=10000 go test -count=1 -timeout=60m $(PROPERTIES)

proof-fuzz: ## four minutes of each fuzz target
	$(MAKE) fuzz FUZZTIME=4m

proof-servers: ## with the three servers: every outage, every hostile string, the figures, 20 kills of MongoDB, a mixed load for half an hour; containers
	$(MAKE) backends-up
	STRATA_TEST_FULL=1 STRATA_TEST_REQUIRE=mongodb,milvus,elasticsearch $(MAKE) test-integration INTEGRATION_TIMEOUT=60m INTEGRATION_ARGS='-skip=TestDeletionMatrix'
	$(MAKE) bench-tiers
	$(MAKE) bench-reindex
	$(MAKE) bench-hanging
	$(MAKE) bench-replicas
	$(MAKE) bench-mongokill
	$(MAKE) bench-load-tiers LOAD=30m
	$(MAKE) test-containers

proof-erasure: ## with the three servers: every cell of the deletion matrix
	$(MAKE) backends-up
	@$(TIERS) STRATA_TEST_FULL=1 STRATA_TEST_REQUIRE=mongodb,milvus,elasticsearch go test -count=1 -timeout=60m -run=TestDeletionMatrix ./internal/testing/e2e/erasure

proof-release: ## two builds with equal bytes, the chart, dashboards and alerts
	$(MAKE) release-check
	$(MAKE) charts

charts: ## the Helm chart by lint, schemas and the program's own settings; every query of dashboard and alerts over the metrics of a server that works
	go test -C deploy/check -count=1 ./...

docs: ## every command and program of the README and docs/, run as it stands there
	STRATA_TEST_REQUIRE=docs go test -count=1 -timeout=20m -run=TestCommandsRun ./docs

demo: ## the offline demo
	go run ./cmd/strata demo

backends-up: ## start a MongoDB server, Milvus and Elasticsearch here, without containers; the first time installs them
	@tools/backends/backends.sh up

backends-down: ## stop them; their data stays
	@tools/backends/backends.sh down

backends-wipe: ## kill them and delete their data
	@tools/backends/backends.sh wipe

# The packages above the drivers, whose tests want real servers too.
OVER_SERVERS := ./internal/store/storecopy ./internal/testing/e2e/... ./internal/program/cli

other-packages: # what make test-integration does not run, by import path
	@go list ./... | grep -vxF "$$(go list $(OVER_SERVERS))"

INTEGRATION_ARGS    ?=
INTEGRATION_TIMEOUT ?= 20m

# Addresses in the environment come before those that backends-up wrote. STRATA_TEST_REQUIRE=mongodb,milvus,elasticsearch
# turns the skip of a test whose server is not there into a failure. The drivers run under the race detector; of the packages
# above them it has seen the same code in make race.
test-integration: ## the tests that want the three servers; see backends-up
	@$(TIERS) export RAPID_SEED=$(SEED); if command -v "$$(go env CC)" >/dev/null; then export CGO_ENABLED=1; race=-race; else \
			echo "NOTICE: no C compiler ($$(go env CC)): the tests run without the race detector"; race=; fi; \
		go test $$race -vet=off $(TOGETHER) -count=1 -timeout=20m ./internal/store/mongostore ./internal/store/milvusstore ./internal/store/elasticstore; \
		go test -C bench -count=1 ./internal/sharding; \
		go test $(TOGETHER) -count=1 -timeout=$(INTEGRATION_TIMEOUT) $(INTEGRATION_ARGS) $(OVER_SERVERS)

test-containers: ## compose up, the main job, down, and the tests of integration/, in a Docker engine; builds stand-in images where none can be pulled
	@tools/backends/containers.sh test

docker: ## the container image
	docker build --build-arg VERSION="$(VERSION)" -t $(IMAGE) .

release: ## binaries, archives, bills of materials and checksums of all systems, in dist/; TARGETS="linux/amd64 ..." for some
	@VERSION="$(VERSION)" tools/release.sh

release-check: ## two builds of TARGETS (linux/amd64), the second elsewhere and without a cache, give equal bytes
	@VERSION="$(VERSION)" tools/release.sh check

vuln: ## known vulnerabilities in what the program and the module for eino call; VULN=optional where their database cannot be had
	@tools/vuln/check.sh
	@tools/vuln/check.sh -C client/eino .

clean: ## remove what was built
	rm -rf $(BIN) dist
