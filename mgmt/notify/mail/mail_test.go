package mail_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/notify/mail"
	"github.com/sluicelb/sluice/mgmt/notify/mail/mailtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var at = time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)

func message(to ...string) mail.Message {
	return mail.Message{From: "lb@example.com", To: to, Subject: "backend is down", Text: "one\ntwo ü\n.three", Host: "lb1", At: at}
}

func of(s *mailtest.Server) mail.Server { return mail.Server{Host: s.Host, Port: s.Port} }

func TestEachRecipientGetsTheMailOnce(t *testing.T) {
	s := mailtest.New(t, mailtest.Options{})
	said, failed := mail.Send(t.Context(), of(s), message("a@example.com", "b@example.com"))
	if len(failed) > 0 || !strings.Contains(said, "taken as 2") {
		t.Fatalf("%q, %v", said, failed)
	}
	mails := s.Mails()
	if len(mails) != 2 || mails[0].To != "a@example.com" || mails[1].To != "b@example.com" || mails[0].From != "lb@example.com" || mails[0].Secure || s.Connections() != 1 {
		t.Fatalf("%+v", mails)
	}
	header, subject, text := mails[0].Parsed(t)
	if subject != "backend is down" || text != "one\ntwo ü\n.three\n" {
		t.Errorf("%q: %q", subject, text)
	}
	for name, want := range map[string]string{"From": "<lb@example.com>", "To": "<a@example.com>", "Auto-Submitted": "auto-generated", "Date": "Tue, 24 Nov 2026 09:00:00 +0000", "Message-Id": "<1795510800000000000.0@lb1>"} {
		if got := header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestMailTextsInjectNoHeader(t *testing.T) {
	s := mailtest.New(t, mailtest.Options{})
	m := message("a@example.com")
	m.Subject = "farm \r\nBcc: x@evil.example\r\n\r\nbody\u2028 \xff ü"
	m.Text = "text\r\n.\r\nMAIL FROM:<x@evil.example>\x00\x1b[2J"
	m.Host = "lb\r\nX-Evil: 1 1.example"
	if _, failed := mail.Send(t.Context(), of(s), m); len(failed) > 0 {
		t.Fatal(failed)
	}
	mails := s.Mails()
	header, subject, text := mails[0].Parsed(t)
	if len(mails) != 1 || header.Get("Bcc") != "" || header.Get("X-Evil") != "" || subject != "farm   Bcc: x@evil.example    body  \uFFFD ü" {
		t.Errorf("%q in %v", subject, header)
	}
	if text != "text\n.\nMAIL FROM:<x@evil.example>  [2J\n" {
		t.Errorf("got %q, want %q", text, "text\n.\nMAIL FROM:<x@evil.example>  [2J\n")
	}
	m = message("a@example.com")
	m.Subject = strings.Repeat("ü", 1000)
	if _, failed := mail.Send(t.Context(), of(s), m); len(failed) > 0 {
		t.Fatal(failed)
	}
	if _, subject, _ := s.Mails()[1].Parsed(t); subject != strings.Repeat("ü", 250)+"…" {
		t.Errorf("a subject of %d bytes", len(subject))
	}
}

func TestAddressesAreChecked(t *testing.T) {
	for text, want := range map[string]bool{
		"a@b": true, "ops+lb.1@mail.example.com": true, strings.Repeat("x", 64) + "@example.com": true,
		"": false, "a": false, "@b": false, "a@": false, "a b@c": false, "a@b c": false, "<a@b>": false, "Ops <a@b>": false, "a@b\r\nBcc: x": false, "a@b,c@d": false,
		`"x y"@b`: false, "a@[127.0.0.1]": false, "a@-b": false, "a..b@c": false, ".a@b": false, "a.@b": false, "ü@b": false, "a@b@c": false, "a@b.": false,
		strings.Repeat("x", 65) + "@example.com": false, "a@" + strings.Repeat("x", 253): false,
	} {
		if got := mail.CheckAddress(text) == nil; got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	s := mailtest.New(t, mailtest.Options{})
	m := message("a@example.com\r\nBcc: x@evil.example")
	if _, failed := mail.Send(t.Context(), of(s), m); len(failed) != 1 || !failed[0].Final || s.Connections() != 0 {
		t.Errorf("sent: %v", failed)
	}
	m = message("a@example.com")
	m.From = "x\n@y"
	if _, failed := mail.Send(t.Context(), of(s), m); len(failed) != 1 {
		t.Errorf("sent: %v", failed)
	}
}

func TestRefusedRecipientAffectsNoOther(t *testing.T) {
	s := mailtest.New(t, mailtest.Options{Answer: func(command string) string {
		switch {
		case strings.HasPrefix(command, "RCPT TO:<gone@"):
			return "550 5.1.1 no such user"
		case strings.HasPrefix(command, "RCPT TO:<full@"):
			return "452 4.2.2 mailbox full"
		}
		return ""
	}})
	said, failed := mail.Send(t.Context(), of(s), message("gone@example.com", "full@example.com", "a@example.com"))
	if !strings.Contains(said, "taken as 1") || len(failed) != 2 {
		t.Fatalf("%q, %v", said, failed)
	}
	for i, want := range []struct {
		to    string
		final bool
		text  string
	}{{"gone@example.com", true, `550 "5.1.1 no such user"`}, {"full@example.com", false, `452 "4.2.2 mailbox full"`}} {
		if f := failed[i]; f.To != want.to || f.Final != want.final || !strings.Contains(f.Error(), want.text) || strings.Contains(f.Error(), "affected") {
			t.Errorf("%+v: %v", f, f)
		}
	}
}

func secure(t *testing.T) (*tls.Config, *x509.CertPool) {
	ca := certstest.NewAuthority(t, "mail", time.Now())
	leaf := ca.Issue("mail", func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} })
	pool := x509.NewCertPool()
	pool.AddCert(ca.Cert)
	return &tls.Config{Certificates: []tls.Certificate{leaf.TLS()}}, pool
}

func TestPasswordsTravelOverTLSAlone(t *testing.T) {
	config, pool := secure(t)
	starttls := mailtest.New(t, mailtest.Options{TLS: config, Auth: "ann secret"})
	for name, c := range map[string]struct {
		server *mailtest.Server
		change func(*mail.Server)
		want   string // part of the failure's text
	}{
		"STARTTLS":         {starttls, func(s *mail.Server) { s.Secure, s.Roots, s.User, s.Password = true, pool, "ann", "secret" }, ""},
		"a wrong password": {starttls, func(s *mail.Server) { s.Secure, s.Roots, s.User, s.Password = true, pool, "ann", "wrong" }, `535 "5.7.8 wrong user or password"`},
		"nobody":           {starttls, func(s *mail.Server) { s.Secure, s.Roots = true, pool }, `530 "5.7.0 log in first"`},
		"no TLS":           {starttls, func(s *mail.Server) { s.User, s.Password = "ann", "secret" }, "set tls"},
		"not vouched for":  {starttls, func(s *mail.Server) { s.Secure = true }, "certificate signed by unknown authority"},
		"no STARTTLS":      {mailtest.New(t, mailtest.Options{}), func(s *mail.Server) { s.Secure, s.Roots = true, pool }, "does not support STARTTLS"},
	} {
		before := len(c.server.Mails())
		server := of(c.server)
		c.change(&server)
		_, failed := mail.Send(t.Context(), server, message("a@example.com"))
		switch {
		case c.want == "" && len(failed) > 0:
			t.Errorf("%s: %v", name, failed)
		case c.want != "" && (len(failed) == 0 || !strings.Contains(failed[0].Error(), c.want) || strings.Contains(failed[0].Error(), "secret")):
			t.Errorf("%s: %v, want %s", name, failed, c.want)
		}
		mails := c.server.Mails()[before:]
		if (len(mails) == 1) != (c.want == "") || len(mails) == 1 && (!mails[0].Secure || mails[0].User != "ann secret") {
			t.Errorf("%s: mails %+v", name, mails)
		}
	}
}

func TestUnreachableOrHostileServerCostsLittle(t *testing.T) {
	long := strings.Repeat("250-"+strings.Repeat("x", 500)+"\r\n", 2000) + "250 x"
	for name, c := range map[string]struct {
		server mail.Server
		want   string
	}{
		"away":    {mail.Server{Host: "127.0.0.1", Port: 1}, "connection refused"},
		"barred":  {mail.Server{Host: "169.254.169.254", Port: 25}, "no server is there"},
		"nowhere": {mail.Server{Host: "no-such-host.invalid", Port: 25}, "no-such-host.invalid"},
		"talks":   {of(mailtest.New(t, mailtest.Options{Answer: func(c string) string { return map[bool]string{true: long}[strings.HasPrefix(c, "EHLO")] }})), "says more than mail servers do"},
		"refuses": {of(mailtest.New(t, mailtest.Options{Answer: func(c string) string { return map[bool]string{true: "554 not you"}[c == "CONNECT"] }})), `554 "not you"`},
	} {
		_, failed := mail.Send(t.Context(), c.server, message("a@example.com", "b@example.com"))
		if len(failed) != 2 || failed[0].Final || !strings.Contains(failed[1].Error(), c.want) {
			t.Errorf("%s: %v", name, failed)
		}
	}
	// The caller's context bounds the wait for a silent server.
	hang := make(chan struct{})
	silent := mailtest.New(t, mailtest.Options{Answer: func(string) string { <-hang; return "" }})
	t.Cleanup(func() { close(hang) })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, failed := mail.Send(ctx, of(silent), message("a@example.com")); len(failed) != 1 || !strings.Contains(failed[0].Error(), "did not answer in time") {
		t.Errorf("%v", failed)
	}
}

// Debian's aiosmtpd serves as an independent implementation.
func TestAForeignServerTakesMails(t *testing.T) {
	program, err := exec.LookPath("aiosmtpd")
	if err != nil {
		if os.Getuid() != 0 {
			t.Skip("aiosmtpd is not installed")
		}
		t.Fatal("aiosmtpd is not installed: run .ci/packages")
	}
	address := porttest.TCP(t)
	folder := filepath.Join(t.TempDir(), "mails")
	cmd := exec.Command(program, "-n", "-l", address.String(), "-c", "aiosmtpd.handlers.Mailbox", folder)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	s := mail.Server{Host: "127.0.0.1", Port: int(address.Port())}
	var said string
	enginetest.Eventually(t, "it takes a mail", func() bool {
		var failed []*mail.Failure
		said, failed = mail.Send(t.Context(), s, message("a@example.com", "b@example.com"))
		return len(failed) == 0
	})
	files, _ := filepath.Glob(folder + "/new/*")
	if said != "OK" && !strings.Contains(said, "250") || len(files) != 2 {
		t.Errorf("%q, %q", said, files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil || !strings.Contains(string(b), "Subject: backend is down") || !strings.Contains(string(b), "two =C3=BC") {
		t.Errorf("%s, %v", b, err)
	}
}
