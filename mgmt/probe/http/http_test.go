package http_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	stdhttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/http"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

// site answers requests of tests by path and records the requests.
type site struct {
	to    probe.Target
	asked chan *stdhttp.Request
	body  chan string
}

func start(t *testing.T, secure, http2 bool) *site {
	t.Helper()
	s := &site{asked: make(chan *stdhttp.Request, 100), body: make(chan string, 100)}
	server := httptest.NewUnstartedServer(s)
	server.Config.Protocols = new(stdhttp.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(http2)
	server.Config.Protocols.SetHTTP2(http2)
	server.EnableHTTP2 = http2
	if secure {
		leaf := certstest.NewAuthority(t, "house", time.Now()).Issue("shop.example", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(481 * time.Hour) })
		server.TLS = &tls.Config{Certificates: []tls.Certificate{leaf.TLS()}}
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	s.to = probetest.At(uint16(server.Listener.Addr().(*net.TCPAddr).Port))
	return s
}

func (s *site) ServeHTTP(w stdhttp.ResponseWriter, r *stdhttp.Request) {
	body, _ := io.ReadAll(r.Body)
	s.asked <- r
	s.body <- string(body)
	w.Header().Set("X-Farm", "one")
	w.Header().Set("Last-Modified", time.Now().Add(-time.Hour).UTC().Format(stdhttp.TimeFormat))
	switch path := r.URL.Path; path {
	case "/503":
		w.WriteHeader(503)
	case "/404":
		w.WriteHeader(404)
	case "/moved":
		stdhttp.Redirect(w, r, r.URL.Query().Get("to"), stdhttp.StatusFound)
	case "/loop":
		stdhttp.Redirect(w, r, "/loop", stdhttp.StatusFound)
	case "/nowhere":
		w.WriteHeader(302)
	case "/big":
		for range 64 {
			_, _ = w.Write(bytes.Repeat([]byte("x"), 64<<10))
		}
		_, _ = io.WriteString(w, "the end")
	default:
		fmt.Fprintf(w, "hello from %s\nStatus: ok\n", path)
	}
}

func (s *site) check(t *testing.T, args string) probetest.Asked {
	t.Helper()
	words, err := probe.Words(args)
	if err != nil {
		t.Fatal(err)
	}
	return probetest.Check(t, "check_http", http.Check, s.to, append([]string{"-I", "HOST", "-p", "PORT"}, words...)...)
}

func TestAnswersAreJudged(t *testing.T) {
	s := start(t, false, false)
	for args, reason := range map[string]string{
		``: "", `-e 200`: "", `-e 200-399`: "", `-e 500,200`: "", `-e 'HTTP/1.1 200'`: "", `-e OK`: "",
		`-e 204`: "answered 200 OK, wanted 204", `-e 'HTTP/1.0'`: "answered 200 OK, wanted HTTP/1.0", `-e 201-299`: "answered 200 OK, wanted 201-299",
		`-u /503`: "answered 503 Service Unavailable, wanted 200-399", `-u /404`: "answered 404", `-u /503 -e 503`: "",
		`-s hello`: "", `-s 'from /x' -u /x`: "", `-s bye`: `"bye" is not in the page`,
		`-r '^Status: (ok|fine)$'`: "", `-r '^status: ok$'`: "does not match", `-R '^status: ok$'`: "", `-r hello.*ok`: "", `-r hello --invert-regex`: "matches",
		`-r bye --invert-regex`: "",
		`-d 'X-Farm: one'`:      "", `-d 'X-Farm: two'`: "is not among the fields",
		`-m 5`: "", `-m 5:10`: "bytes or more, wanted 10 at most", `-m 1000`: "wanted 1000 at least",
		`-M 2h`: "", `-M 10m`: " old, wanted at most 10m0s",
		`-u /big -s 'the end'`: "(its first 1048576 bytes were looked at)", `-u /big -m 1:1048576`: "or more, wanted 1048576 at most", `-u /big -s xxx`: "", `-u /big -N`: "",
	} {
		if got := s.check(t, args); reason == "" {
			if got.Err != nil {
				t.Errorf("%s: got %v, want nil", args, got.Err)
			}
		} else if got.Err == nil || !strings.Contains(got.Err.Error(), reason) {
			t.Errorf("%s: %v, wanted %s", args, got.Err, reason)
		}
	}
}

func TestRequestFollowsTheCommand(t *testing.T) {
	s := start(t, false, false)
	ask := func(args string) (*stdhttp.Request, string) {
		t.Helper()
		s.check(t, args).Healthy(t)
		return <-s.asked, <-s.body
	}
	r, body := ask(`-H shop.example -u '/a?b=c&d=PORT' -j PUT -P 'x=HOST' -T text/plain -k 'X-One: 1' -k 'x-one: 2' -A me -a 'user:pass:PORT HOST'`)
	user, password, _ := r.BasicAuth()
	if r.Host != fmt.Sprintf("shop.example:%d", s.to.Port) || r.RequestURI != fmt.Sprintf("/a?b=c&d=%d", s.to.Port) || r.Method != "PUT" || body != "x=127.0.0.1" || r.Header.Get("Content-Type") != "text/plain" ||
		fmt.Sprint(r.Header["X-One"]) != "[1 2]" || r.UserAgent() != "me" || user != "user" || password != "pass:PORT HOST" || !r.Close {
		t.Errorf("%+v %q", r, body)
	}
	if r, body := ask(`-P a=b`); r.Method != "POST" || body != "a=b" || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		t.Errorf("%+v %q", r, body)
	}
	if r, _ := ask(`-l -E`); r.Method != "GET" { // other plugins have them
		t.Errorf("%+v", r)
	}
	if r, _ := ask(``); r.Method != "GET" || r.Host != fmt.Sprintf("127.0.0.1:%d", s.to.Port) || len(r.Header["Authorization"]) > 0 || r.ContentLength != 0 || r.UserAgent() != "Sluice health check" {
		t.Errorf("%+v", r)
	}
	s.to.Name = "one.example"
	if r, _ := ask(`-H HOST`); r.Host != fmt.Sprintf("one.example:%d", s.to.Port) {
		t.Errorf("the host is %s", r.Host)
	}
}

