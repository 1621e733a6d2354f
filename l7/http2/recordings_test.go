package http2_test

import (
	"flag"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "record what real peers send into testdata")

// tap stores the bytes read from a connection.
type tap struct {
	net.Conn
	mu   sync.Mutex
	read []byte
}

func (c *tap) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	c.read = append(c.read, p[:n]...)
	c.mu.Unlock()
	return n, err
}

func (c *tap) save(t *testing.T, name string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := os.WriteFile("testdata/"+name+".bin", c.read[:min(len(c.read), 32<<10)], 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRecordings creates the seeds of the fuzz targets: the bytes sent by curl, nghttp,
// h2load and Go's client, and by Go's server.
func TestRecordings(t *testing.T) {
	if !*update {
		t.Skip("only with -update")
	}
	for name, use := range map[string]func(url string){
		"client-curl": func(url string) {
			program(t, "curl", "-sS", "--http2-prior-knowledge", "-b", "a=1; b=2", "-d", "abc", url+"/echo")
		},
		"client-nghttp": func(url string) { program(t, "nghttp", "-nv", url+"/trailers", url+"/bytes?100000") },
		"client-h2load": func(url string) { program(t, "h2load", "-n", "40", "-c", "1", "-m", "10", url+"/bytes?128") },
		"client-go": func(url string) {
			var p http.Protocols
			p.SetUnencryptedHTTP2(true)
			client := &http.Client{Transport: &http.Transport{Protocols: &p}}
			echo(t, client, url, 3000)
			get(t, client, url+"/trailers")
			_, _ = client.Post(url+"/sum", "text/plain", struct{ *strings.Reader }{strings.NewReader("of any length")})
		},
	} {
		var conn *tap
		addr := listen(t, func(c net.Conn) net.Conn {
			conn = &tap{Conn: c}
			return conn
		})
		use("http://" + addr)
		conn.save(t, name)
	}
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	s := &http.Server{Handler: http.HandlerFunc(handler), Protocols: &p}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(ln) }()
	socket, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn := &tap{Conn: socket}
	b := dial(t, conn, false)
	for _, path := range []string{"/", "/hints", "/trailers", "/none", "/headers", "/bytes?5000"} {
		b.open(head("GET", path), nil).wait(t)
	}
	b.open(head("POST", "/echo"), zeros(300)).wait(t)
	b.open(head("GET", "/cut"), nil).wait(t)
	conn.save(t, "server-go")
}
