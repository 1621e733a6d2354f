package table_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestStrictFarmRefusesHostsOfOtherCertificates(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		b := l7test.NewBackend(t, l7test.Answer(ok))
		a := l7test.New(t, 1)
		edit := a.HTTPS(l7test.Certificate(t, "first.pem", "a.test", "also.a.test"), l7test.Certificate(t, "other.pem", "b.test", "*.b.test"))
		addr := a.Serve(func(h *farm.HTTP) { edit(h); h.TLS.StrictHost = strict }, l7test.Service("web", b.Addr))
		for _, c := range []struct {
			asked, host string
			misdirected bool
		}{
			{"a.test", "a.test", false}, {"a.test", "A.TEST:443", false}, {"a.test", "also.a.test", false}, {"a.test", "unknown.test", false}, {"a.test", "[2001:db8::1]:443", false},
			{"a.test", "b.test", true}, {"a.test", "x.b.test", true}, {"b.test", "a.test", true}, {"b.test", "x.b.test", false}, {"b.test", "192.0.2.1", true},
			{"", "a.test", false}, {"", "192.0.2.1", false}, {"", "b.test", true},
		} {
			for _, protocol := range []string{"http/1.1", "h2"} {
				transport := &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
					return tls.Client(l7test.Dial(t, addr).TCPConn, &tls.Config{InsecureSkipVerify: true, ServerName: c.asked, NextProtos: []string{protocol}}), nil
				}}
				res, err := (&http.Client{Transport: transport}).Get("https://" + c.host + "/")
				if err != nil {
					t.Fatalf("%s %q %s: %v", protocol, c.asked, c.host, err)
				}
				_, _ = io.ReadAll(res.Body)
				if want := map[bool]int{false: 200, true: 421}[strict && c.misdirected]; res.StatusCode != want {
					t.Errorf("strict %t, %s: TLS name %q, %s: %s, want %d", strict, protocol, c.asked, c.host, res.Status, want)
				}
				if (res.ProtoMajor == 2) != (protocol == "h2") {
					t.Errorf("got %s, want %s", res.Proto, protocol)
				}
				transport.CloseIdleConnections()
				if c.asked == "" {
					continue // an explanation uses the host as server name then
				}
				e, err := a.Engine.Explain(&explain.Question{Farm: 1, URL: "https://" + c.host + "/", SNI: c.asked})
				if err != nil || (e.Result.Step == "host" && e.Result.Status == 421) != (res.StatusCode == 421) {
					t.Errorf("strict %t: TLS name %q, %s: explained as %+v, %v", strict, c.asked, c.host, e.Result, err)
				}
			}
		}
		if strict {
			l7test.Eventually(t, "a line is left", func() bool {
				return len(a.Log.Lines("class=bad-host reason=\"host of another certificate than the connection's\"")) > 0
			})
		}
	}
}
