package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/compress/compresstest"
	"github.com/sluicelb/sluice/l7/l7test"
)

var codings = []farm.Coding{farm.CodingBrotli, farm.CodingZstd, farm.CodingGzip}

// compressing is a service with compression.
func compressing(addrs ...string) farm.Service {
	s := l7test.Service("web", addrs...)
	s.Compression = &farm.Compression{Codings: codings}
	return s
}

// encoding returns a request for path that accepts the given coding.
func encoding(path, accept string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: a.test\r\nAccept-Encoding: " + accept + "\r\n\r\n"
}

// decoded returns the decompressed body of a response.
func decoded(t *testing.T, res l7test.Response) string {
	t.Helper()
	body, err := compresstest.Decode(res.Header.Get("Content-Encoding"), []byte(res.Text))
	if err != nil {
		t.Fatalf("%q does not end well: %v", res.Header, err)
	}
	return string(body)
}

// inPieces responds to "/SIZE?framing" with a text of that size, in random parts.
func inPieces(w http.ResponseWriter, r *http.Request) {
	size, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
	body := compresstest.Text(size, uint64(size))
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if r.URL.RawQuery == "length" {
		w.Header().Set("Content-Length", fmt.Sprint(size))
	}
	if r.URL.RawQuery == "close" {
		w.Header().Set("Transfer-Encoding", "identity")
		w.Header().Set("Connection", "close")
	}
	if r.URL.RawQuery == "trailer" {
		w.Header().Set("Trailer", "X-Sum, Content-Digest, Repr-Digest")
		w.(http.Flusher).Flush() // otherwise a short body might get a length, and HTTP/1 no trailers
	}
	for len(body) > 0 {
		n := min(len(body), 1+rand.IntN(100<<10))
		_, _ = w.Write(body[:n])
		body = body[n:]
		if rand.IntN(3) == 0 {
			w.(http.Flusher).Flush()
		}
	}
	if r.URL.RawQuery == "trailer" {
		w.Header().Set("X-Sum", "1")
		w.Header().Set("Content-Digest", "sha-256=:x:")
		w.Header().Set("Repr-Digest", "sha-256=:x:")
	}
}

// roundTrips requests bodies of all sizes and framings in every coding and compares them
// byte by byte.
func roundTrips(t *testing.T, c *http.Client, url string) {
	for _, framing := range []string{"length", "chunked", "close", "trailer"} {
		for _, size := range []int{0, 1, 1023, 1024, 64 << 10, 300007} {
			if size > 64<<10 && framing != "chunked" && framing != "trailer" {
				continue // the way of a long body to the client is that of "chunked"
			}
			for _, coding := range []string{"gzip", "zstd", "br"} {
				req, _ := http.NewRequest("GET", fmt.Sprintf("%s/%d?%s", url, size, framing), nil)
				req.Header.Set("Accept-Encoding", coding)
				res, err := c.Do(req)
				if err != nil {
					t.Fatalf("%s %d %s: %v", framing, size, coding, err)
				}
				raw, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if err != nil {
					t.Fatalf("%s %d %s: after %d bytes: %v", framing, size, coding, len(raw), err)
				}
				got, err := compresstest.Decode(res.Header.Get("Content-Encoding"), raw)
				if err != nil || !bytes.Equal(got, compresstest.Text(size, uint64(size))) {
					t.Fatalf("%s %d %s: %d bytes, %v", framing, size, coding, len(got), err)
				}
				if used := res.Header.Get("Content-Encoding"); size >= 1024 && used != coding || size < 1024 && used != "" && framing == "length" {
					t.Errorf("%s %d %s: coding %q", framing, size, coding, used)
				}
				if size >= 1024 && (res.ContentLength >= 0 || len(raw) > len(got)/2) || res.Header.Get("Vary") != "Accept-Encoding" && size > 0 {
					t.Errorf("%s %d %s: %d bytes, %q", framing, size, coding, len(raw), res.Header)
				}
				if framing == "trailer" && (res.Trailer.Get("X-Sum") != "1" || size >= 1024 && res.Trailer.Get("Content-Digest")+res.Trailer.Get("Repr-Digest") != "") {
					t.Errorf("%d %s: trailer %q", size, coding, res.Trailer)
				}
			}
		}
	}
}

