package backend_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/l7/l7test"
)

// nghttpd starts the server of nghttp2 for the files of a directory and returns its address.
func nghttpd(t *testing.T, dir string, secure bool) string {
	t.Helper()
	program, err := exec.LookPath("nghttpd")
	if err != nil {
		program = "/usr/sbin/nghttpd"
		if _, err := os.Stat(program); err != nil {
			t.Skip("nghttpd is not installed (package nghttp2-server)")
		}
	}
	at := porttest.TCP(t)
	addr, port := at.String(), fmt.Sprint(at.Port())
	args := []string{"-a", "127.0.0.1", "-d", dir, "--trailer", "x-sum: some", "--echo-upload"}
	if secure {
		c := l7test.Certificate(t, "ec.pem", "b.test")
		key, chain := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "chain")
		for path, b := range map[string][]byte{
			key:   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: c.Key}),
			chain: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Chain[0]}),
		} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args = append(args, port, key, chain)
	} else {
		args = append(args, "--no-tls", port)
	}
	cmd := exec.Command(program, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	l7test.Eventually(t, "nghttpd listens", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return addr
}

func TestNghttpdIsABackend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	content := bytes.Repeat([]byte("0123456789"), 300_000)
	for name, b := range map[string][]byte{"large": content, "small": content[:100], "empty": nil} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprint("secure ", secure), func(t *testing.T) {
			a := l7test.New(t, 1)
			front := a.Serve(nil, l7test.HTTP2Service(secure, nghttpd(t, dir, secure)))
			for name, c := range map[string]*http.Client{"http1": {Transport: &http.Transport{DialContext: l7test.DialOnly(front)}}, "h2c": l7test.HTTP2Client(t, front, false)} {
				for path, want := range map[string][]byte{"/large": content, "/small": content[:100], "/empty": nil} {
					res, err := c.Get("http://a.test" + path)
					if err != nil {
						t.Fatal(name, path, err)
					}
					got, err := io.ReadAll(res.Body)
					if err != nil || res.StatusCode != 200 || sha256.Sum256(got) != sha256.Sum256(want) {
						t.Errorf("%s %s: status %d, %d bytes, %v", name, path, res.StatusCode, len(got), err)
					}
					if name == "h2c" && path != "/empty" && res.Trailer.Get("x-sum") != "some" {
						t.Errorf("%s %s: trailers %v", name, path, res.Trailer)
					}
				}
				res, err := c.Post("http://a.test/echo", "text/plain", bytes.NewReader(content))
				if err != nil {
					t.Fatal(name, err)
				}
				if got, err := io.ReadAll(res.Body); err != nil || !bytes.Equal(got, content) {
					t.Errorf("%s: got %d bytes, %v", name, len(got), err)
				}
				c.CloseIdleConnections()
			}
			if n := a.Segment.SumBackend(1); n.Connects != 1 || n.Requests != 8 {
				t.Errorf("counted %+v", n)
			}
		})
	}
}
