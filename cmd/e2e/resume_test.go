package e2e_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// TLS sessions can be resumed after the engine was killed; otherwise all clients would make
// full handshakes at once.
func TestTLSSessionsResumeAfterTheEngineWasKilled(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		at, err := url.Parse(a.farm("shop", backend(t, "one")))
		if err != nil {
			t.Fatal(err)
		}
		a.must("farm", "set", "shop", "listener=https")
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			client := &tls.Config{InsecureSkipVerify: true, ServerName: "shop.test", MinVersion: version, MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(4)}
			visit := func() (resumed bool, err error) {
				c, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", at.Host, client)
				if err != nil {
					return false, err
				}
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(5 * time.Second))
				_, _ = fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n")
				res, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					return false, err
				}
				_, err = io.Copy(io.Discard, res.Body)
				return c.ConnectionState().DidResume, err
			}
			if resumed, err := visit(); resumed || err != nil {
				t.Fatalf("the first visit: resumed %v, %v", resumed, err)
			}
			for range 2 {
				a.kill("engine")
				within(t, 3*time.Second, "the next engine resumes the session", func() error {
					switch resumed, err := visit(); {
					case err != nil:
						return err
					case !resumed:
						t.Fatal("the session is not resumed")
					}
					return nil
				})
			}
		}
	})
}
