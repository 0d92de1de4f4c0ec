# The targets, each idempotent and quick if there is nothing to do:
#
#   make build     install missing packages, build everything in release mode
#   make run       build, then run a server with a Redis of its own; Ctrl-C ends it
#   make npm       the library for browsers as an npm package, with hooks for React and Vue: .build/presence-client-VERSION.tgz
#   make demo      fill the running server with simulated users
#   make check     the inner loop, under a minute after the build: format, pure tests, some histories, some conformance
#   make test      set up, build for tests, run all of them; DEBUG=1 without the optimizer
#   make test-kit  one suite: kit, server, protocol, conformance, simulator, … (Tests/README.md); FILTER=… some of its tests
#   make soak      the simulator for SOAK_SECONDS=600, or the one history of SEED=…
#   make quick     the quick end-to-end run of the load tester
#   make chaos     three servers, one Redis, hundreds of clients, and all kinds of faults: CHAOS_SECONDS=60 SEED=…
#   make guard     the server's system calls per delivery and message against their bounds
#   make loadtest  every load test at a small size, and a report: ten minutes
#   make format    format all Swift sources in place        make lint   report everything that make format would change
#   make tsan      all tests under ThreadSanitizer           make asan      all tests under AddressSanitizer
#   make fuzz      the fuzzers, each for FUZZ_SECONDS (10)   make docs      the library's documentation
#   make setup-programs  fetch the proxies, promtool and three libraries; without them some tests of `make test` are skipped
#   make outside   the server against tools from PyPI: Schemathesis, moto, axe-core, React and Vue, oidc-provider-mock; OUTSIDE=S3 one of them
#   make deb       a Debian package of the server and the terminal's clients, in .build-package
#   make test-package  that package installed, upgraded and purged in a Debian of its own, and two clients (root, network)
#   make reproducible  that package built twice in two folders, and compared byte by byte: two long builds
#   make clean     remove all build products, but no data
#
# Port and data directory of `make run` can be set: make run PORT=5000 DATA_DIR=/tmp/trial. Use the same for make demo.

SHELL := /bin/bash
# Of our own code; see Package.swift.
export WARNINGS_AS_ERRORS := 1
.DEFAULT_GOAL := help
.PHONY: npm minified help setup setup-tests setup-loadtest setup-programs build deb test-package reproducible run demo build-tests presenced-for-tests check test outside soak quick chaos chaos-short guard loadtest fuzz format lint asan tsan docs clean

PORT ?= 4040
# The server's own default, so that `presenced token` uses the same secret without further flags.
ifeq ($(shell id -u),0)
DATA_DIR ?= /var/lib/presence
else
DATA_DIR ?= $(or $(XDG_DATA_HOME),$(HOME)/.local/share)/presence
endif
DEMO_USER ?= demo
# Compilers that run at a time: JOBS=1 for a small machine.
JOBS ?= $(shell nproc)

RELEASE := .build/release
STAMPS := .build/stamps

# Packages for building and running the server, for the tests, and for drawing the load tests' pictures.
PACKAGES := libwebsockets-dev libwebsockets-evlib-ev libssl-dev libev-dev libhiredis-dev \
    libcurl4-openssl-dev libsodium-dev zlib1g-dev libjpeg62-turbo-dev libpng-dev ca-certificates redis-server
TEST_PACKAGES := python3-pytest python3-pytest-xdist python3-websockets python3-yaml python3-jsonschema \
    python3-h2 python3-aiosmtpd python3-botocore python3-cryptography python3-pip chromium chromium-headless-shell esbuild node-typescript python3-pil strace openssl
# Programs for tests, some with a library, unpacked into .build/programs: installing them would start services.
PROGRAM_PACKAGES := nginx caddy haproxy liblua5.3-0 libopentracing1 libopentracing-c-wrapper0 prometheus
# Packages from PyPI, in .build/python.
PYTHON_PACKAGES := standardwebhooks==1.1.0 http-ece==1.2.1 py-vapid==1.9.6
LOADTEST_PACKAGES := python3-matplotlib
# Packages that install the tools of `make outside`, each into a folder of its own in .build.
OUTSIDE_PACKAGES := python3-venv

SOURCES := Package.swift $(shell find web -type f) $(shell find Sources loadtest -type f \
    \( -name '*.swift' -o -name '*.[ch]' -o -name '*.modulemap' -o -name '*.lua' \) 2>/dev/null)

help:
	@awk '!/^#/ { exit } { sub(/^# ?/, ""); print }' $(firstword $(MAKEFILE_LIST))

# ---- Setting up -------------------------------------------------------------------------------------------------------

# Installs the missing packages of the list $(1), or prints the command for it. The stamp's name depends on the list, so a
# changed list is checked again.
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

# A stamp proves only that the packages were installed once; this cheap check notices a package that was removed since.
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
	@/usr/bin/python3 -m pip install --quiet --no-deps --only-binary :all: --no-binary http-ece --disable-pip-version-check --root-user-action=ignore \
	    --target .build/python $(PYTHON_PACKAGES)
	@touch $@

