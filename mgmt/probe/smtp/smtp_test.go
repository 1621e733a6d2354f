package smtp_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/smtp"
)

// server is a mail server that answers by the beginning of lines.
type server struct {
	mu     sync.Mutex
	heard  []string
	secure *tls.Config
}

func (s *server) start(t *testing.T, greeting string, answers map[string]string) probe.Target {
	leaf := certstest.NewAuthority(t, "house", time.Now()).Issue("mail.example", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(241 * time.Hour) })
	s.secure = &tls.Config{Certificates: []tls.Certificate{leaf.TLS()}}
	return probetest.Server(t, func(c net.Conn) {
		fmt.Fprintf(c, "%s\r\n", greeting)
		for in := bufio.NewReader(c); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			line = strings.TrimSpace(line)
			s.mu.Lock()
			s.heard = append(s.heard, line)
			s.mu.Unlock()
			answer := "250 fine"
			for begin, a := range answers {
				if strings.HasPrefix(line, begin) {
					answer = a
				}
			}
			fmt.Fprintf(c, "%s\r\n", answer)
			if line == "STARTTLS" && strings.HasPrefix(answer, "220") {
				secured := tls.Server(c, s.secure)
				if secured.Handshake() != nil {
					return
				}
				c, in = secured, bufio.NewReader(secured)
			}
		}
	})
}

func (s *server) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.heard, "|")
}

func TestConversationIsHeld(t *testing.T) {
	for _, c := range []struct {
		greeting string
		answers  map[string]string
		args     []string
		reason   string
		heard    string // a beginning; the rest may not have arrived
	}{
		{"220 ready", nil, nil, "", "HELO localhost"},
		{"220-one\r\n220 two", nil, []string{"-F", "me.example"}, "", "HELO me.example"},
		{"421 busy", nil, nil, `greeting: answered "421 busy", wanted "220"`, ""},
		{"554 x", nil, []string{"-e", "554"}, "", "HELO"},
		{"220 ready", map[string]string{"HELO": "501 no"}, nil, `HELO: answered "501 no"`, ""},
		{"220 ready", nil, []string{"-C", "hello host"}, "", "HELO localhost|hello host"},
		{"220 ready", map[string]string{"VRFY": "252 maybe"}, []string{"-C", "VRFY me", "-R", "252"}, "", "HELO localhost|VRFY me"},
		{"220 ready", map[string]string{"VRFY": "550 no"}, []string{"-C", "VRFY me", "-R", "252"}, `command 1: "VRFY me" was answered "550 no", wanted "252"`, ""},
		{"220 ready", map[string]string{"MAIL": "451 later"}, []string{"-f", "a@b.example"}, `MAIL FROM: answered "451 later"`, ""},
		{"220 ready", map[string]string{"STARTTLS": "220 go"}, []string{"-S", "-D", "9"}, "", "EHLO localhost|STARTTLS|EHLO localhost"},
		{"220 ready", map[string]string{"STARTTLS": "220 go"}, []string{"-D", "30"}, "the certificate ends in 10 days, wanted more than 30", ""},
		{"220 ready", map[string]string{"STARTTLS": "454 no"}, []string{"-S"}, `STARTTLS: answered "454 no"`, ""},
		{"220 ready", map[string]string{"AUTH": "334 VXNlcjo=", "bWU=": "334 UGFzczo=", "aHVudGVyMg==": "235 in"}, []string{"-A", "LOGIN", "-U", "me", "-P", "hunter2"}, "", "EHLO localhost|AUTH LOGIN|bWU=|aHVudGVyMg=="},
		{"220 ready", map[string]string{"AUTH": "334 VXNlcjo=", "bWU=": "334 UGFzczo=", "aHVudGVyMg==": "535 no"}, []string{"-U", "me", "-P", "hunter2"}, `login: the password was answered "535 no"`, ""},
		{"220 ready", map[string]string{"AUTH": "235 in"}, []string{"-A", "PLAIN", "-U", "me", "-P", "hunter2"}, "", "EHLO localhost|AUTH PLAIN AG1lAGh1bnRlcjI="},
	} {
		s := &server{}
		got := probetest.Check(t, "check_smtp", smtp.Check, s.start(t, c.greeting, c.answers), append([]string{"-p", "PORT"}, c.args...)...)
		if c.reason == "" {
			got.Healthy(t)
		} else {
			got.Down(t, c.reason)
		}
		if !strings.HasPrefix(s.all(), c.heard) {
			t.Errorf("%q: received %s", c.args, s.all())
		}
		if all := got.Said + fmt.Sprint(got.Err); strings.Contains(all, "hunter2") || strings.Contains(all, "aHVudGVyMg") || strings.Contains(all, "AG1lAGh1") {
			t.Errorf("the password is shown: %s", all)
		}
	}
}

func TestWordsBeforeTLSAreRefused(t *testing.T) {
	to := probetest.Replies(t, "220 ready\r\n", "250 fine\r\n", "220 go\r\n250 injected\r\n")
	probetest.Check(t, "check_smtp", smtp.Check, to, "-p", "PORT", "-S").Down(t, "STARTTLS: the server said more than is allowed before TLS")
}

func TestIncompleteCommandsAreRefused(t *testing.T) {
	for args, want := range map[string]string{"-U me": "wants a user (-U) and a password", "-A LOGIN": "wants a user", "-A CRAM-MD5": "LOGIN or PLAIN", "-S --tls": "either STARTTLS", "-R 250": "more responses"} {
		if got := probetest.Refused(t, "check_smtp", smtp.Check, strings.Fields(args)...); !strings.Contains(got, want) {
			t.Errorf("%s: %s", args, got)
		}
	}
}
