package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/mgmt/notify/webhook"
	"github.com/sluicelb/sluice/mgmt/outbound"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	secret  = []byte("0123456789abcdef")
	message = webhook.Message{ID: "7", Body: []byte(`{"id":"7"}`), At: time.Unix(1795510800, 0)}
)

// verified implements the verification that the manual describes.
func verified(r *http.Request, body []byte, secret []byte) bool {
	var at, sum string
	if _, err := fmt.Sscanf(strings.ReplaceAll(r.Header.Get(webhook.SignatureHeader), ",", " "), "t=%s v1=%s", &at, &sum); err != nil {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(at + "." + string(body)))
	return hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(sum))
}

// secure returns an HTTPS server and a receiver that trusts it.
func secure(t *testing.T, answer http.HandlerFunc) (*httptest.Server, webhook.Receiver) {
	s := httptest.NewTLSServer(answer)
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s, webhook.Receiver{URL: s.URL + "/in?x=1", Secret: secret, Roots: roots}
}

func TestAMessageIsSignedAndItsReceiverVerified(t *testing.T) {
	var good atomic.Int32
	_, r := secure(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		if req.Method == "POST" && req.URL.String() == "/in?x=1" && string(body) == `{"id":"7"}` && req.Header.Get(webhook.DeliveryHeader) == "7" &&
			req.Header.Get("Content-Type") == "application/json" && strings.HasPrefix(req.Header.Get(webhook.SignatureHeader), "t=1795510800,v1=") &&
			verified(req, body, secret) && !verified(req, body, []byte("another secret")) && !verified(req, append(body, ' '), secret) {
			good.Add(1)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	said, err := webhook.Send(t.Context(), r, message)
	if err != nil || said != "202 Accepted" || good.Load() != 1 {
		t.Errorf("%q, %v, %d good ones", said, err, good.Load())
	}
	r.Roots = nil
	if _, err = webhook.Send(t.Context(), r, message); err == nil || !strings.Contains(err.Error(), "certificate") || good.Load() != 1 {
		t.Errorf("a receiver with an untrusted certificate gets messages: %v", err)
	}
	if got, want := webhook.Sign([]byte("key"), time.Unix(1, 0), []byte("body")), "t=1,v1="; !strings.HasPrefix(got, want) || len(got) != len(want)+64 {
		t.Error(got)
	}
}

func TestErrorStatusIsAFailedDelivery(t *testing.T) {
	for status, final := range map[int]bool{500: false, 503: false, 429: false, 401: false, 404: false, 400: true, 410: true, 413: true, 415: true, 422: true} {
		_, r := secure(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		_, err := webhook.Send(t.Context(), r, message)
		f, _ := err.(*webhook.Failure)
		if f == nil || f.Final != final || f.Error() != fmt.Sprintf("it answers %d %s", status, http.StatusText(status)) {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var asked atomic.Int32
	other, _ := secure(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		_, r := secure(t, func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, other.URL, status) })
		if _, err := webhook.Send(t.Context(), r, message); err == nil || !strings.Contains(err.Error(), "redirects are not followed") || err.(*webhook.Failure).Final {
			t.Errorf("%d: %v", status, err)
		}
	}
	if asked.Load() != 0 {
		t.Error("the target of the redirect got a request")
	}
}

// raw returns a receiver that responds with the given bytes.
func raw(t *testing.T, answer string) webhook.Receiver {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, answer)
			_ = c.Close()
		}
	}()
	return webhook.Receiver{URL: "http://" + l.Addr().String(), Secret: secret}
}

func TestGarbageIsAFailureInOneLine(t *testing.T) {
	for _, answer := range []string{"", "220 mail ready\r\n", "\x00\x1b[2J\r\n\r\n", "HTTP/1.1 200", "HTTP/1.1 999999 x\r\n\r\n", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 1<<20)} {
		_, err := webhook.Send(t.Context(), raw(t, answer), message)
		if err == nil || strings.ContainsAny(err.Error(), "\x1b\x00\r\n") || len(err.Error()) > 400 || err.(*webhook.Failure).Final {
			t.Errorf("%.20q: %v", answer, err)
		}
	}
}

