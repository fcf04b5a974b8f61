# Targets for users and developers. `make help` lists them; most run an npm script.
SHELL := /bin/sh
.DEFAULT_GOAL := help
KUBECTL ?= kubectl
IMG ?= multinic-operator:latest
.PHONY: help up down status tour test e2e vm check bench growth guard mutate judge flaky nightly chaos soak figures pictures generate build images images-load release install-packages install-tools install uninstall deploy undeploy fmt

help: ## list all targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: install-packages install-tools ## start a complete local environment: 3 nodes, ports, NICs, inventory; KUBERNETES=real, OPENSTACK=real, NODES=vm
	@if [ "$(KUBERNETES)" = real ]; then scripts/provision.sh kubernetes; fi
	@if [ "$(OPENSTACK)" = real ]; then scripts/provision.sh openstack; fi
	@if [ "$(NODES)" = vm ]; then scripts/provision.sh vm netplan; fi
	@./bin/multinic sandbox up --kubernetes $(or $(KUBERNETES),simulated) --openstack $(or $(OPENSTACK),simulated) $(if $(filter vm,$(NODES)),--vm)

down: ## stop the sandbox and remove everything it created
	@if [ -x node_modules/.bin/node ]; then ./bin/multinic sandbox down; else echo "nothing to stop: the packages are not installed"; fi

status: install-packages ## show the sandbox as a tree
	@./bin/multinic sandbox status

tour: install-packages install-tools ## guided tour: start a sandbox, explain it step by step, and stop it
	@./bin/multinic sandbox tour

test: install-packages install-tools ## run all tests that need no external servers (as root, including those in network namespaces)
	@npm run --silent test

e2e: install-packages ## run the tests against real Kubernetes, OpenStack and others; ONLY=word selects files by path, CASES=core those of CI
	@npm run --silent e2e

vm: install-packages ## run the tests on real virtual machines (QEMU, root); ONLY=word selects files by path, CASES=core those of CI
	@node_modules/.bin/node scripts/e2e.ts vm

check: install-packages ## check types, lint, generated files and repository rules
	@npm run --silent check

bench: install-packages install-tools ## run the benchmarks, each with a reference from the same run; ONLY=name, ALL=1 (40 minutes), BENCH_JSON=file
	@npm run --silent bench

guard: install-packages install-tools ## run the quick benchmarks; fail if a figure is worse than its goal times 1.3 in the best of three runs; ONLY=name
	@scripts/provision.sh browser
	@node_modules/.bin/node scripts/guard.ts

growth: install-packages install-tools ## measure growth from 10 to 20,000 nodes and estimate 100,000; takes a quarter of an hour or more
	@ONLY=growth npm run --silent bench

mutate: install-packages dist/mutation/tool/.installed ## mutation test: change the code that decides and list the changes that no unit test notices; ONLY=operator/plan, SINCE=commit
	@node_modules/.bin/node scripts/mutate.ts

judge: install-packages install-tools ## show that a refactoring changes no behaviour: operator and agent of SINCE=commit and of this tree get the same answers and faults; SEEDS=24, OPERATIONS=300, ONLY=operator or agent
	@node_modules/.bin/node test/judge/main.ts

flaky: install-packages install-tools ## run each new or changed test file 20 times on busy processors; SINCE=commit, ONLY=word, TIMES=20, E2E=1
	@node_modules/.bin/node scripts/flaky.ts

nightly: install-packages install-tools ## run the tests that CI leaves out, for hours, and store the results in the documents; ONLY=part
	@scripts/provision.sh rabbitmq
	@node_modules/.bin/node scripts/nightly.ts; status=$$?; node_modules/.bin/node scripts/generate.ts; exit $$status

chaos: install-packages install-tools ## chaos test: random actions and faults in the sandbox, with all guarantees checked; SEED=, ROUNDS=, STEPS=, RABBITMQ=local
	@node_modules/.bin/node test/chaos/main.ts

soak: install-packages ## soak test: the replicas of production, many nodes with constant changes and short faults, checking memory, queues, database and errors; MINUTES=30, NODES=1000, SEED=
	@node_modules/.bin/node test/soak/main.ts

figures: install-packages ## write the figures of make bench ALL=1 to the documents; refuses an incomplete set or several commits
	@node_modules/.bin/node scripts/figures.ts && node_modules/.bin/node scripts/generate.ts

pictures: install-packages install-tools ## update the pictures in the documents: dashboard (needs Chromium) and terminal
	@DOCS_PICTURES=1 ONLY=dashboard-fleet npm run --silent e2e
	@node_modules/.bin/node scripts/terminal-picture.ts

generate: install-packages ## generate CRDs, OpenAPI and reference pages
	@npm run --silent generate

build: install-packages ## bundle the components into dist/
	@npm run --silent build

install: ## install or update the CRDs in the cluster of your kubeconfig
	@$(KUBECTL) apply --server-side --force-conflicts --kustomize config/crd

uninstall: ## delete the CRDs; refuses while objects exist (FORCE=1 deletes them too; NICs stay)
	@KUBECTL="$(KUBECTL)" scripts/uninstall.sh

deploy: ## deploy the operator: make deploy IMG=registry/multinic-operator:tag
	@policies=$$($(KUBECTL) api-resources --api-group=admissionregistration.k8s.io --output=name); \
	case "$$policies" in *validatingadmissionpolicies*) dir=config/default ;; *) dir=config/before-1.30 ;; esac; \
	$(KUBECTL) kustomize $$dir | sed 's|image: multinic-operator:latest|image: $(IMG)|' | $(KUBECTL) apply --server-side --force-conflicts --filename -

undeploy: ## remove the operator; CRDs, objects, namespaces and NICs stay
	@$(KUBECTL) delete --ignore-not-found --kustomize config/manager
	@$(KUBECTL) delete --ignore-not-found --kustomize config/rbac
	@$(KUBECTL) delete --ignore-not-found --kustomize config/admission

images: install-packages install-tools ## build the container images as OCI archives in dist/images, with SBOM and licenses; ARCH=arm64, IMAGE_TAG=
	@node_modules/.bin/node scripts/images.ts

images-load: ## load these archives into the container runtime of this machine (containerd, nerdctl, podman, docker)
	@scripts/images-load.sh

release: install-packages install-tools ## build all artifacts of this version in dist/release: images, chart, CRDs, kustomize, CLI; ARCH=amd64 for one architecture
	@node_modules/.bin/node scripts/release.ts

fmt: install-packages ## format the code and fix lint errors
	@npm run --silent fmt

install-packages: node_modules/.installed ## install the npm packages of the project

install-tools: ## install missing network tools of the system (root, Debian or Ubuntu)
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then scripts/provision.sh base; fi

node_modules/.installed: package.json package-lock.json
	@scripts/progress.sh 'installing the npm packages' npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

dist/mutation/tool/.installed: test/mutation/package-lock.json
	@mkdir -p dist/mutation/tool && cp test/mutation/package.json test/mutation/package-lock.json dist/mutation/tool/
	@scripts/progress.sh 'installing the mutation testing tool' npm ci --prefix dist/mutation/tool --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