func TestCompressedBodiesComeBackByteByByte(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(inPieces)
	zip := func(h *farm.HTTP) { h.Services[0].Compression = &farm.Compression{Codings: codings} }
	t.Run("HTTP2", func(t *testing.T) {
		l7test.EachWay(t, handler, func(t *testing.T, _ *l7test.Appliance, c *http.Client, url string) { roundTrips(t, c, url) }, zip)
	})
	t.Run("HTTP2 backend", func(t *testing.T) {
		l7test.EveryPath(t, handler, func(t *testing.T, _ *l7test.Appliance, c *http.Client, url string) { roundTrips(t, c, url) }, zip)
	})
	t.Run("HTTP1", func(t *testing.T) {
		s := newServer(t, handler)
		a := l7test.New(t, 1)
		addr := a.Serve(nil, compressing(s))
		transport := &http.Transport{DialContext: l7test.DialOnly(addr)}
		t.Cleanup(transport.CloseIdleConnections)
		roundTrips(t, &http.Client{Transport: transport}, "http://a.test")
		f := a.Segment.SumFarm(1)
		if f.Connections != 1 {
			t.Errorf("%d connections: compression costs the client its own", f.Connections)
		}
		if f.Compressed == 0 || f.CompressIn < 3*f.CompressOut || f.BytesOut < f.CompressOut || f.BytesOut > f.CompressIn/2 {
			t.Errorf("%d answers, %d bytes became %d, of %d sent", f.Compressed, f.CompressIn, f.CompressOut, f.BytesOut)
		}
	})
}

func TestOldClientsGetBodiesAsTheyAre(t *testing.T) {
	t.Parallel()
	b := newServer(t, http.HandlerFunc(inPieces))
	addr := l7test.New(t, 1).Serve(nil, compressing(b))
	for _, framing := range []string{"length", "chunked"} {
		res := l7test.Dial(t, addr).Send("GET /5000?" + framing + " HTTP/1.0\r\nHost: a.test\r\nAccept-Encoding: gzip\r\n\r\n").Get()
		if res.Text != string(compresstest.Text(5000, 5000)) || res.Header.Get("Content-Encoding") != "" || res.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %d bytes, %q", framing, len(res.Text), res.Header)
		}
	}
}

