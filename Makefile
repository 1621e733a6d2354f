# `make` without a target lists the targets.

# Without cgo, because Landlock then covers all threads. Only the program itself is built
# with its profile (PGO): a profile makes the compiler build all dependencies again.
export CGO_ENABLED = 0
# An older go command downloads this release through the module proxy. .ci/fixes lists the
# fixes that require it.
export GOTOOLCHAIN = go1.27.3
export GOFLAGS += -buildvcs=false -pgo=off -trimpath
PGO := -pgo=cmd/sluice/default.pgo

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unversioned)
LDFLAGS  := -s -w -X main.version=$(VERSION)
FUZZTIME ?= 30s
# The number of fuzz targets that run at the same time: three for each CPU. One after the
# other they would take longer than all other tests.
FUZZJOBS ?= $(shell echo $$((3 * $$(nproc))))
# A commit: packages that changed since then are fuzzed, and a share of the others.
FUZZSINCE ?=
# Minutes of `make soak`.
SOAK ?= 20
BENCHFLAGS ?=

# Target directories of `make install`. DESTDIR is put in front of them, for packages.
PREFIX  ?= /usr/local
DESTDIR ?=
SYSCONFDIR ?= /etc
BIN     := bin/sluice
# Manual pages and shell completion, laid out as below /usr/share.
SHARE   := bin/share
# The directory that `make deb` packs, and its version: that of the tag, or one that grows
# with every commit.
STAGE        = bin/stage
DEB_VERSION ?= $(shell git describe --tags --exact-match 2>/dev/null | sed 's/^v//' | grep . || echo 0.0.$$(git rev-list --count HEAD 2>/dev/null || echo 0)+g$$(git rev-parse --short HEAD 2>/dev/null || echo unversioned))

.PHONY: help build gui install uninstall deb run demo packages test race compile-race plain test-long soak fuzz mutate files lint bench profile clean

help:
	@echo "make build     Build bin/sluice, with the web GUI if Node.js is installed (without it: make build GUI=)"
	@echo "make run       Build, and run a demonstration with a farm and two backends (make demo: the same)"
	@echo "make gui       Build the web GUI, web/dist, which the program embeds"
	@echo "make install   Install the program, manual, completion and service below $(DESTDIR)$(PREFIX) (DESTDIR, PREFIX)"
	@echo "make uninstall Remove the installed files, but no settings or data"
	@echo "make deb       Build the Debian package bin/sluice_VERSION_ARCH.deb"
	@echo "make clean     Remove bin, but not the GUI"
	@echo
	@echo "make test      Run every test, with the race detector where goroutines share memory. As root it"
	@echo "               installs the Debian packages that the tests use"
	@echo "make packages  Install these packages"
	@echo "make race      Run the tests with the race detector; make plain: the others"
	@echo "make compile-race  Compile the tests with the race detector, to fill the build cache"
	@echo "make test-long Run the long forms of tests, with the numbers that we promise (about 15 minutes)"
	@echo "make soak      Run changes and role crashes under full load for SOAK minutes ($(SOAK))"
	@echo "make fuzz      Run every fuzz target for FUZZTIME ($(FUZZTIME))"
	@echo "make mutate    Count the faults that tests notice: 300 random faults, or all in PKG=./core/balance"
	@echo "make files     List the files that a GET, a datagram and a change run through"
	@echo "make lint      Run gofmt, go mod tidy, go vet, staticcheck, and check known fixes and plain English"
	@echo "make bench     Measure Sluice beside HAProxy and nginx"
	@echo "make profile   Record cmd/sluice/default.pgo, the profile for the compiler"

build: gui
	@mkdir -p $(dir $(BIN))
	go build $(PGO) -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/sluice
	@rm -rf $(SHARE)
	@GOOS= GOARCH= go run $(PGO) ./cmd/manual -version '$(VERSION)' $(SHARE) # here, whatever it is built for

# The pages of the GUI, which the program embeds. They are built again if a source has
# changed. Without Node.js the program is built without them and reports that; `make build
# GUI=` leaves them unchanged.
GUI ?= web/dist/index.html
gui: $(GUI)

web/dist/index.html: $(shell find web \( -path web/node_modules -o -path web/dist -o -path web/src/api/schema.d.ts \) -prune -o -type f -print)
	@if node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null && command -v npm >/dev/null; \
	then cd web && { { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund --loglevel=error; } && npm run --silent build; } || \
		{ echo "make gui: the build of the web GUI failed, see above; make build GUI= builds the program without it" >&2; exit 1; }; \
	else echo "make gui: Node.js 20.19 or newer and npm are not installed: the program has no web GUI" >&2; fi

# This target builds nothing, because root often has no Go and does not own the sources.
install:
	@test -x $(BIN) -a -d $(SHARE) || { echo "make install: $(BIN) does not exist: run make build first, as yourself" >&2; exit 1; }
	install -D -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/sluice
	cd $(SHARE) && find . -type f -exec install -D -m 644 '{}' '$(abspath $(DESTDIR)/$(PREFIX))/share/{}' \;
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|@BINDIR@|$(PREFIX)/bin|' packaging/sluice.service >$(DESTDIR)$(PREFIX)/lib/systemd/system/sluice.service
	chmod 644 $(DESTDIR)$(PREFIX)/lib/systemd/system/sluice.service
	install -D -m 644 packaging/sysusers.conf $(DESTDIR)$(PREFIX)/lib/sysusers.d/sluice.conf
	install -D -m 644 packaging/tmpfiles.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/sluice.conf
	install -D -m 644 packaging/logrotate $(DESTDIR)$(SYSCONFDIR)/logrotate.d/sluice
	install -D -m 644 packaging/SLUICE-MIB.txt $(DESTDIR)$(PREFIX)/share/snmp/mibs/SLUICE-MIB.txt
	test -e $(DESTDIR)$(SYSCONFDIR)/default/sluice || install -D -m 644 packaging/default $(DESTDIR)$(SYSCONFDIR)/default/sluice

