# What there is to do, each idempotent and quick when nothing is to be done:
#
#   make build     install what is missing, build everything in release mode
#   make run       build, then run a server with a Redis of its own; Ctrl-C ends it
#   make demo      fill the running server with simulated people
#   make check     the inner loop, under a minute once it is built: format, pure tests, some histories, some conformance
#   make test      set up, build for tests, run all of them; DEBUG=1 without the optimizer
#   make test-kit  one suite: kit, server, protocol, conformance, simulator, … (Tests/README.md); FILTER=… some of its tests
#   make soak      the simulator for SOAK_SECONDS=600, or the one history of SEED=…
#   make quick     the quick end-to-end run of the load tester
#   make chaos     three servers, one Redis, hundreds of clients, and everything that can break: CHAOS_SECONDS=60 SEED=…
#   make guard     the server's system calls per delivery and message against their bounds
#   make loadtest  every load test at a small size, and a report: ten minutes
#   make format    format all Swift sources in place        make lint   complain about what make format would change
#   make tsan      all tests under ThreadSanitizer           make asan      all tests under AddressSanitizer
#   make fuzz      the fuzzers, each for FUZZ_SECONDS (10)   make docs      the library's documentation
#   make setup-programs  fetch the proxies, promtool and standardwebhooks, with which some tests of `make test` run, else skip
#   make outside   the server against tools from PyPI: Schemathesis, moto, axe-core; OUTSIDE=S3 one of them
#   make deb       a Debian package of the server and the terminal's clients, in .build-package
#   make test-package  that package installed, upgraded and purged in a Debian of its own, and two clients (root, network)
#   make reproducible  that package built twice in two folders, and compared byte by byte: two builds that take long
#   make clean     remove what was built; data stay
#
# Where `make run` serves, and keeps its data, can be said: make run PORT=5000 DATA_DIR=/tmp/trial. Say the same to make demo.

SHELL := /bin/bash
# Of our code; see Package.swift.
export WARNINGS_AS_ERRORS := 1
.DEFAULT_GOAL := help
.PHONY: help setup setup-tests setup-loadtest setup-programs build deb test-package reproducible run demo build-tests presenced-for-tests check test outside soak quick chaos chaos-short guard loadtest fuzz format lint asan tsan docs clean

PORT ?= 4040
# The server's own default, so that `presenced token` without further ado uses the same secret.
ifeq ($(shell id -u),0)
DATA_DIR ?= /var/lib/presence
else
DATA_DIR ?= $(or $(XDG_DATA_HOME),$(HOME)/.local/share)/presence
endif
DEMO_USER ?= demo
# Builds share the machine with whatever else runs: JOBS=1 for a small one.
JOBS ?= $(shell nproc)

RELEASE := .build/release
STAMPS := .build/stamps

# What the server needs to be built and to run, what the tests need beside it, and what draws the load tests' pictures.
PACKAGES := libwebsockets-dev libwebsockets-evlib-ev libssl-dev libev-dev libhiredis-dev \
    libcurl4-openssl-dev libsodium-dev zlib1g-dev libjpeg62-turbo-dev libpng-dev ca-certificates redis-server
TEST_PACKAGES := python3-pytest python3-pytest-xdist python3-websockets python3-yaml python3-jsonschema \
    python3-h2 python3-aiosmtpd python3-botocore python3-pip chromium chromium-headless-shell esbuild node-typescript python3-pil strace openssl
# Used by tests and not installed, since installing them starts services: unpacked into .build/programs. Some with a library.
PROGRAM_PACKAGES := nginx caddy haproxy liblua5.3-0 libopentracing1 libopentracing-c-wrapper0 prometheus
# Packages of PyPI, in .build/python.
PYTHON_PACKAGES := standardwebhooks==1.1.0
LOADTEST_PACKAGES := python3-matplotlib
# With which the tools of `make outside` are installed, each into a folder of its own in .build.
OUTSIDE_PACKAGES := python3-venv

SOURCES := Package.swift $(shell find web -type f) $(shell find Sources loadtest -type f \
    \( -name '*.swift' -o -name '*.[ch]' -o -name '*.modulemap' -o -name '*.lua' \) 2>/dev/null)

help:
	@awk '!/^#/ { exit } { sub(/^# ?/, ""); print }' $(firstword $(MAKEFILE_LIST))

# ---- Setting up -------------------------------------------------------------------------------------------------------