// The properties of a response that decide about compression, and the resulting fields.
func TestFieldsDecideAndAreTrue(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("abcdefgh", 200)
	for _, c := range []struct {
		status, fields string
		body           string
		accept         string
		coding, vary   string
		etag           string
	}{
		{"200 OK", "Content-Type: text/html\r\nETag: \"x\"\r\n", long, "gzip", "gzip", "Accept-Encoding", `W/"x"`},
		{"200 OK", "Content-Type: TEXT/HTML;charset=x\r\nETag: W/\"x\"\r\n", long, "br", "br", "Accept-Encoding", `W/"x"`},
		{"200 OK", "Content-Type: text/html\r\nETag: \"x\"\r\n", long, "identity", "", "Accept-Encoding", `"x"`},
		{"200 OK", "Content-Type: text/html\r\nETag: \"x\"\r\n", long[:1000], "gzip", "", "Accept-Encoding", `"x"`},
		{"200 OK", "Content-Type: text/html\r\nVary: Origin\r\n", long, "gzip", "gzip", "Origin, Accept-Encoding", ""},
		{"200 OK", "Content-Type: text/html\r\nVary: Origin, accept-encoding\r\n", long, "gzip", "gzip", "Origin, accept-encoding", ""},
		{"200 OK", "Content-Type: text/html\r\nVary: *\r\n", long, "gzip", "gzip", "*", ""},
		{"200 OK", "Content-Type: text/html\r\nContent-Encoding: br\r\nETag: \"x\"\r\n", long, "gzip", "br", "", `"x"`},
		{"200 OK", "Content-Type: text/html\r\nContent-Encoding: identity\r\n", long, "gzip", "identity", "", ""},
		{"200 OK", "Content-Type: text/html\r\nCache-Control: private, No-Transform\r\n", long, "gzip", "", "", ""},
		{"200 OK", "Content-Type: text/html\r\nCache-Control: private\r\n", long, "gzip", "gzip", "Accept-Encoding", ""},
		{"200 OK", "Content-Type: text/html\r\nContent-Range: bytes 0-1599/1600\r\n", long, "gzip", "", "", ""},
		{"206 Partial Content", "Content-Type: text/html\r\nContent-Range: bytes 0-1599/5000\r\n", long, "gzip", "", "", ""},
		{"200 OK", "Content-Type: image/png\r\n", long, "gzip", "", "", ""},
		{"200 OK", "Content-Type: image/svg+xml\r\n", long, "gzip", "gzip", "Accept-Encoding", ""},
		{"200 OK", "Content-Type: texts/html\r\n", long, "gzip", "", "", ""},
		{"200 OK", "Content-Type: " + strings.Repeat("x", 200) + "\r\n", long, "gzip", "", "", ""},
		{"200 OK", "Content-Type: /\r\n", long, "gzip", "", "", ""},
		{"200 OK", "Content-Type:\r\n", long, "gzip", "", "", ""},
		{"200 OK", "X: y\r\n", long, "gzip", "", "", ""},
		{"201 Created", "Content-Type: application/json\r\n", long, "zstd", "zstd", "Accept-Encoding", ""},
		{"404 Not Found", "Content-Type: text/html\r\n", long, "gzip", "gzip", "Accept-Encoding", ""},
		{"500 Oops", "Content-Type: text/html\r\n", long, "gzip", "gzip", "Accept-Encoding", ""},
		{"302 Found", "Content-Type: text/html\r\n", long, "gzip", "", "", ""},
		{"304 Not Modified", "Content-Type: text/html\r\nETag: \"x\"\r\n", "", "gzip", "", "", `"x"`},
		{"204 No Content", "Content-Type: text/html\r\n", "", "gzip", "", "", ""},
		{"200 OK", "Content-Type: text/html\r\n", "", "gzip", "", "Accept-Encoding", ""},
	} {
		length := fmt.Sprintf("Content-Length: %d\r\n", len(c.body))
		if c.status[:3] == "204" || c.status[:3] == "304" {
			length = ""
		}
		b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 "+c.status+"\r\n"+c.fields+"Accept-Ranges: bytes\r\nContent-MD5: x\r\nDigest: y\r\nContent-Digest: z\r\nRepr-Digest: z\r\n"+length+"\r\n"+c.body))
		addr := l7test.New(t, 1).Serve(nil, compressing(b.Addr))
		res := l7test.Dial(t, addr).Send(encoding("/", c.accept)).Get()
		h := res.Header
		if got := h.Get("Content-Encoding"); got != c.coding || strings.Join(h.Values("Vary"), ", ") != c.vary || h.Get("ETag") != c.etag {
			t.Errorf("%s %q for %q:\ngot %q", c.status, c.fields, c.accept, h)
		}
		changed := c.coding != "" && !strings.Contains(c.fields, "Content-Encoding")
		if changed {
			res.Text = decoded(t, res)
		}
		if res.Text != c.body {
			t.Errorf("%s %q for %q: another body", c.status, c.fields, c.accept)
		}
		for _, name := range []string{"Accept-Ranges", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest"} {
			if h.Get(name) == "" != changed {
				t.Errorf("%s %q for %q: %s is %q", c.status, c.fields, c.accept, name, h.Get(name))
			}
		}
	}
}

func TestHEADGetsTheFieldsOfGET(t *testing.T) {
	t.Parallel()
	for length, want := range map[string]string{"Content-Length: 5000\r\n": "gzip", "": "gzip", "Content-Length: 5\r\n": ""} {
		b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: \"x\"\r\n"+length+"\r\n"))
		c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, compressing(b.Addr)))
		for range 2 { // the connection continues
			res := c.Send(strings.Replace(encoding("/", "gzip"), "GET", "HEAD", 1)).Response("HEAD")
			if res.Header.Get("Content-Encoding") != want || res.Header.Get("Vary") != "Accept-Encoding" || (want != "") == (res.ContentLength >= 0) ||
				(want != "") != (res.Header.Get("ETag") == `W/"x"`) {
				t.Errorf("%q: %q, length %d", length, res.Header, res.ContentLength)
			}
		}
	}
}