setup-programs: $(PROGRAMS_STAMP) $(PYTHON_STAMP)

setup-loadtest: setup-tests $(LOADTEST_PACKAGES_STAMP)

# ---- Building ---------------------------------------------------------------------------------------------------------

PRODUCTS := presenced presence-watch presence-chat presence-load

# Processor seconds of a first build, and those of its longest chain of modules, which no number of cores shortens (the core,
# then the server); Tests/README.md has their shares.
BUILD_SECONDS := 410
BUILD_CHAIN := 200

# For compilers: jemalloc, which comes with redis-server, saves 7 % of their time; with huge pages, type-checking PresenceCore
# takes another 9 % less.
JEMALLOC = LD_PRELOAD='$(wildcard /usr/lib/*/libjemalloc.so.2)' MALLOC_CONF=thp:always,metadata_thp:always

# All of them in one build: `swift build` takes one product at a time, and modules of different programs are compiled side by
# side. SwiftPM counts the steps. Debug information would triple the programs' size; a backtrace has functions without it.
$(STAMPS)/release: $(SOURCES) | $(PACKAGES_STAMP) $(STAMPS)
	@seconds=$$(($(BUILD_SECONDS) / $(JOBS))); [ $$seconds -ge $(BUILD_CHAIN) ] || seconds=$(BUILD_CHAIN); \
	    [ ! -e $(RELEASE)/presenced ] && what="The first build takes" || what="A build of changes takes at most"; \
	    echo "Building $(PRODUCTS) in release mode"; \
	    echo "$$what some $$(((seconds + 59) / 60)) minutes on $(JOBS) free cores; [1/60] counts its steps"
	@began=$$SECONDS; $(JEMALLOC) swift build -c release -debug-info-format none -j $(JOBS) --target Programs && echo "Built in $$((SECONDS - began)) s"
	@touch $@

build: $(STAMPS)/release
	@echo "Built: $(PRODUCTS:%=$(RELEASE)/%)"

# ---- Packaging --------------------------------------------------------------------------------------------------------

# A separate build: the programs contain Swift's libraries, and neither the folder's name nor a library path of this
# machine. Debug information and the hashes for incremental builds would differ with the folder.
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

# PACKAGE_BUILD=FOLDER: use the programs in this folder.
deb: $(if $(filter file,$(origin PACKAGE_BUILD)),.build-package/release/built)
	@rm -f .build-package/presenced_*.deb
	@packaging/build '$(PACKAGE_BUILD)' .build-package

# Not part of `make test`: the build takes long, and it needs root and Debian's packages.
test-package: $(if $(filter file,$(origin PACKAGE_BUILD)),.build-package/release/built) | $(TEST_PACKAGES_STAMP)
	@PACKAGE_BUILD='$(PACKAGE_BUILD)' Tests/Package/run

reproducible: | $(PACKAGES_STAMP)
	@packaging/reproducible