# Installs what is missing of the packages named in $(1), or says what to install. The stamp is named after the list, so a
# list that grows is looked at again.
define install
	@command -v swift >/dev/null || { echo "Swift 6.3 is needed: https://www.swift.org/install" >&2; exit 1; }
	@missing=""; for package in $(1); do \
	    dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'install ok installed' || missing+=" $$package"; done; \
	if [ -n "$$missing" ]; then \
	    if [ "$$(id -u)" = 0 ]; then run=""; elif sudo -n true 2>/dev/null; then run="sudo -n"; else \
	        echo "These Debian packages are missing. As root: apt-get install$$missing" >&2; exit 1; fi; \
	    echo "Installing$$missing"; \
	    $$run apt-get update -qq || true; \
	    $$run env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >$@.log 2>&1 \
	        || { cat $@.log >&2; exit 1; }; \
	fi
	@touch $@
endef

PACKAGES_STAMP := $(STAMPS)/packages-$(shell echo $(PACKAGES) | cksum | cut -d ' ' -f 1)
TEST_PACKAGES_STAMP := $(STAMPS)/test-packages-$(shell echo $(TEST_PACKAGES) | cksum | cut -d ' ' -f 1)
LOADTEST_PACKAGES_STAMP := $(STAMPS)/loadtest-packages-$(shell echo $(LOADTEST_PACKAGES) | cksum | cut -d ' ' -f 1)
OUTSIDE_PACKAGES_STAMP := $(STAMPS)/outside-packages-$(shell echo $(OUTSIDE_PACKAGES) | cksum | cut -d ' ' -f 1)

$(STAMPS):
	@mkdir -p $@

$(PACKAGES_STAMP): | $(STAMPS)
	$(call install,$(PACKAGES))

$(TEST_PACKAGES_STAMP): | $(STAMPS)
	$(call install,$(TEST_PACKAGES))

$(LOADTEST_PACKAGES_STAMP): | $(STAMPS)
	$(call install,$(LOADTEST_PACKAGES))

$(OUTSIDE_PACKAGES_STAMP): | $(STAMPS)
	$(call install,$(OUTSIDE_PACKAGES))

# A stamp says that the packages were there once; this finds out when one was removed since, for the price of one look.
PRESENT := $(shell dpkg-query -W -f '$${db:Status-Status}\n' $(PACKAGES) 2>/dev/null | grep -c '^installed$$')
ifneq ($(PRESENT),$(words $(PACKAGES)))
.PHONY: $(PACKAGES_STAMP)
endif
TEST_PRESENT := $(shell dpkg-query -W -f '$${db:Status-Status}\n' $(TEST_PACKAGES) 2>/dev/null | grep -c '^installed$$')
ifneq ($(TEST_PRESENT),$(words $(TEST_PACKAGES)))
.PHONY: $(TEST_PACKAGES_STAMP)
endif
LOADTEST_PRESENT := $(shell dpkg-query -W -f '$${db:Status-Status}\n' $(LOADTEST_PACKAGES) 2>/dev/null | grep -c '^installed$$')
ifneq ($(LOADTEST_PRESENT),$(words $(LOADTEST_PACKAGES)))
.PHONY: $(LOADTEST_PACKAGES_STAMP)
endif

setup: $(PACKAGES_STAMP)

setup-tests: $(PACKAGES_STAMP) $(TEST_PACKAGES_STAMP)

PROGRAMS_STAMP := $(STAMPS)/programs-$(shell echo $(PROGRAM_PACKAGES) | cksum | cut -d ' ' -f 1)

$(PROGRAMS_STAMP): | $(STAMPS)
	@rm -rf .build/programs && mkdir -p .build/programs/debs && chmod 755 .build/programs/debs
	@echo "Unpacking $(PROGRAM_PACKAGES)"
	@cd .build/programs/debs && apt-get download -qq $(PROGRAM_PACKAGES) && \
	    for deb in *.deb; do dpkg-deb -x $$deb .. || exit 1; done
	@rm -rf .build/programs/debs && touch $@

PYTHON_STAMP := $(STAMPS)/python-$(shell echo $(PYTHON_PACKAGES) | cksum | cut -d ' ' -f 1)

$(PYTHON_STAMP): | $(STAMPS)
	@rm -rf .build/python
	@echo "Fetching $(PYTHON_PACKAGES)"
	@/usr/bin/python3 -m pip install --quiet --no-deps --only-binary :all: --disable-pip-version-check --root-user-action=ignore \
	    --target .build/python $(PYTHON_PACKAGES)
	@touch $@

setup-programs: $(PROGRAMS_STAMP) $(PYTHON_STAMP)

setup-loadtest: setup-tests $(LOADTEST_PACKAGES_STAMP)

# ---- Building ---------------------------------------------------------------------------------------------------------

PRODUCTS := presenced presence-watch presence-chat presence-load

# `swift build` takes one product at a time.
$(STAMPS)/release-%: $(SOURCES) | $(PACKAGES_STAMP) $(STAMPS)
	@echo "Building $* (release); the first time takes some minutes"
	@swift build -c release -j $(JOBS) --product $*
	@touch $@

