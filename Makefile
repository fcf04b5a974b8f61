# The face for people: `make help` is the manual. Each target is one line onto an npm script.
SHELL := /bin/sh
.DEFAULT_GOAL := help
KUBECTL ?= kubectl
IMG ?= multinic-operator:latest
.PHONY: help up down status tour test e2e check bench chaos soak figures pictures generate build images images-load release install-packages install-tools install uninstall deploy undeploy fmt

help: ## show this page
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: install-packages install-tools ## run the whole chain on this machine: 3 nodes, ports, NICs, inventory; then says what to type next; KUBERNETES=real, OPENSTACK=real
	@if [ "$(KUBERNETES)" = real ]; then scripts/provision.sh kubernetes; fi
	@if [ "$(OPENSTACK)" = real ]; then scripts/provision.sh openstack; fi
	@./bin/multinic sandbox up --kubernetes $(or $(KUBERNETES),simulated) --openstack $(or $(OPENSTACK),simulated)

down: ## stop the sandbox and leave nothing behind
	@if [ -x node_modules/.bin/node ]; then ./bin/multinic sandbox down; else echo "nothing to stop: the project was never installed here"; fi

status: install-packages ## show the sandbox as a tree
	@./bin/multinic sandbox status

tour: install-packages install-tools ## a guided tour for newcomers: starts a sandbox, shows it step by step, takes it down
	@./bin/multinic sandbox tour

test: install-packages install-tools ## all tests that need no heavy servers (as root also those in network namespaces)
	@npm run --silent test

e2e: install-packages ## everything against the real parts; ONLY=word runs the files with that word in their path
	@npm run --silent e2e

check: install-packages ## types, lint, generated files, house rules
	@npm run --silent check

bench: install-packages install-tools ## figures, each beside a reference of the same run; ONLY=room, BENCH_JSON=file
	@npm run --silent bench

chaos: install-packages install-tools ## acts and faults at random in the sandbox while guarantees are watched; SEED=, ROUNDS=, STEPS=, RABBITMQ=local
	@node_modules/.bin/node test/chaos/main.ts

soak: install-packages ## a fleet with steady churn and short faults: memory, queues and errors are judged; MINUTES=30, NODES=1000, SEED=
	@node_modules/.bin/node test/soak/main.ts

figures: install-packages ## keep the figures of the last make bench for the documents
	@node_modules/.bin/node scripts/figures.ts && node_modules/.bin/node scripts/generate.ts

pictures: install-packages install-tools ## draw the pictures of the documents again: dashboard (needs Chromium) and terminal
	@DOCS_PICTURES=1 ONLY=dashboard-fleet npm run --silent e2e
	@node_modules/.bin/node scripts/terminal-picture.ts

generate: install-packages ## write CRDs, OpenAPI and reference pages anew
	@npm run --silent generate

build: install-packages ## bundle the parts into dist/
	@npm run --silent build

install: ## put our CRDs into the cluster of your kubeconfig, or bring them up to date
	@$(KUBECTL) apply --server-side --force-conflicts --kustomize config/crd

uninstall: ## take our CRDs out of it; refuses while objects exist (FORCE=1 lets them go, NICs stay)
	@KUBECTL="$(KUBECTL)" scripts/uninstall.sh

deploy: ## run the operator in it: make deploy IMG=registry/multinic-operator:tag
	@$(KUBECTL) kustomize config/default | sed 's|image: multinic-operator:latest|image: $(IMG)|' | $(KUBECTL) apply --server-side --force-conflicts --filename -

undeploy: ## take the operator out of it; CRDs, objects, namespaces and NICs stay
	@$(KUBECTL) delete --ignore-not-found --kustomize config/manager
	@$(KUBECTL) delete --ignore-not-found --kustomize config/rbac

images: install-packages install-tools ## write the container images as OCI archives to dist/images, with SBOM and licences; ARCH=arm64, IMAGE_TAG=
	@node_modules/.bin/node scripts/images.ts

images-load: ## hand those archives to the container runtime of this machine (containerd, nerdctl, podman, docker)
	@scripts/images-load.sh

release: install-packages install-tools ## write all artefacts of this version to dist/release: images, chart, CRDs, kustomize, CLI; ARCH=amd64 for one processor
	@node_modules/.bin/node scripts/release.ts

fmt: install-packages ## format and fix what can be fixed
	@npm run --silent fmt

install-packages: node_modules/.installed ## install the project's own packages

install-tools: ## install the system's network tools where they are missing (root, Debian or Ubuntu)
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then scripts/provision.sh base; fi

node_modules/.installed: package.json package-lock.json
	@npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
