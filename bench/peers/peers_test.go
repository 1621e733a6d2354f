package peers_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/identity"
	"github.com/sluicelb/sluice/bench/peers"
)

func setup(dir string, set cases.Rules, equal bool) peers.Setup {
	return peers.Setup{
		Port: 9001, Backend: netip.MustParseAddrPort("127.0.0.1:8080"), Set: set, Equal: equal,
		Clients: 64, Descriptors: 20000, Dir: dir,
	}
}

// every calls f for each variant of the configurations.
func every(t *testing.T, f func(t *testing.T, s peers.Setup)) {
	t.Helper()
	for _, set := range []cases.Rules{cases.One, cases.Prefix, cases.Regex} {
		for _, equal := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/equal=%v", set, equal), func(t *testing.T) {
				f(t, setup(t.TempDir(), set, equal))
			})
		}
	}
	id, err := identity.New(t.TempDir(), cases.ECDSA)
	if err != nil {
		t.Fatal(err)
	}
	for _, secure := range []cases.Secure{cases.Kept, cases.Full, cases.Resumed} {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/http2=%v", secure, http2), func(t *testing.T) {
				s := setup(t.TempDir(), cases.One, false)
				s.Secure, s.HTTP2, s.Identity = secure, http2, id
				f(t, s)
			})
		}
	}
	for _, feature := range []cases.Feature{cases.AccessLog, cases.Cookie, cases.CookieInsert} {
		t.Run(string(feature), func(t *testing.T) {
			s := setup(t.TempDir(), cases.One, false)
			s.Feature = feature
			f(t, s)
		})
	}
}

func render(t *testing.T, name, file string, s peers.Setup) string {
	t.Helper()
	text, err := peers.Render(name, s)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Dir, file)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// program returns the path of a peer, or skips the test.
func program(t *testing.T, name string) string {
	t.Helper()
	for _, path := range []string{name, filepath.Join("/usr/sbin", name)} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	t.Skipf("%s is not installed: run bench/install.sh", name)
	return ""
}

