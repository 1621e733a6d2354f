# Everything is run from here: `make` lists what there is.

# The program is built without cgo: Landlock covers all threads only then. It alone
# is built by its profile, since everything below it is compiled for that anew.
export CGO_ENABLED = 0
# An older go fetches this release through the module proxy. .ci/fixes names the fixes
# that require it.
export GOTOOLCHAIN = go1.27.3
export GOFLAGS += -buildvcs=false -pgo=off -trimpath
PGO := -pgo=cmd/sluice/default.pgo

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unversioned)
LDFLAGS  := -s -w -X main.version=$(VERSION)
FUZZTIME ?= 30s
# How many fuzz targets run at the same time, three for each CPU: there are so many
# that one after the other they would take longer than all other tests.
FUZZJOBS ?= $(shell echo $$((3 * $$(nproc))))
# A commit: only what changed since then is fuzzed, and every fourth target of the rest.
FUZZSINCE ?=
# Minutes of `make soak`.
SOAK ?= 20
BENCHFLAGS ?=

# Where `make install` puts things; DESTDIR goes in front, for packages.
PREFIX  ?= /usr/local
DESTDIR ?=
SYSCONFDIR ?= /etc
BIN     := bin/sluice
# Manual pages and completion, as they lie below /usr/share.
SHARE   := bin/share
# What `make deb` packs, and under which version: that of the tag, or one that
# grows with every change.
STAGE        = bin/stage
DEB_VERSION ?= $(shell git describe --tags --exact-match 2>/dev/null | sed 's/^v//' | grep . || echo 0.0.$$(git rev-list --count HEAD 2>/dev/null || echo 0)+g$$(git rev-parse --short HEAD 2>/dev/null || echo unversioned))

.PHONY: help build gui install uninstall deb run demo packages test race compile-race plain test-long soak fuzz mutate files lint bench profile clean

help:
	@echo "make build   bin/sluice, with the web GUI where Node.js is; without it: make build GUI="
	@echo "make gui     the web GUI, web/dist, which the program carries"
	@echo "make install what was built, below $(DESTDIR)$(PREFIX): program, manual, completion, service (DESTDIR, PREFIX)"
	@echo "make uninstall  removes what make install put there, but for settings and data"
	@echo "make deb     bin/sluice_VERSION_ARCH.deb, to install by apt"
	@echo "make run     build, and run a demonstration with a farm and two backends (make demo: the same)"
	@echo "make test    every test, with the race detector where it is for; as root it installs the Debian packages it needs"
	@echo "make packages  the Debian packages that tests need, as root"
	@echo "make compile-race  the build cache for the tests with the race detector"
	@echo "make plain   those without the race detector; make race: those with it"
	@echo "make test-long  those with a long form, in the numbers that are promised: about fifteen minutes"
	@echo "make soak    changes under full load and roles that die, for SOAK minutes ($(SOAK))"
	@echo "make fuzz    every fuzz target for FUZZTIME ($(FUZZTIME))"
	@echo "make mutate  whether tests notice faults: 300 by chance, or all in PKG=./core/balance"
	@echo "make files   which files a GET, a datagram and a change run through"
	@echo "make lint    gofmt, go mod tidy, known fixes (.ci/fixes), plain English (.ci/prose), go vet, staticcheck"
	@echo "make bench   Sluice beside HAProxy and nginx"
	@echo "make profile cmd/sluice/default.pgo, by which the compiler knows which calls are hot"
	@echo "make clean   removes bin, all that was built but the GUI"

build: gui
	@mkdir -p $(dir $(BIN))
	go build $(PGO) -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/sluice
	@rm -rf $(SHARE)
	@GOOS= GOARCH= go run $(PGO) ./cmd/manual -version '$(VERSION)' $(SHARE) # here, whatever it is built for

# The pages of the GUI, which the program carries: anew when what they are made of has
# changed. Without Node.js the program is built without them, and says so; `make build
# GUI=` leaves them as they are.
GUI ?= web/dist/index.html
gui: $(GUI)

