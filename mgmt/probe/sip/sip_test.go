package sip_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"regexp"
	"strings"
	"testing"

	"github.com/icholy/digest"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/sip"
)

// via is the return path (RFC 3261, sections 8.1.1.7 and 20.42).
var via = regexp.MustCompile(`^SIP/2\.0/(UDP|TCP|TLS) 127\.0\.0\.1:\d+;branch=z9hG4bK\w+;rport$`)

// respond answers a request with a status; "challenge" requires the password first.
func respond(status string) func(request string) string {
	return func(request string) string {
		t := textproto.NewReader(bufio.NewReader(strings.NewReader(request)))
		line, _ := t.ReadLine()
		head, err := t.ReadMIMEHeader()
		if err != nil {
			return "SIP/2.0 400 Bad\r\n\r\n"
		}
		if !via.MatchString(head.Get("Via")) {
			return "SIP/2.0 600 Bad Via\r\n\r\n"
		}
		answer, more := status, ""
		if status == "challenge" {
			answer, more = "401 Unauthorized", "WWW-Authenticate: Digest realm=\"house\", nonce=\"n0nce\", qop=\"auth\"\r\n"
			if given := head.Get("Authorization"); given != "" {
				c, err := digest.ParseCredentials(given)
				if err != nil {
					return "SIP/2.0 400 Bad\r\n\r\n"
				}
				want, _ := digest.Digest(&digest.Challenge{Realm: "house", Nonce: "n0nce", QOP: []string{"auth"}}, digest.Options{Method: "OPTIONS", URI: strings.Fields(line)[1], Username: "ann", Password: "right", Count: 1, Cnonce: c.Cnonce})
				if c.Response == want.Response && c.Username == "ann" {
					answer, more = "200 OK", ""
				}
			}
		}
		return fmt.Sprintf("SIP/2.0 100 Trying\r\nCSeq: %s\r\nContent-Length: 0\r\n\r\n", head.Get("Cseq")) + "\x00" +
			fmt.Sprintf("SIP/2.0 %s\r\nCSeq: %s\r\n%sContent-Length: 4\r\n\r\nbody", answer, head.Get("Cseq"), more)
	}
}

// servers starts servers that answer by UDP, and by TCP.
func servers(t *testing.T, answer func(string) string) []probe.Target {
	return []probe.Target{
		probetest.Datagrams(t, func(b []byte) []byte {
			_, final, both := strings.Cut(answer(string(b)), "\x00")
			if !both {
				return nil
			}
			return []byte(final)
		}),
		probetest.Server(t, func(c net.Conn) {
			for in := bufio.NewReader(c); ; {
				request := ""
				for !strings.HasSuffix(request, "\r\n\r\n") {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					request += line
				}
				_, _ = io.WriteString(c, strings.Replace(answer(request), "\x00", "", 1))
			}
		}),
	}
}

func TestOptionsResponsesAreJudged(t *testing.T) {
	for _, c := range []struct{ status, args, reason string }{
		{"200 OK", "", ""}, {"404 Not Found", "", ""}, {"405 Method Not Allowed", "", ""}, {"401 Unauthorized", "", ""},
		{"503 Service Unavailable", "", "answered 503 Service Unavailable"}, {"480 Gone", "", "answered 480 Gone"}, {"301 Moved", "", "answered 301"},
		{"challenge", "--username ann --password right", ""}, {"challenge", "--username ann --password wrong", "user or password was refused"}, {"challenge", "--username ann", ""},
	} {
		for i, to := range servers(t, respond(c.status)) {
			args := append(strings.Fields(c.args), "-R", "HOST:PORT")
			if i == 1 {
				args = append(args, "--tcp")
			}
			got := probetest.Check(t, "check_sip", sip.Check, to, args...)
			if c.reason == "" {
				got.Healthy(t)
			} else {
				got.Down(t, c.reason)
			}
			if strings.Contains(got.Said, "right") {
				t.Errorf("the password is shown: %s", got.Said)
			}
		}
	}
}
