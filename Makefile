SHELL := /bin/bash
# Everything a person runs here. Each target is a script under tools/.
.PHONY: help bootstrap sbom up down test test-all mutate bench simulate fuzz chaos upgrade generate manifest image push cluster
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: ## install what is missing, build, and run antrea and a demo on a kind cluster named antrea (BRIDGING=1: bridging mode; SECONDARY=1: secondary networks; PROXYALL=1: no kube-proxy)
	@tools/up.sh

down: ## remove the clusters of `make up` and `make test`
	@tools/down.sh

test: ## build, lint, types, unit, integration, set-up and e2e tests, and Kubernetes' conformance (KEEP=1 keeps the e2e cluster)
	@tools/test.sh

test-all: ## `make test` and all that takes long: PARTS="test e2e-matrix kubernetes kubernetes-beside repeat mutate fuzz simulate upgrade chaos-overlay chaos-bridging chaos-networks chaos-services" (docs/testing.md)
	@tools/test-all.sh $(PARTS)

mutate: bootstrap ## change code here and there and see whether unit tests notice: files changed since BASE=main, ALL=1, PROJECT=, FILE=; at most SAMPLE=N of each area, chosen by SEED=1, for MINUTES=30; WRITE=1 writes the scores (docs/testing.md)
	@. tools/lib.sh && node tools/mutate/main.ts $(if $(ALL),--all) $(if $(BASE),--base $(BASE)) $(if $(PROJECT),--project "$(PROJECT)") \
		$(if $(FILE),--file $(FILE)) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(if $(MINUTES),--minutes $(MINUTES)) \
		$(if $(WRITE),--write)

bench: ## measure, and write docs/benchmarks/
	@tools/setup/bootstrap.sh && tools/bench/run.sh

simulate: bootstrap ## simulate clusters and check the invariants: SEEDS=10000 STEPS=1000, or SEED=N of one history, with only ACTIONS=3,17; SEEDED_BUGS=1 whether each seeded bug is found, SEEDED_BUG= one of them (docs/simulation.md)
	@. tools/lib.sh && node tools/simulate/main.ts $(if $(SEED),--seed $(SEED)) $(if $(SEEDS),--seeds $(SEEDS)) \
		$(if $(STEPS),--steps $(STEPS)) $(if $(ACTIONS),--actions $(ACTIONS)) $(if $(SEEDED_BUG),--seeded-bug $(SEEDED_BUG)) $(if $(SEEDED_BUGS),--seeded-bugs)

fuzz: bootstrap ## fuzz all decoders for an hour (FUZZ_SECONDS, SEED), and add what was found to tools/fuzz/corpus
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-3600} tools/fuzz/run.sh --save

chaos: bootstrap ## kill, pause and starve the programs of a real cluster for half an hour (MINUTES, BRIDGING=1, NETWORKS=1, PROXYALL=1, WRITE=1; docs/chaos.md)
	@tools/chaos.sh

upgrade: bootstrap ## upgrade from each earlier release and go back, with Pods running (WRITE=1; docs/operations.md)
	@tools/upgrade.sh

generate: bootstrap ## write what is generated: the chart's CRDs, policies, schema and README
	@. tools/lib.sh && node tools/chart/generate.ts

manifest: bootstrap ## write dist/antrea.yml, to install with kubectl apply (VALUES="--set …" for other values of the chart)
	@tools/manifest.sh $(VALUES)

sbom: image ## build the images, and show where their bills of materials (CycloneDX) are
	@ls -1 dist/sbom/*.cdx.json

bootstrap: ## install the packages, Node.js, Go and npm packages that the others need
	@tools/setup/bootstrap.sh

image: bootstrap ## build the images antrea-agent, antrea-controller and antrea-webhook (antrea/antrea-agent:dev, …)
	@tools/build.sh

push: ## build the three images, and push them to a registry: REGISTRY=registry.example.com/team, TAG= (default: the chart's)
	@tools/images/push.sh

cluster: bootstrap ## create an empty kind cluster named antrea-e2e, without antrea
	@tools/cluster/create.sh antrea-e2e