func TestRedirectsStayOnTheBackend(t *testing.T) {
	s, other := start(t, false, false), start(t, true, false)
	elsewhere := fmt.Sprintf("https://www.example:%d/there", other.to.Port)
	for args, reason := range map[string]string{
		`-u /moved?to=/x`: "", `-u /moved?to=/x -f warning`: "answered 302 Found, wanted no redirect", `-u /moved?to=/x -f critical`: "wanted no redirect",
		`-u /moved?to=/x -f ok -s 'from /x'`: "is not in the page", `-u /moved?to=/x -f follow -s 'from /x'`: "", `-u /moved?to=/404 -f follow`: "answered 404",
		`-u /moved?to=` + elsewhere + ` -f follow -s 'from /there'`: "", `-u /moved?to=` + elsewhere + ` -f stickyport`: "",
		`-u /loop -f follow`: "more than 15 redirects", `-u /loop -f follow --max-redirs 2`: "more than 2 redirects",
		`-u /nowhere -f follow`: "without a place to go on to", `-u '/moved?to=ftp://x/' -f follow`: "which is no page", `-u /moved?to=/404 -f follow -e 302`: "",
	} {
		got := s.check(t, args)
		if strings.HasSuffix(args, "stickyport") { // TLS at a port without it
			reason = "TLS"
		}
		if reason == "" && got.Err != nil || reason != "" && (got.Err == nil || !strings.Contains(got.Err.Error(), reason)) {
			t.Errorf("%s: %v, wanted %q\n%s", args, got.Err, reason, got.Said)
		}
	}
	for len(other.asked) > 0 {
		if r := <-other.asked; r.Host != fmt.Sprintf("www.example:%d", other.to.Port) || r.TLS.ServerName != "www.example" {
			t.Errorf("the request is for %s, %s", r.Host, r.TLS.ServerName)
		}
	}
}

// A redirect comes from the backend and must not choose the receiver of a password.
func TestRedirectsDoNotTakeTheLogInElsewhere(t *testing.T) {
	s, other := start(t, false, false), start(t, true, false)
	const logIn = ` -a user:pass -k 'Cookie: a=b' -k 'Authorization: x' -k 'X-One: 1' -f follow`
	for to, kept := range map[string]bool{"/x": true, fmt.Sprintf("http://www.example:%d/x", s.to.Port): true, fmt.Sprintf("https://127.0.0.1:%d/x", other.to.Port): false} {
		s.check(t, `-u /moved?to=`+to+logIn).Healthy(t)
		if first := <-s.asked; first.Header.Get("Authorization") == "" {
			t.Error("the log-in is not sent")
		}
		asked := s.asked
		if !kept {
			asked = other.asked
		}
		r := <-asked
		if _, _, given := r.BasicAuth(); given != kept || (r.Header.Get("Cookie") != "") != kept || r.Header.Get("X-One") != "1" || !kept && r.Header.Get("Authorization") != "" {
			t.Errorf("redirected to %s: %v", to, r.Header)
		}
	}
}

