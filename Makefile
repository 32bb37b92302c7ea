# Kubernetes version of the clusters that tests and the demo start.
K8S ?= 1.37.2
FUZZTIME ?= 30s
SEEDS ?= 500
FIRST ?= 1
TAG ?= dev

tool = go tool -modfile=internal/tools/$(1)/go.mod $(1)
gotest = $(call tool,gotestsum) --format pkgname-and-test-fails --hide-summary skipped --

.DEFAULT_GOAL := help

.PHONY: help
help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## a real cluster on this machine with Fairlead in it, and Pods with injected sidecars
	@go run ./test/demo --kubernetes-version $(K8S)

.PHONY: down
down: ## stop the demo's cluster and undo everything it did
	@go run ./test/cluster down --name demo

.PHONY: test
test: verify lint unit chart-test smoke ## all that CI runs

.PHONY: build
build: ## the binary, static, in bin/
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o bin/fairlead ./cmd/fairlead

.PHONY: release
release: ## chart and its index, image, command line, bills of materials, checksums, in dist/ (VERSION=1.2.3; else from the tag)
	go run ./internal/tools/release

.PHONY: generate
generate: ## write what is generated: deepcopy, CRDs, the table of rules, the chart's README
	go generate ./api/... ./validators/...
	$(call tool,helm-docs) --chart-search-root charts --log-level warning

.PHONY: verify
verify: generate ## fail when generated files, go.mod or formatting differ from what is committed
	go mod tidy
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt: $$(gofmt -l $$(git ls-files '*.go'))"; exit 1; }
	go vet ./...
	git diff --exit-code

.PHONY: lint
lint: ## golangci-lint
	$(call tool,golangci-lint) run ./...

.PHONY: unit
unit: control-plane ## unit, property, golden and conformance tests, and those on a real API server
	FAIRLEAD_REQUIRE_CLUSTER=1 FAIRLEAD_KUBERNETES_VERSION=$(K8S) $(gotest) -timeout 20m ./...

.PHONY: chart-test
chart-test: ## lint the chart, its unit tests and the schemas of what it renders
	$(call tool,helm) lint charts/kruise
	$(call tool,helm-unittest) charts/kruise
	internal/tools/kubeconform/check.sh

.PHONY: control-plane
control-plane: ## build etcd, the Kubernetes binaries and Helm, once per version (ten minutes when cold)
	go run ./test/cluster build --kubernetes-version $(K8S)

.PHONY: smoke
smoke: control-plane ## the short tests on real nodes
	FAIRLEAD_REQUIRE_CLUSTER=1 FAIRLEAD_KUBERNETES_VERSION=$(K8S) $(gotest) -tags e2e -short -count 1 -timeout 25m ./test/e2e/...

.PHONY: e2e
e2e: control-plane ## every test on real nodes
	FAIRLEAD_REQUIRE_CLUSTER=1 FAIRLEAD_KUBERNETES_VERSION=$(K8S) $(gotest) -tags e2e -count 1 -timeout 90m ./test/e2e/...

.PHONY: load
load: control-plane ## Pods created while everything is restarted, rotated, killed, or switched to cert-manager; a cold start among 10,000 SidecarSets (25 minutes)
	FAIRLEAD_REQUIRE_CLUSTER=1 FAIRLEAD_KUBERNETES_VERSION=$(K8S) go test -tags load -count 1 -timeout 60m -p 1 -v ./test/load/disruption ./test/certificates ./test/budget

.PHONY: race
race: ## unit tests with the race detector
	$(gotest) -race -short -timeout 30m ./api/... ./certs/... ./controllers/... ./mutators/... ./webhook/...

.PHONY: perturb
perturb: ## controllers under crashes, lost answers, stale caches and the rest: all faults, and SEEDS random runs from FIRST (15 minutes of CPU time)
	go test ./test/perturb/cloneset -count 1 -timeout 60m -args -perturb.long -perturb.seeds $(SEEDS) -perturb.first $(FIRST)

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME
	@for p in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$p | grep ^Fuzz); do \
		echo "== $$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p || exit 1; done; done

.PHONY: bench-admission
bench-admission: ## what admission costs, as ratios to a server that does nothing
	go run ./test/load/admission

.PHONY: bench-controllers
bench-controllers: control-plane ## what the controllers write, use and how long they take, on pretended nodes (about an hour)
	go run ./test/load/controllers

.PHONY: vuln
vuln: ## known vulnerabilities in what we link
	$(call tool,govulncheck) ./...
