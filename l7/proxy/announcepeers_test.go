package proxy_test

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/l7/l7test"
)

// others starts a program and returns the address it listens on. Its configuration contains
// PORT, and DIR for its own directory.
func others(t *testing.T, name, config string, args ...string) string {
	t.Helper()
	path := installed(t, name)
	dir := t.TempDir()
	at := porttest.TCP(t)
	file := filepath.Join(dir, "config")
	text := strings.NewReplacer("DIR", dir, "PORT", fmt.Sprint(at.Port())).Replace(config)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command(path, append(args, file)...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	if !listens(at.String(), ended) {
		_ = cmd.Process.Kill()
		<-ended
		t.Fatalf("%s does not listen: %s", name, log.String())
	}
	return at.String()
}

func listens(addr string, ended <-chan struct{}) bool {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.Close()
			return true
		}
		select {
		case <-ended:
			return false
		default:
		}
	}
	return false
}

func installed(t *testing.T, name string) string {
	t.Helper()
	for _, folder := range []string{"", "/usr/sbin/"} {
		if path, err := exec.LookPath(folder + name); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed", name)
	return ""
}

const nginxReceives = `daemon off; master_process off; pid DIR/pid; error_log stderr; user root;
events {}
http {
	access_log off; client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
	server {
		listen 127.0.0.1:PORT proxy_protocol%s;
		%s
		location / { return 200 "$proxy_protocol_addr:$proxy_protocol_port $connection $connection_requests"; }
	}
}`

const haproxyReceives = `global
	maxconn 100
defaults
	mode http
	timeout client 5s
	timeout server 5s
	timeout connect 5s
frontend in
	bind 127.0.0.1:PORT accept-proxy%s
	http-request return status 200 content-type text/plain lf-string "%%[src]:%%[src_port] x x"
`

func TestOthersUnderstandAnnouncements(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "pem")
	if err := os.WriteFile(file, pemOf(t, l7test.Certificate(t, "b.pem", "b.test")), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, receiver := range map[string]func(t *testing.T) (addr string, secure bool){
		"nginx": func(t *testing.T) (string, bool) {
			return others(t, "nginx", fmt.Sprintf(nginxReceives, "", ""), "-c"), false
		},
		"nginx with TLS": func(t *testing.T) (string, bool) {
			return others(t, "nginx", fmt.Sprintf(nginxReceives, " ssl", "ssl_certificate "+file+"; ssl_certificate_key "+file+";"), "-c"), true
		},
		"haproxy": func(t *testing.T) (string, bool) {
			return others(t, "haproxy", fmt.Sprintf(haproxyReceives, ""), "-db", "-f"), false
		},
		"haproxy with TLS": func(t *testing.T) (string, bool) {
			return others(t, "haproxy", fmt.Sprintf(haproxyReceives, " ssl crt "+file), "-db", "-f"), true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to, secure := receiver(t)
			for _, out := range []farm.ProxyOut{farm.ProxyOutV1, farm.ProxyOutV2} {
				service := announcing(out, to)
				if secure {
					service.TLS = &farm.BackendTLS{}
				}
				a := l7test.New(t, 1)
				plain := l7test.Dial(t, a.Serve(nil, service))
				var first []string
				for i := range 3 {
					got := strings.Fields(plain.Send(get("/")).Get().Text)
					if len(got) != 3 || got[0] != plain.LocalAddr().String() {
						t.Fatalf("%s: they saw %q, it was %v", out, got, plain.LocalAddr())
					}
					if i == 0 {
						first = got
					}
					if got[1] != first[1] {
						t.Errorf("%s: request %d came on another connection", out, i)
					}
				}
				edit := a.HTTPS(l7test.Certificate(t, "a.pem", "a.test"))
				res, err := browser(t, a.Serve(edit, service), nil).Get("https://a.test/")
				if err != nil || res.StatusCode != 200 {
					t.Fatalf("%s, with TLS to the client: %v %v", out, res, err)
				}
				_ = res.Body.Close()
			}
		})
	}
}

func TestOthersIntroduceTheirClients(t *testing.T) {
	t.Parallel()
	for _, send := range []string{"send-proxy", "send-proxy-v2", "send-proxy-v2-ssl-cn", "send-proxy-v2 proxy-v2-options crc32c,unique-id,authority"} {
		for _, mode := range []string{"tcp", "http"} {
			t.Run(send+" "+mode, func(t *testing.T) {
				t.Parallel()
				b := l7test.NewBackend(t, l7test.Answer(ok))
				addr := l7test.New(t, 1).Serve(introducing(farm.ProxyInRequired, "127.0.0.1/32"), l7test.Service("web", b.Addr))
				front := others(t, "haproxy", fmt.Sprintf(`global
	maxconn 100
defaults
	mode %s
	timeout client 5s
	timeout server 5s
	timeout connect 5s
listen in
	bind 127.0.0.1:PORT
	unique-id-format %%[uuid]
	server sluice %s %s
`, mode, addr, send), "-db", "-f")
				var d net.Dialer
				d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 77)}
				c, err := d.Dial("tcp", front)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				client := &l7test.Client{TCPConn: c.(*net.TCPConn)}
				for range 2 {
					_, _ = c.Write([]byte(get("/")))
					buf := make([]byte, 4096)
					if n, err := client.Read(buf); err != nil || !strings.HasPrefix(string(buf[:n]), "HTTP/1.1 200") {
						t.Fatalf("%q, %v", buf[:n], err)
					}
				}
				if got := b.Field("X-Forwarded-For"); got != "127.0.0.77" {
					t.Errorf("the backend got %q", got)
				}
			})
		}
	}
}

func TestCurlIntroducesItself(t *testing.T) {
	t.Parallel()
	curl := installed(t, "curl")
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	for _, scheme := range []string{"http", "https"} {
		edit := introducing(farm.ProxyInRequired, "127.0.0.0/8")
		if scheme == "https" {
			of := a.HTTPS(l7test.Certificate(t, "a.pem", "a.test"))
			edit = func(h *farm.HTTP) { introducing(farm.ProxyInRequired, "127.0.0.0/8")(h); of(h) }
		}
		addr := a.Serve(edit, l7test.Service("web", b.Addr))
		out, err := exec.Command(curl, "-ksS", "--max-time", "10", "--haproxy-protocol", "--interface", "127.0.0.9", scheme+"://"+addr+"/").CombinedOutput()
		if err != nil || string(out) != "ok" || b.Field("X-Forwarded-For") != "127.0.0.9" {
			t.Errorf("%s: %q, %v, for %q", scheme, out, err, b.Field("X-Forwarded-For"))
		}
	}
}

// pemOf returns a certificate and its key as a PEM file.
func pemOf(t *testing.T, c farm.Certificate) (out []byte) {
	t.Helper()
	for _, der := range c.Chain {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return append(out, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: c.Key})...)
}
