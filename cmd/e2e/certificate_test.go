package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

// readable returns a file all users can read.
func readable(t *testing.T, content string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sluice-pem-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "upload.pem")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// listed waits for a line of the list of certificates.
func (a *appliance) listed(name, status string) {
	a.t.Helper()
	within(a.t, 10*time.Second, name+" is "+status, func() error {
		out, _ := a.run("certificate", "list")
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, name) && strings.Contains(line, status) {
				return nil
			}
		}
		return fmt.Errorf("the list is\n%s", out)
	})
}

func TestCertificatesSurviveAndReadableNodeKeyIsRefused(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		leaf := certstest.NewAuthority(t, "root", time.Now()).Issue("shop.example")
		a := start(t, who, dataDir(t, who))
		url := a.farm("plain", backend(t, "hello"))
		a.must("certificate", "upload", "shop", readable(t, leaf.FullPEM()))
		a.kill("mgmt")
		a.listed("shop.pem", "valid")
		a.listed("api.pem", "valid")

		key := filepath.Join(a.data, "node.key")
		info, err := os.Stat(key)
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 32 {
			t.Fatalf("%v %v", info, err)
		}
		store, err := os.Stat(filepath.Join(a.data, "store.db"))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := info.Sys().(*syscall.Stat_t).Uid, store.Sys().(*syscall.Stat_t).Uid; a != b {
			t.Errorf("the node key belongs to uid %d, the store to %d", a, b)
		}
		if err := os.Chmod(key, 0o644); err != nil {
			t.Fatal(err)
		}
		a.kill("mgmt")
		a.listed("shop.pem", "invalid")
		if out := a.must("certificate", "show", "shop.pem"); !strings.Contains(out, "mode 0644): chmod 600") {
			t.Errorf("the remedy is missing:\n%s", out)
		}
		if out, code := a.run("certificate", "upload", "more", readable(t, leaf.FullPEM())); code != 1 || !strings.Contains(out, "chmod 600") {
			t.Errorf("an upload without a node key: %d %s", code, out)
		}
		wantAnswer(t, url, "hello")
		if err := os.Chmod(key, 0o600); err != nil {
			t.Fatal(err)
		}
		a.listed("shop.pem", "valid")
		a.must("certificate", "delete", "shop.pem")
		a.says(`msg="certificate deleted" role=mgmt name=shop.pem by=root source=cli`, 1)
		a.mu.Lock()
		defer a.mu.Unlock()
		if log := a.log.String(); strings.Contains(log, "PRIVATE") {
			t.Errorf("the log:\n%s", log)
		}
	})
}

// While a certificate is replaced repeatedly the existing connection stays, each new one
// sees the latest certificate, and none fails.
func TestReplacedCertificateEndsNoConnection(t *testing.T) {
	who := asOne()
	root := certstest.NewAuthority(t, "root", time.Now())
	a := start(t, who, dataDir(t, who))
	addr := strings.TrimSuffix(strings.TrimPrefix(a.farm("shop", backend(t, "hello")), "http://"), "/")
	upload := func(verb string) *certstest.Authority {
		leaf := root.Issue("shop.example")
		a.must("certificate", verb, "shop", readable(t, leaf.FullPEM()))
		return leaf
	}
	leaf := upload("upload")
	a.must("farm", "set", "shop", "listener=https", "certificates=shop.pem")
	roots := x509.NewCertPool()
	roots.AddCert(root.Cert)
	config := &tls.Config{ServerName: "shop.example", RootCAs: roots}
	connections := 0
	kept := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: config, DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		connections++
		return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", addr)
	}}}
	defer kept.CloseIdleConnections()
	for round := range 20 {
		if resp, err := kept.Get("https://shop.example/"); err != nil {
			t.Fatalf("round %d: the old connection: %v", round, err)
		} else {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		c, err := tls.Dial("tcp", addr, config)
		if err != nil {
			t.Fatalf("round %d: a new connection: %v", round, err)
		}
		if got := c.ConnectionState().PeerCertificates[0]; !got.Equal(leaf.Cert) {
			t.Errorf("round %d: serial number %v is shown, %v was uploaded", round, got.SerialNumber, leaf.Cert.SerialNumber)
		}
		c.Close()
		leaf = upload("replace")
	}
	if connections != 1 {
		t.Errorf("%d connections were made for one client", connections)
	}
}