func TestTLSIsSpoken(t *testing.T) {
	s := start(t, true, false)
	s.check(t, `-S -s hello`).Healthy(t)
	s.check(t, `-S1.3`).Healthy(t)
	s.check(t, `-S1.1`).Down(t, "TLS")
	s.check(t, ``).Down(t, "answered 400")
	s.check(t, `-S -H shop.example --verify`).Down(t, "unknown authority")
	s.check(t, `-C 19`).Healthy(t)
	s.check(t, `-C 21,5`).Down(t, "the certificate ends in 20 days, wanted more than 21")
	for len(s.asked) > 0 {
		<-s.asked
	}
	s.check(t, `-S -H www.example`).Healthy(t)
	for args, want := range map[string]string{`-S --sni -H www.example`: "www.example www.example:P", `-S -H www.example --sni=other.example`: "other.example www.example:P",
		`-S -H www.example --sni other.example`: "other.example www.example:P", `-S --sni www.example`: "www.example www.example:P", `-S -H www.example:8443 --sni`: "www.example www.example:8443",
		`-S -H www.example -k 'Host: a.example'`: "www.example a.example", `-S -H www.example:443`: "www.example www.example"} {
		for len(s.asked) > 0 {
			<-s.asked
		}
		s.check(t, args).Healthy(t)
		if r := <-s.asked; r.TLS.ServerName+" "+strings.Replace(r.Host, fmt.Sprint(s.to.Port), "P", 1) != want {
			t.Errorf("%s: TLS to %s, Host %s, wanted %s", args, r.TLS.ServerName, r.Host, want)
		}
	}
}

func TestHTTP2IsSpoken(t *testing.T) {
	for _, secure := range []bool{true, false} {
		s, flag := start(t, secure, true), ""
		if secure {
			flag = " -S"
		}
		s.check(t, `--http2 -e 'HTTP/2.0 200' -s hello`+flag).Healthy(t)
		s.check(t, `--http2 -u /big -s 'the end'`+flag).Down(t, "were looked at")
		if r := <-s.asked; r.ProtoMajor != 2 {
			t.Errorf("the protocol is %s", r.Proto)
		}
		s.check(t, `-e HTTP/1.1`+flag).Healthy(t)
	}
	one := start(t, true, false)
	if got := one.check(t, `--http2 -S`); got.Err == nil {
		t.Error("a server without HTTP/2 is healthy")
	}
	if got := start(t, false, false).check(t, `--http2`); got.Err == nil {
		t.Error("a server without HTTP/2 is healthy")
	}
}

func TestBadFlagsAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		`-u x`: "begins with /", `-u http://other/`: "begins with /", `-e 20x-3`: "is no status", `-e 300-200`: "is no status", `-e 200,`: "an empty status", `-f up`: "is no policy",
		`-r (`: "is no pattern", `-k x`: "a field is written", `-k 'Host: a/b'`: "is no host", `-j 'A B'`: "is not a method", `-m 10:5`: "is no size", `-M x`: "is no age", `--verify`: "add -S",
		`--invert-regex`: "wants a pattern", `-N -s x`: "reads no body", `-C -1`: "is no number of days", `-S9`: "is no version of TLS", `-H 'a/b'`: "is no host", `-y`: "has no flag -y", `-H x a b c`: "belongs to no flag",
	} {
		words, _ := probe.Words(strings.ReplaceAll(args, "(", `\(`))
		if got := probetest.Refused(t, "check_http", http.Check, words...); !strings.Contains(got, want) {
			t.Errorf("%s: %s, wanted %s", args, got, want)
		}
	}
}

func TestTruncatedBodyIsAFailure(t *testing.T) {
	to := probetest.Replies(t, "", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
	got := probetest.In(t, 300*time.Millisecond, "check_http", http.Check, to, "-p", "PORT")
	got.Down(t, "no whole answer within 300ms")
	cut := probetest.Server(t, func(c net.Conn) {
		b := make([]byte, 4096)
		_, _ = c.Read(b)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
	})
	probetest.Check(t, "check_http", http.Check, cut, "-p", "PORT").Down(t, "the body after 5 bytes: the server closed the connection")
}
