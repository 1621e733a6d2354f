package e2e_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

// shaking is a set of clients that make TLS connections one after the other and require a
// valid certificate for the requested name.
type shaking struct {
	addr     string
	names    []string
	roots    *x509.CertPool
	full     atomic.Int64 // handshakes
	resumed  atomic.Int64
	kept     atomic.Int64 // exchanges on older connections
	end      atomic.Bool
	ended    sync.WaitGroup
	mu       sync.Mutex
	failures []string
}

func (s *shaking) fail(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.failures) < 10 {
		s.failures = append(s.failures, fmt.Sprintf(format, args...))
	}
}

func (s *shaking) dial(name string, version uint16, cache tls.ClientSessionCache) (*tls.Conn, error) {
	d := &net.Dialer{Timeout: 10 * time.Second}
	c, err := tls.DialWithDialer(d, "tcp", s.addr, &tls.Config{ServerName: name, RootCAs: s.roots, MaxVersion: version, ClientSessionCache: cache})
	if err == nil {
		_ = c.SetDeadline(time.Now().Add(time.Minute))
	}
	return c, err
}

func greet(c *tls.Conn, r *bufio.Reader, name string) error {
	if _, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", name); err != nil {
		return err
	}
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(res.Body)
	if err == nil && (res.StatusCode != 200 || string(body) != "hello") {
		err = fmt.Errorf("answered %s %q", res.Status, body)
	}
	return err
}

// client makes connections; every second one tries to resume.
func (s *shaking) client(number int) {
	defer s.ended.Done()
	version := []uint16{tls.VersionTLS13, tls.VersionTLS12}[number%2]
	cache := tls.NewLRUClientSessionCache(len(s.names))
	for i := number; !s.end.Load(); i++ {
		name := s.names[i%len(s.names)]
		var sessions tls.ClientSessionCache
		if i/len(s.names)%2 == 0 {
			sessions = cache
		}
		c, err := s.dial(name, version, sessions)
		if err != nil {
			s.fail("handshake %d of client %d for %s: %v", i, number, name, err)
			return
		}
		if c.ConnectionState().DidResume {
			s.resumed.Add(1)
		} else {
			s.full.Add(1)
		}
		if err := greet(c, bufio.NewReader(c), name); err != nil {
			s.fail("exchange %d of client %d: %v", i, number, err)
		}
		_ = c.Close()
	}
}

// stay keeps one connection open.
func (s *shaking) stay() {
	defer s.ended.Done()
	c, err := s.dial(s.names[0], 0, nil)
	if err != nil {
		s.fail("first handshake: %v", err)
		return
	}
	defer c.Close()
	for r := bufio.NewReader(c); !s.end.Load(); time.Sleep(5 * time.Millisecond) {
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if err := greet(c, r, s.names[0]); err != nil {
			s.fail("the connection that was there: %v", err)
			return
		}
		s.kept.Add(1)
	}
}

// The certificate list of a farm is changed 200 times: extended, reduced, reordered and with
// replaced certificates. Every version covers the requested names. With SLUICE_E2E_LONG=1
// there are 1,000 changes.
func TestCertificateListChangesFailNoHandshake(t *testing.T) {
	who := asOne()
	root := certstest.NewAuthority(t, "root", time.Now())
	names := []string{"one.shop.example", "two.shop.example", "three.shop.example"}
	covering := func(hosts ...string) string {
		return root.Issue(hosts[0], func(c *x509.Certificate) { c.DNSNames = hosts }).FullPEM()
	}
	entries := map[string][]string{"all": names, "wild": {"*.shop.example"}, "first": names[:1], "others": names[1:]}
	a := start(t, who, dataDir(t, who))
	key := a.key()
	addr := strings.TrimSuffix(strings.TrimPrefix(a.farm("shop", backend(t, "hello")), "http://"), "/")
	for name, hosts := range entries {
		a.must("certificate", "upload", name, readable(t, covering(hosts...)))
	}
	change := func(list ...string) {
		t.Helper()
		if code, text := a.rest(key, put, "/farms/shop", map[string]any{"listener": "https", "certificates": list}); code != http.StatusOK {
			t.Fatalf("%v: %d %s", list, code, text)
		}
	}
	lists := [][]string{
		{"all.pem"}, {"all.pem", "wild.pem"}, {"wild.pem", "all.pem"}, {"wild.pem"}, {"first.pem", "wild.pem"}, {"first.pem", "others.pem"},
		{"others.pem", "first.pem"}, {"others.pem", "first.pem", "wild.pem", "all.pem"}, {"all.pem", "first.pem"}, {"wild.pem", "others.pem", "first.pem"},
	}
	change(lists[0]...)
	s := &shaking{addr: addr, names: names, roots: x509.NewCertPool()}
	s.roots.AddCert(root.Cert)
	const clients = 6
	s.ended.Add(clients + 1)
	for i := range clients {
		go s.client(i)
	}
	go s.stay()

	count, began := choose(1000, 200), time.Now()
	for i := range count {
		if i%25 == 24 {
			a.must("certificate", "replace", "wild", readable(t, covering(entries["wild"]...)))
			continue
		}
		change(lists[(i+1)%len(lists)]...)
	}
	took := time.Since(began)
	s.end.Store(true)
	s.ended.Wait()
	for _, f := range s.failures {
		t.Error(f)
	}
	full, resumed, kept := s.full.Load(), s.resumed.Load(), s.kept.Load()
	t.Logf("%d changes in %v: %d full and %d resumed handshakes, %d exchanges on the connection that was there", count, took.Round(time.Millisecond), full, resumed, kept)
	if full < 100 || resumed < 10 || kept < 10 {
		t.Error("that is no load")
	}
}