func TestEndlessResponseIsBounded(t *testing.T) {
	ended := make(chan struct{})
	_, r := secure(t, func(w http.ResponseWriter, req *http.Request) {
		defer close(ended)
		for req.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	})
	if said, err := webhook.Send(t.Context(), r, message); err != nil || said != "200 OK" {
		t.Errorf("got %q, %v, want %q", said, err, "200 OK")
	}
	<-ended
}

func TestOneThatHangsIsLeft(t *testing.T) {
	over := make(chan struct{})
	_, r := secure(t, func(http.ResponseWriter, *http.Request) { <-over })
	defer close(over)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(0, cancel)
	if _, err := webhook.Send(ctx, r, message); err == nil || err.Error() != "it does not answer in time" {
		t.Error(err)
	}
}

func TestMessagesGoThroughTheProxy(t *testing.T) {
	var asked atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Store(r.URL.String()) }))
	t.Cleanup(proxy.Close)
	r := webhook.Receiver{URL: "http://hooks.test/in", Secret: secret, Proxy: func() outbound.Proxy { return outbound.Proxy{Plain: proxy.URL} }}
	if _, err := webhook.Send(t.Context(), r, message); err != nil || asked.Load() != "http://hooks.test/in" {
		t.Errorf("%v, the request is for %v", err, asked.Load())
	}
	r.URL = "http://169.254.169.254/latest"
	if _, err := webhook.Send(t.Context(), r, message); err == nil || !strings.Contains(err.Error(), "link-local") {
		t.Errorf("a link-local address is reachable through a proxy: %v", err)
	}
}

func TestLocalAddressesAreRefused(t *testing.T) {
	for _, host := range []string{"169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "0.0.0.0", "224.0.0.1", "[64:ff9b::a9fe:a9fe]", "[fd00:ec2::254]", "127.0.0.2"} {
		if _, err := webhook.Send(t.Context(), webhook.Receiver{URL: "http://" + host + "/", Secret: secret}, message); err == nil || !strings.Contains(err.Error(), "address: no server is there") && !strings.Contains(err.Error(), "metadata") && !strings.Contains(err.Error(), "this machine") {
			t.Errorf("%s: %v", host, err)
		}
		if err := webhook.CheckURL("http://" + host + "/"); err == nil {
			t.Errorf("%s may be set", host)
		}
	}
}

func TestAddressesAreChecked(t *testing.T) {
	for _, text := range []string{"", "hooks.example.com", "ftp://x", "https://", "https:///x", "https://ann@x/", "https://ann:pw@x/", "https://x/#y", "https://x:0/", "https://x:70000/", "https://x/ y", "https://x/\r\nX: y", "https://x/ü", "https://x/" + strings.Repeat("y", 1024)} {
		if err := webhook.CheckURL(text); err == nil || strings.Contains(err.Error(), "pw") {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	for _, text := range []string{"https://hooks.example.com/sluice?x=y", "http://127.0.0.1:8080", "https://[2001:db8::1]:8443/"} {
		if err := webhook.CheckURL(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzCheckURL(f *testing.F) {
	f.Add("https://hooks.example.com/sluice")
	f.Add("http://[fe80::1%25eth0]/")
	f.Fuzz(func(t *testing.T, text string) {
		if webhook.CheckURL(text) != nil {
			return
		}
		u, err := url.Parse(text)
		if err != nil || u.User != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
			t.Errorf("%q is accepted", text)
		}
		if _, err := http.NewRequest(http.MethodPost, text, nil); err != nil {
			t.Errorf("%q is accepted, but no request can be made: %v", text, err)
		}
	})
}