web/dist/index.html: $(shell find web \( -path web/node_modules -o -path web/dist -o -path web/src/api/schema.d.ts \) -prune -o -type f -print)
	@if node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null && command -v npm >/dev/null; \
	then cd web && { { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund --loglevel=error; } && npm run --silent build; } || \
		{ echo "make gui: the web GUI could not be built, see above; make build GUI= builds the program without it" >&2; exit 1; }; \
	else echo "make gui: Node.js 20.19 or newer and npm are not here: the program gets no web GUI" >&2; fi

# It builds nothing: root, who installs, often has neither Go nor the sources' owner.
install:
	@test -x $(BIN) -a -d $(SHARE) || { echo "make install: $(BIN) is not there yet: run make build first, as who you are" >&2; exit 1; }
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

# The opposite of install, for whoever goes over to a package: a service below /usr/local
# would take precedence over the package's. Settings, users and data stay. Manual pages and
# completion are known by their names, because what was built may be gone.
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/sluice $(DESTDIR)$(PREFIX)/lib/systemd/system/sluice.service \
		$(DESTDIR)$(PREFIX)/lib/sysusers.d/sluice.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/sluice.conf \
		$(DESTDIR)$(PREFIX)/share/snmp/mibs/SLUICE-MIB.txt
	find $(DESTDIR)$(PREFIX)/share -type f \( -path '*/man/man[0-9]/sluice*.[0-9]' -o -path '*/bash-completion/completions/sluice' \
		-o -path '*/zsh/*/_sluice' -o -path '*/fish/vendor_completions.d/sluice.fish' \) -delete
	@echo "Settings in $(SYSCONFDIR)/default/sluice and $(SYSCONFDIR)/logrotate.d/sluice, and data in /var/lib/sluice, are still there."
	@echo "A service that runs goes on until: systemctl daemon-reload && systemctl restart sluice (or stop)"

# A package for Debian and its like: bin/sluice_VERSION_ARCH.deb. Newer releases
# of nfpm need modules that the proxy does not have.
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

# Every test once: under the race detector where goroutines share memory.
test: packages gui
	cd web && npm test --silent
	@.ci/test

# The two halves of it.
race: packages
	@.ci/raced

# Fills the build cache for it.
compile-race:
	@.ci/raced compile

plain: packages gui
	@.ci/plain
	@.ci/beside gui
	@.ci/beside counts

# What takes too long for every change: before something is released, or on request.
test-long: packages
	@.ci/long

soak: packages
	@SOAK=$(SOAK) .ci/soak

fuzz:
	@FUZZTIME=$(FUZZTIME) FUZZJOBS=$(FUZZJOBS) FUZZSINCE=$(FUZZSINCE) .ci/fuzz

# Faults everywhere but in what is there for tests. One at a time and politely:
# tests that fail for the load would count as tests that noticed something.
PKG         ?= ./core/... ./l7/... ./l4/... ./dns/... ./sysnet/... ./mgmt/... ./cmd/...
MUTATEFLAGS ?= $(if $(filter file,$(origin PKG)),-n 300)
mutate: packages
	@go build -o bin/mutate ./cmd/mutate && nice -n 10 bin/mutate $(MUTATEFLAGS) $(PKG)

# How far somebody has to read to follow a request.
files:
	@.ci/files

lint:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go mod tidy -diff
	go run ./cmd/fixes
	go run ./cmd/prose
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

bench: build packages
	go run ./bench $(BENCHFLAGS)
	SLUICE_BENCH=1 go test -v -count=1 -p 1 ./bench/kernelfarms ./bench/roundtrips ./bench/floods ./bench/outages ./bench/changes ./bench/pages ./bench/queries

# What the compiler is told of hot calls: it builds cmd/sluice by this profile. To be
# made anew when the way of a request changed much.
profile:
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	go test -c -o "$$dir/traffic" ./l7/proxy && \
	(cd "$$dir" && ./traffic -test.run '^$$' -test.bench '^BenchmarkTraffic$$' -test.benchtime 20s -test.cpuprofile cpu) && \
	mv "$$dir/cpu" cmd/sluice/default.pgo

clean:
	rm -rf bin