func TestRulesForRequestsDoNotDecideOnCompression(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2000\r\n\r\n"+strings.Repeat("x", 2000)))
	s := compressing(b.Addr)
	s.RemoveRequest = remove("^Accept-Encoding:")
	s.AddResponse = add("X: y")
	res := l7test.Dial(t, l7test.New(t, 1).Serve(nil, s)).Send(encoding("/", "gzip")).Get()
	if res.Header.Get("Content-Encoding") != "gzip" || res.Header.Get("X") != "y" || strings.Contains(b.Received(), "Accept-Encoding") {
		t.Errorf("%q for %q", res.Header, b.Received())
	}
	s.RemoveRequest, s.RemoveResponse = nil, remove("^Content-Encoding:")
	coded := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\nContent-Length: 2000\r\n\r\n"+strings.Repeat("x", 2000)))
	s.Backends = compressing(coded.Addr).Backends
	res = l7test.Dial(t, l7test.New(t, 1).Serve(nil, s)).Send(encoding("/", "gzip")).Get()
	if len(res.Text) != 2000 || res.Header.Get("Content-Encoding") != "" {
		t.Errorf("an encoded response is encoded again: %q", res.Header)
	}
	if !strings.Contains(coded.Received(), "Accept-Encoding: gzip\r\n") {
		t.Errorf("the backend does not get Accept-Encoding: %q", coded.Received())
	}
}

func TestTypesAndTheirWildcardsAreThoseOfTheService(t *testing.T) {
	t.Parallel()
	b := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		_, _ = w.Write(compresstest.Text(3000, 1))
	}))
	s := compressing(b)
	s.Compression = &farm.Compression{Codings: []farm.Coding{farm.CodingGzip}, Types: []string{"text/*", "Application/x-own"}, Min: 3000, Level: farm.CompressionFast}
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, s))
	for kind, want := range map[string]string{"text/html": "gzip", "text/made-up": "gzip", "application/x-own": "gzip", "application/json": "", "text": "", "text/": "gzip"} {
		if got := c.Send(encoding("/?type="+kind, "br, zstd, gzip;q=0.1")).Get().Header.Get("Content-Encoding"); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}

func TestCompressionThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []farm.Compression{{Codings: []farm.Coding{"deflate"}}, {Codings: codings, Level: "9"}, {Codings: []farm.Coding{""}}} {
		a := l7test.New(t, 1)
		a.Serve(nil, l7test.Service("web", "127.0.0.1:1"))
		f := a.Farm.Clone()
		f.HTTP.Services[0].Compression = &c
		if _, err := a.Engine.Publish(100, &farm.Config{Farms: []farm.Farm{f}}, nil); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

func TestCurlReadsCompressedAnswers(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	about, _ := exec.Command(curl, "--version").Output()
	a := l7test.New(t, 1)
	tls := a.HTTPS(l7test.Certificate(t, "ec.pem", "a.test"))
	addr := a.Serve(tls, compressing(newServer(t, http.HandlerFunc(inPieces))))
	want := compresstest.Text(300000, 300000)
	for _, version := range []string{"--http1.1", "--http2", "--no-alpn --http1.0"} {
		for coding, feature := range map[string]string{"gzip": "libz", "br": "brotli", "zstd": "zstd"} {
			if !bytes.Contains(about, []byte(feature)) {
				t.Logf("this curl knows no %s", coding)
				continue
			}
			head := t.TempDir() + "/head"
			args := append(strings.Fields(version), "-sSk", "--compressed", "-H", "Accept-Encoding: "+coding, "-D", head,
				"--connect-to", "::"+addr, "https://a.test/300000")
			got, err := exec.Command(curl, args...).Output()
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s %s: %d bytes, %v", version, coding, len(got), err)
			}
			lines, _ := exec.Command("cat", head).Output()
			if yes := bytes.Contains(bytes.ToLower(lines), []byte("content-encoding: "+coding)); yes == strings.Contains(version, "1.0") {
				t.Errorf("%s %s: %s", version, coding, lines)
			}
		}
	}
}

func TestCodingsOfTheServiceAreInItsOrder(t *testing.T) {
	t.Parallel()
	b := newServer(t, http.HandlerFunc(inPieces))
	for _, order := range [][]farm.Coding{codings, {farm.CodingGzip, farm.CodingBrotli}} {
		s := compressing(b)
		s.Compression.Codings = order
		c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, s))
		for accept, want := range map[string]farm.Coding{"gzip, deflate, br, zstd": order[0], "gzip;q=0.9, br;q=0.8": farm.CodingGzip} {
			if got := c.Send(encoding("/5000", accept)).Get().Header.Get("Content-Encoding"); got != string(want) {
				t.Errorf("%v for %q: %q", order, accept, got)
			}
		}
	}
	if !slices.Contains(farm.Codings(), codings[0]) {
		t.Error("a coding without a name")
	}
}