# Needs esbuild (make setup-tests).
npm:
	@version=$$(sed -n 's/.*current = "\(.*\)".*/\1/p' Sources/*/ServerVersion.swift); \
	web/package/build ".build/presence-client-$$version.tgz" "$$version" && echo ".build/presence-client-$$version.tgz"

# After a change of the library: servers have it minified. A test compares both.
minified:
	@web/minify

# ---- Running ----------------------------------------------------------------------------------------------------------

# The server runs in the foreground, so that Ctrl-C reaches it. Once it is ready, the next steps are printed.
run: $(STAMPS)/release
	@token=$$($(RELEASE)/presenced token $(DEMO_USER) --data-dir '$(DATA_DIR)') || exit 1; \
	console=$$($(RELEASE)/presenced token console --role backend --expires 1h --data-dir '$(DATA_DIR)') || exit 1; \
	PRESENCE_ATTACHMENTS_ENABLED=true exec $(RELEASE)/presenced serve --accounts --app --console --port $(PORT) --data-dir '$(DATA_DIR)' > >(while IFS= read -r line; do \
	    echo "$$line"; url=$${line#listening on }; \
	    printf '%s\n' '' \
	        'Try first, in a browser: two people and their phones, side by side. Type into one of them:' '' \
	        "  $$(sed 's|^ws|http|; s|/v1/ws$$|/console|' <<<"$$url")#/playground&token=$$console" '' \
	        'Then, in a browser or in another terminal:' '' \
	        "  $$(sed 's|^ws|http|; s|/v1/ws$$|/app|' <<<"$$url")" \
	        '      in a browser: sign up. Sign up as somebody else in a private window, open their link, and talk' \
	        '      (no mail is sent: mails are files in $(DATA_DIR)/outbox)' \
	        "  $$(sed 's|^ws|http|; s|/v1/ws$$|/console|' <<<"$$url")#token=$$console" \
	        '      for operators: whether all is well, and why somebody is offline. The link signs in, for an hour' \
	        '  make demo$(if $(filter-out file default undefined,$(origin PORT)), PORT=$(PORT))$(if $(filter-out file default undefined,$(origin DATA_DIR)), DATA_DIR=$(DATA_DIR))' \
	        '      simulated people who come, go, type and change their names' \
	        "  PRESENCE_TOKEN=\$$($(RELEASE)/presenced token $(DEMO_USER) --data-dir $(DATA_DIR)) $(RELEASE)/presence-watch --url $$url alma bruno chloe" \
	        '      watch people in the terminal' \
	        "  $(RELEASE)/presenced token ana --data-dir $(DATA_DIR) --expires 24h" \
	        '      a token for somebody else' \
	        "  curl $$(sed 's|^ws|http|; s|/v1/ws$$|/readyz|' <<<"$$url")" \
	        '      whether it is ready; /metrics has its numbers' '' \
	        "A token for the user $(DEMO_USER), good for a day:" '' "  $$token" '' \
	        'Ctrl-C ends the server.' ''; done)

demo: $(STAMPS)/release
	$(RELEASE)/presence-load demo --url ws://127.0.0.1:$(PORT)/v1/ws --data-dir '$(DATA_DIR)' --viewer $(DEMO_USER)

# ---- Testing ----------------------------------------------------------------------------------------------------------

# Tests are built with the optimizer, which makes the simulator and the servers of the conformance suite several times as
# fast. Checks for overflow, bounds and exclusivity stay, and tests see internal declarations. DEBUG=1 builds without it.
# (Our own targets only; see Package.swift.)
TEST_BUILD := $(if $(DEBUG),.build-debug,.build)
# (With an index: SwiftPM finds the tests in it, and fails without it in a fresh clone.)
# Debug information would take a tenth of the compile time.
BUILD_TESTS = $(if $(DEBUG),swift build --scratch-path .build-debug,\
    $(JEMALLOC) BUILD_OPTIMISED=1 swift build -debug-info-format none) -j $(JOBS)

# The histories of `make test`: half of them are the same each time, half have new seeds.
SIMULATOR_SEEDS ?= 2000
export SIMULATOR_SEEDS

build-tests: setup-tests
	@echo "Building the tests; the first time takes some minutes"
	@$(BUILD_TESTS) --build-tests

# The objects that fuzzers are linked from: the same build.
presenced-for-tests:
	@$(BUILD_TESTS) --product presenced

check test: build-tests
	@Tests/run --build $(TEST_BUILD) $(if $(REPEAT),--repeat) $(if $(filter check,$@),check,all)

test-%: build-tests
	@Tests/run --build $(TEST_BUILD) $* $(if $(FILTER),--filter '$(FILTER)')

# One after the other; all run even if one fails. Not part of `make test`: their tools come from PyPI.
OUTSIDE ?= OpenAPI S3 Axe Hooks OIDC

outside: build-tests | $(OUTSIDE_PACKAGES_STAMP)
	@found=""; for each in $(OUTSIDE); do \
	    printf '\n==== Tests/%s/run\n' $$each; \
	    PRESENCED='$(CURDIR)/$(TEST_BUILD)/debug/presenced' Tests/$$each/run || found+=" $$each"; done; \
	if [ -n "$$found" ]; then echo "Failed:$$found" >&2; exit 1; fi

# Without leak detection: it would report memory that Swift's runtime never frees.
asan tsan: setup-tests
	swift build --build-tests -j $(JOBS) --sanitize=$(SANITIZER) --scratch-path .build-$@
	@Tests/run --build .build-$@ --in-turn all

asan: SANITIZER := address
asan: export ASAN_OPTIONS := detect_leaks=0
tsan: SANITIZER := thread
# The code runs up to ten times slower: only some histories, and no deliberate bugs.
asan tsan: SIMULATOR_SEEDS := 30
asan tsan: export SEED := 1

# The time of each fuzzer; see `Tests/Fuzzing/run`.
FUZZ_SECONDS ?= 10

fuzz: setup-tests
	@Tests/Fuzzing/run $(FUZZ_SECONDS)

# Each soak has a new seed, so it tests new histories. A failing seed is printed with the few steps that reproduce the
# failure. It also searches for the deliberate bugs, each from the first seed on.
SOAK_SECONDS ?= $(if $(SEED),,600)

soak: build-tests
	@SOAK_SECONDS='$(SOAK_SECONDS)' SEED='$(SEED)' SIMULATOR_SEEDS= Tests/run --build $(TEST_BUILD) simulator

quick: setup-tests
	@loadtest/run quick

# With the tests' binaries, built by `make test`. CI runs the short form: each fault once.
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
	DOCUMENTATION=1 swift package --allow-writing-to-directory .build/docs generate-documentation \
	    --target PresenceKit --target PresenceAccounts --target PresenceMessages --target PresenceTesting \
	    --enable-experimental-combined-documentation --output-path .build/docs
	@echo "The library's documentation: .build/docs/documentation/index.html; it begins at presencemessages"

clean:
	rm -rf .build .build-*