build: $(PRODUCTS:%=$(STAMPS)/release-%)
	@echo "Built: $(PRODUCTS:%=$(RELEASE)/%)"

# ---- Packaging --------------------------------------------------------------------------------------------------------

# A build of its own: with Swift's libraries in the programs, the folder's name in none of them, and no place on this machine
# where they would look for libraries. Debug information and the hashes for incremental builds would differ with the folder.
PACKAGE_SCRATCH := .build-package/scratch
PACKAGE_BUILD ?= .build-package/release
PACKAGE_FLAGS := --scratch-path $(PACKAGE_SCRATCH) --static-swift-stdlib --disable-local-rpath \
    -debug-info-format none -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen \
    -Xswiftc -no-toolchain-stdlib-rpath -Xswiftc -file-prefix-map -Xswiftc $(CURDIR)=. -Xcc -ffile-prefix-map=$(CURDIR)=. \
    -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now

.build-package/release/built: $(SOURCES) | $(PACKAGES_STAMP)
	@echo "Building (release, for the package); this takes long"
	@mkdir -p $(@D)
	@for product in presenced presence-watch presence-chat; do \
	    swift build -c release -j $(JOBS) $(PACKAGE_FLAGS) --product $$product && \
	    install -m 755 $(PACKAGE_SCRATCH)/release/$$product $(@D)/ || exit 1; done
	@touch $@

# PACKAGE_BUILD=FOLDER: programs that are there already.
deb: $(if $(filter file,$(origin PACKAGE_BUILD)),.build-package/release/built)
	@rm -f .build-package/presenced_*.deb
	@packaging/build '$(PACKAGE_BUILD)' .build-package

# Not among `make test`: the build takes long, and it needs root and Debian's packages.
test-package: $(if $(filter file,$(origin PACKAGE_BUILD)),.build-package/release/built) | $(TEST_PACKAGES_STAMP)
	@PACKAGE_BUILD='$(PACKAGE_BUILD)' Tests/Package/run

reproducible: | $(PACKAGES_STAMP)
	@packaging/reproducible

# ---- Running ----------------------------------------------------------------------------------------------------------