func TestHAProxyAcceptsEveryVariant(t *testing.T) {
	haproxy := program(t, "haproxy")
	every(t, func(t *testing.T, s peers.Setup) {
		s.BufferSize = 65536
		render(t, "haproxy.map", "services.map", s)
		out, err := exec.Command(haproxy, "-c", "-f", render(t, "haproxy.cfg", "haproxy.cfg", s)).CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

func TestNginxAcceptsEveryVariant(t *testing.T) {
	nginx := program(t, "nginx")
	every(t, func(t *testing.T, s peers.Setup) {
		out, err := exec.Command(nginx, "-t", "-p", s.Dir, "-e", "stderr", "-c", render(t, "nginx.conf", "nginx.conf", s)).CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

func TestPlainPeersDoNothingExtra(t *testing.T) {
	s := setup(t.TempDir(), cases.One, false)
	for _, name := range []string{"haproxy.cfg", "nginx.conf"} {
		text, err := peers.Render(name, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, extra := range []string{"forwardfor", "X-Forwarded", "bench.example.org", "no strict-limits", "tune.bufsize", "ssl", "http2", "X-Bench", "cookie", "httplog", "access.log"} {
			if strings.Contains(string(text), extra) {
				t.Errorf("%s has %q", name, extra)
			}
		}
	}
}

func TestSluiceDocumentListsServicesInOrder(t *testing.T) {
	text, err := peers.Render("sluice.yaml", setup(t.TempDir(), cases.Prefix, false))
	if err != nil {
		t.Fatal(err)
	}
	const last = `      - name: s100
        vhost: 'www100\.example\.org$'
        urlp: '^/app100/'
        backends:
          - ip: 127.0.0.1
            port: 8080
`
	if n := strings.Count(string(text), "- name: s"); n != 100 || !strings.HasSuffix(string(text), last) {
		t.Errorf("%d services, the end is\n%s", n, text[len(text)-200:])
	}
}

// TestOnlyTheResumedCaseHasTickets: a peer that kept sessions would resume where
// a full handshake is measured.
func TestOnlyTheResumedCaseHasTickets(t *testing.T) {
	s := setup(t.TempDir(), cases.One, false)
	s.Identity = &identity.Identity{}
	for secure, tickets := range map[cases.Secure]bool{cases.Kept: false, cases.Full: false, cases.Resumed: true} {
		s.Secure = secure
		for name, off := range map[string][]string{
			"haproxy.cfg": {"no-tls-tickets", "tune.ssl.cachesize 0"},
			"nginx.conf":  {"ssl_session_tickets off"},
		} {
			text, err := peers.Render(name, s)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range off {
				if strings.Contains(string(text), line) == tickets {
					t.Errorf("%s of %s: %q", name, secure, line)
				}
			}
		}
	}
}

func TestACommandSpeaksTLSIfItNamesTheCertificate(t *testing.T) {
	s := setup(t.TempDir(), cases.One, false)
	for command, secure := range map[string]cases.Secure{"/bin/true {port}": cases.Kept, "/bin/true {pem}": ""} {
		s.Secure = secure
		c := peers.Contestant{Name: "other", Kind: peers.Command, Path: command}
		if _, err := c.Start(context.Background(), s, nil); !errors.Is(err, peers.ErrCannot) {
			t.Errorf("%s with %q: %v", command, secure, err)
		}
	}
}

func TestHAProxyStartsWithMoreClientsThanItWouldReserveFor(t *testing.T) {
	s := setup(t.TempDir(), cases.One, false)
	if s.MaxConn() != 9900 || !s.StrictLimits() {
		t.Errorf("usual: %d, strict %v", s.MaxConn(), s.StrictLimits())
	}
	s.Clients = 15064
	if s.MaxConn() < 15064 || s.StrictLimits() {
		t.Errorf("many: %d, strict %v", s.MaxConn(), s.StrictLimits())
	}
}

func TestAMissingProgramIsNamedWithAdvice(t *testing.T) {
	_, err := peers.Contestant{Name: "sluice", Kind: peers.Sluice, Path: "no/such/sluice"}.Find()
	if !errors.Is(err, peers.ErrMissing) || !strings.Contains(err.Error(), "make build") {
		t.Errorf("%v", err)
	}
}

// Without explicit numbers the peers use one thread per CPU.
func TestDefaultsSetNoThreadCounts(t *testing.T) {
	t.Setenv("SLUICE_LOOPS", "7") // set by the user of the bench
	for _, usual := range []bool{false, true} {
		s := setup(t.TempDir(), cases.One, false)
		s.Default, s.CPU = usual, -1
		haproxy, err := peers.Render("haproxy.cfg", s)
		if err != nil {
			t.Fatal(err)
		}
		if got := !strings.Contains(string(haproxy), "nbthread"); got != usual {
			t.Errorf("default %v: the configuration of HAProxy is\n%s", usual, haproxy)
		}
		nginx, err := peers.Render("nginx.conf", s)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]string{false: "worker_processes 1;", true: "worker_processes auto;"}[usual]; !strings.Contains(string(nginx), want) {
			t.Errorf("default %v: the configuration of nginx lacks %q", usual, want)
		}
		log, err := os.Create(filepath.Join(s.Dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		if _, err := (peers.Contestant{Name: "env", Kind: peers.Command, Path: "env"}).Start(context.Background(), s, log); err == nil {
			t.Fatal("env listens")
		}
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range map[bool][]string{false: {"SLUICE_LOOPS=1\n", "GOMAXPROCS=1\n"}, true: {"SLUICE_LOOPS=\n", "GOMAXPROCS=\n"}}[usual] {
			if !strings.Contains(string(text), line) {
				t.Errorf("default %v: no %q in\n%s", usual, line, text)
			}
		}
	}
}
