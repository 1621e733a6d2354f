package proxy_test

import (
	"crypto/tls"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// Identity fields are as hard to forge in a stream as in HTTP/1.
func TestRow6IdentityCannotBeForgedInAStream(t *testing.T) {
	t.Parallel()
	shown := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			_, _ = fmt.Fprintf(w, "%s: %s\n", name, values)
		}
	})
	l7test.EachWay(t, shown, func(t *testing.T, _ *l7test.Appliance, c *http.Client, url string) {
		r, err := http.NewRequest("GET", url+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"X-Forwarded-For", "X_Forwarded_For", "X-Forwarded-Host", "Forwarded", "X-Real-IP", "x-real_ip", "X-SSL-Client-CN", "X_SSL_Client_CN", "Proxy"} {
			r.Header[name] = []string{"evil"}
		}
		r.Header.Set("X-Own", "kept")
		res, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		got, err := io.ReadAll(res.Body)
		if err != nil || strings.Contains(string(got), "evil") {
			t.Errorf("the backend got %v\n%s", err, got)
		}
		for _, want := range []string{"X-Forwarded-For: [127.0.0.1]", "X-Forwarded-Host: [a.test]", "X-Own: [kept]"} {
			if !strings.Contains(string(got), want) {
				t.Errorf("the backend did not get %q:\n%s", want, got)
			}
		}
	})
}

// Oversized heads end their own stream or connection only.
func TestRow7TooMuchInAStream(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(nil, l7test.Service("web", b.Addr))
	repeated := func(n int, pair ...string) (out []string) {
		for range n {
			out = append(out, pair...)
		}
		return out
	}
	const tooLong = "GOAWAY ENHANCE_YOUR_CALM" // reading further would cause most of the cost of such a flood
	for name, c := range map[string]struct {
		path   string
		fields []string
		want   string
	}{
		"10,000 headers": {"/", repeated(10_000, "x", "y"), tooLong},
		"1,000 cookies":  {"/", repeated(1000, "cookie", "a=b"), "1 HEADERS 200"}, // parts of one field
		"2,000 cookies":  {"/", repeated(2000, "cookie", "a=b"), tooLong},
	} {
		t.Run(name, func(t *testing.T) {
			p := l7test.DialFrames(t, addr)
			p.Ask(1, true, "GET", c.path, c.fields...)
			if got := p.Next(); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %.80q, want %s", got, c.want)
			}
		})
	}
	for _, c := range []struct {
		path, field int // bytes
		want        string
	}{
		{70 << 10, 0, tooLong}, {60 << 10, 10 << 10, tooLong}, {0, 70 << 10, tooLong}, {1 << 10, 60 << 10, "1 HEADERS 200"},
	} {
		p := l7test.DialFrames(t, addr) // the client of the standard library may know the limit and not send the request
		p.Ask(1, true, "GET", "/?"+strings.Repeat("x", c.path), "x", strings.Repeat("x", c.field))
		if got := p.Next(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: got %.80q", c, got)
		}
	}
	if res := l7test.Dial(t, addr).Send(request()).Get(); res.StatusCode != 200 {
		t.Error(res.Status)
	}
}

// The rules of a farm depend only on its address. Neither the TLS server name nor another
// Host selects weaker ones.
func TestRow15NamesOfAHandshakeLeadNowhereElse(t *testing.T) {
	t.Parallel()
	ca, shown := clients(t, pkix.Name{CommonName: "joe"})
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(asking(t, a, ca, farm.ClientAuthRequired, false), l7test.Service("web", b.Addr))
	for _, sni := range []string{"", "a.test", "A.TEST", "unknown.test", "xn--a.test", strings.Repeat("a.", 126) + "a"} {
		for _, with := range []bool{true, false} {
			config := &tls.Config{InsecureSkipVerify: true, ServerName: sni}
			if with {
				config.Certificates = []tls.Certificate{shown}
			}
			for _, host := range []string{"a.test", "other.test"} {
				status, err := over(addr, config, host)
				if with && (err != nil || status != 200) {
					t.Errorf("%.20q, Host %s: %d, %v", sni, host, status, err)
				}
				if !with && err == nil {
					t.Errorf("%.20q, Host %s, without a certificate: %d", sni, host, status)
				}
			}
		}
	}
}

// over sends one request over TLS with the given configuration.
func over(addr string, config *tls.Config, host string) (status int, err error) {
	c, err := tls.Dial("tcp", addr, config)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n"); err != nil {
		return 0, err
	}
	b, err := io.ReadAll(c)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscanf(string(b), "HTTP/1.1 %d", &status)
	return status, err
}