# The server goes on in the foreground, so that Ctrl-C reaches it; what to try next is told once it serves.
run: $(STAMPS)/release-presenced
	@token=$$($(RELEASE)/presenced token $(DEMO_USER) --data-dir '$(DATA_DIR)') || exit 1; \
	console=$$($(RELEASE)/presenced token console --role backend --expires 1h --data-dir '$(DATA_DIR)') || exit 1; \
	PRESENCE_ATTACHMENTS_ENABLED=true exec $(RELEASE)/presenced serve --accounts --app --console --port $(PORT) --data-dir '$(DATA_DIR)' > >(while IFS= read -r line; do \
	    echo "$$line"; url=$${line#listening on }; \
	    printf '%s\n' '' \
	        "A token for the user $(DEMO_USER), good for a day:" '' "  $$token" '' \
	        'Try next, in a browser or in another terminal:' '' \
	        "  $$(sed 's|^ws|http|; s|/v1/ws$$|/app|' <<<"$$url")" \
	        '      in a browser: sign up. Sign up as somebody else in a private window, add them by their id, and talk' \
	        '      (no mail is sent: mails are files in $(DATA_DIR)/outbox)' \
	        "  $$(sed 's|^ws|http|; s|/v1/ws$$|/console|' <<<"$$url")" \
	        '      for operators: numbers, people, and a playground with two phones. It asks for a token; this is good for an hour:' \
	        "      $$console" \
	        '  make demo$(if $(filter-out file default undefined,$(origin PORT)), PORT=$(PORT))$(if $(filter-out file default undefined,$(origin DATA_DIR)), DATA_DIR=$(DATA_DIR))' \
	        '      simulated people who come, go, type and change their names' \
	        "  make build && PRESENCE_TOKEN=\$$($(RELEASE)/presenced token $(DEMO_USER) --data-dir $(DATA_DIR)) $(RELEASE)/presence-watch --url $$url alma bruno chloe" \
	        '      watch people in the terminal (another minute of building)' \
	        "  $(RELEASE)/presenced token ana --data-dir $(DATA_DIR) --expires 24h" \
	        '      a token for somebody else' \
	        "  curl $$(sed 's|^ws|http|; s|/v1/ws$$|/readyz|' <<<"$$url")" \
	        '      whether it is ready; /metrics has its numbers' '' \
	        'Ctrl-C ends the server.' ''; done)

demo: $(STAMPS)/release-presence-load
	$(RELEASE)/presence-load demo --url ws://127.0.0.1:$(PORT)/v1/ws --data-dir '$(DATA_DIR)' --viewer $(DEMO_USER)

# ---- Testing ----------------------------------------------------------------------------------------------------------

# Tests are built with the optimizer: the simulator is several times as fast, and so are the servers of the conformance suite.
# Checks for overflow, bounds and exclusivity stay, and tests see what is internal. DEBUG=1 builds them without it.
# (Our own targets only; see Package.swift.)
TEST_BUILD := $(if $(DEBUG),.build-debug,.build)
# (Not without an index: SwiftPM looks there for the tests, and fails in a fresh clone.)
# What a debugger needs is a tenth of the compiling. jemalloc, which redis-server brings along, saves 7 % of it.
BUILD_TESTS = $(if $(DEBUG),swift build --scratch-path .build-debug,\
    LD_PRELOAD='$(wildcard /usr/lib/*/libjemalloc.so.2)' BUILD_OPTIMISED=1 swift build -debug-info-format none) -j $(JOBS)

# How many histories `make test` plays: half of them the same each time, half from seeds that no run had before.
SIMULATOR_SEEDS ?= 2000
export SIMULATOR_SEEDS

build-tests: setup-tests
	@echo "Building the tests; the first time takes some minutes"
	@$(BUILD_TESTS) --build-tests

# What fuzzers are linked of: the same build.
presenced-for-tests:
	@$(BUILD_TESTS) --product presenced

check test: build-tests
	@Tests/run --build $(TEST_BUILD) $(if $(REPEAT),--repeat) $(if $(filter check,$@),check,all)

test-%: build-tests
	@Tests/run --build $(TEST_BUILD) $* $(if $(FILTER),--filter '$(FILTER)')

# One after the other, all of them also when one finds something. Not among `make test`: their tools come from PyPI.
OUTSIDE ?= OpenAPI S3 Axe

outside: build-tests | $(OUTSIDE_PACKAGES_STAMP)
	@found=""; for each in $(OUTSIDE); do \
	    printf '\n==== Tests/%s/run\n' $$each; \
	    PRESENCED='$(CURDIR)/$(TEST_BUILD)/debug/presenced' Tests/$$each/run || found+=" $$each"; done; \
	if [ -n "$$found" ]; then echo "Found something:$$found" >&2; exit 1; fi

# Leaks are not looked for: what Swift's runtime keeps for good would be taken for some.
asan tsan: setup-tests
	swift build --build-tests -j $(JOBS) --sanitize=$(SANITIZER) --scratch-path .build-$@
	@Tests/run --build .build-$@ --in-turn all

asan: SANITIZER := address
asan: export ASAN_OPTIONS := detect_leaks=0
tsan: SANITIZER := thread
# What they run is up to ten times slower: some histories, and no mistakes made on purpose.
asan tsan: SIMULATOR_SEEDS := 30
asan tsan: export SEED := 1

# Each fuzzer for so long; `Tests/Fuzzing/run` says more.
FUZZ_SECONDS ?= 10

fuzz: setup-tests
	@Tests/Fuzzing/run $(FUZZ_SECONDS)

# From a seed of its own each time, so that a soak looks where none has looked yet. A failing seed is printed with the few
# steps that are enough. It also looks for the mistakes that are made on purpose, each from the first seed on.
SOAK_SECONDS ?= $(if $(SEED),,600)

soak: build-tests
	@SOAK_SECONDS='$(SOAK_SECONDS)' SEED='$(SEED)' SIMULATOR_SEEDS= Tests/run --build $(TEST_BUILD) simulator

quick: setup-tests
	@loadtest/run quick

# With the binaries of the tests, which `make test` has built. The short form is what CI runs: each fault once.
CHAOS_SECONDS ?= 60
CHAOS_OPTIONS := $(if $(SEED),--seed $(SEED))

chaos: setup-tests
	$(BUILD_TESTS) --product presenced && $(BUILD_TESTS) --product chaos-crowd
	@PRESENCED='$(CURDIR)/$(TEST_BUILD)/debug/presenced' Tests/Chaos/run.sh --seconds $(CHAOS_SECONDS) $(CHAOS_OPTIONS)

chaos-short: setup-tests
	@PRESENCED='$(CURDIR)/$(TEST_BUILD)/debug/presenced' Tests/Chaos/run.sh $(CHAOS_OPTIONS)

guard: setup-tests
	@loadtest/run guard

loadtest: setup-loadtest
	@loadtest/all.sh

SWIFT_SOURCES := Package.swift Sources Tests loadtest Examples/Roster/Package.swift Examples/Roster/Sources Examples/Roster/Tests

format:
	swift format format --in-place --parallel --recursive $(SWIFT_SOURCES)

lint:
	swift format lint --strict --parallel --recursive $(SWIFT_SOURCES)

docs: setup
	DOCUMENTATION=1 swift package --allow-writing-to-directory .build/docs generate-documentation --target PresenceKit \
	    --output-path .build/docs
	@echo "The library's documentation: .build/docs/index.html"

clean:
	rm -rf .build .build-*