# Run this before you switch to a package: a service below /usr/local takes precedence over
# the package's. Settings, users and data stay. Manual pages and completion are found by
# their names, because the built files may be gone.
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/sluice $(DESTDIR)$(PREFIX)/lib/systemd/system/sluice.service \
		$(DESTDIR)$(PREFIX)/lib/sysusers.d/sluice.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/sluice.conf \
		$(DESTDIR)$(PREFIX)/share/snmp/mibs/SLUICE-MIB.txt
	find $(DESTDIR)$(PREFIX)/share -type f \( -path '*/man/man[0-9]/sluice*.[0-9]' -o -path '*/bash-completion/completions/sluice' \
		-o -path '*/zsh/*/_sluice' -o -path '*/fish/vendor_completions.d/sluice.fish' \) -delete
	@echo "Settings in $(SYSCONFDIR)/default/sluice and $(SYSCONFDIR)/logrotate.d/sluice, and data in /var/lib/sluice, are kept."
	@echo "A running service continues until: systemctl daemon-reload && systemctl restart sluice (or stop)"

# A package for Debian and its derivatives: bin/sluice_VERSION_ARCH.deb. Newer releases of
# nfpm need modules that the module proxy lacks.
deb: build
	rm -rf $(STAGE)
	$(MAKE) --no-print-directory install DESTDIR=$(STAGE) PREFIX=/usr SYSCONFDIR=/etc
	find $(STAGE)/usr/share/man -type f -exec gzip -9 -n {} +
	install -d $(STAGE)/usr/share/doc/sluice
	(cat NOTICE; echo; echo 'The texts of these licences are in /usr/share/doc/sluice/LICENCES.gz and, of the common ones,'; \
		echo 'in /usr/share/common-licenses.') >$(STAGE)/usr/share/doc/sluice/copyright
	cat LICENCES web/LICENCES | gzip -9 -n >$(STAGE)/usr/share/doc/sluice/LICENCES.gz
	gzip -9 -n <CHANGELOG.md >$(STAGE)/usr/share/doc/sluice/CHANGELOG.md.gz
	printf 'sluice (%s) unstable; urgency=medium\n\n  * The changes are in CHANGELOG.md.gz.\n\n -- %s  %s\n' '$(DEB_VERSION)' \
		'Sluice <maintainers@sluicelb.example>' "$$(git log -1 --format=%cD 2>/dev/null || date -R)" | gzip -9 -n >$(STAGE)/usr/share/doc/sluice/changelog.gz
	install -D -m 644 packaging/deb/lintian-overrides $(STAGE)/usr/share/lintian/overrides/sluice
	find $(STAGE) -type d -exec chmod 755 {} +
	STAGE=$(STAGE) DEB_VERSION=$(DEB_VERSION) ARCH=$$(go env GOARCH) \
		go run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.44.0 package --packager deb --config packaging/nfpm.yaml --target $(dir $(BIN))

run demo: build
	@exec $(abspath $(BIN)) demo

packages:
	@.ci/packages

# Every test once, under the race detector where goroutines share memory.
test: packages gui
	cd web && npm test --silent
	@.ci/test

# The two halves of `make test`.
race: packages
	@.ci/raced

# Fills the build cache for `make race`.
compile-race:
	@.ci/raced compile

plain: packages gui
	@.ci/plain
	@.ci/beside gui
	@.ci/beside counts

# Tests that take too long for every change: before a release, or on request.
test-long: packages
	@.ci/long

soak: packages
	@SOAK=$(SOAK) .ci/soak

fuzz:
	@FUZZTIME=$(FUZZTIME) FUZZJOBS=$(FUZZJOBS) FUZZSINCE=$(FUZZSINCE) .ci/fuzz

# Puts faults into all code but test helpers, one at a time and at a low priority: a test
# that fails because of the load would count as one that noticed the fault.
PKG         ?= ./core/... ./l7/... ./l4/... ./dns/... ./sysnet/... ./mgmt/... ./cmd/...
MUTATEFLAGS ?= $(if $(filter file,$(origin PKG)),-n 300)
mutate: packages
	@go build -o bin/mutate ./cmd/mutate && nice -n 10 bin/mutate $(MUTATEFLAGS) $(PKG)

# The amount of code to read in order to follow a request.
files:
	@.ci/files

lint:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go mod tidy -diff
	go run ./cmd/fixes
	go run ./cmd/prose
	go vet ./...
	go vet -tags race $$(git grep -l '^//go:build .*race' -- '*.go' | xargs -n1 dirname | sort -u | sed 's,^,./,')
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

bench: build packages
	@bench/install.sh
	go run ./bench $(BENCHFLAGS)
	SLUICE_BENCH=1 go test -v -count=1 -p 1 ./bench/kernelfarms ./bench/roundtrips ./bench/floods ./bench/outages ./bench/changes ./bench/pages ./bench/queries

# The profile of hot calls that the compiler uses for cmd/sluice. Record it again after
# large changes of the request path.
profile:
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	go test -c -o "$$dir/traffic" ./l7/proxy && \
	(cd "$$dir" && ./traffic -test.run '^$$' -test.bench '^BenchmarkTraffic$$' -test.benchtime 20s -test.cpuprofile cpu) && \
	mv "$$dir/cpu" cmd/sluice/default.pgo

clean:
	rm -rf bin
