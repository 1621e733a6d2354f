package syslog

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

// rsyslog is Debian's syslog server with its own ports and files.
type rsyslog struct {
	t       *testing.T
	dir     string
	port    int
	process *exec.Cmd
}

// newRsyslog prepares a server of a protocol. It returns the authority of its
// certificate.
func newRsyslog(t *testing.T, p Protocol) (*rsyslog, *x509.CertPool) {
	t.Helper()
	const program = "/usr/sbin/rsyslogd"
	for needs, is := range map[string]bool{program: true, "/usr/lib/*/rsyslog/lmnsd_ossl.so": p == TLS} {
		if found, _ := filepath.Glob(needs); is && len(found) == 0 {
			if os.Getuid() != 0 {
				t.Skipf("%s is not installed", needs)
			}
			t.Fatalf("%s is not installed: run .ci/packages", needs)
		}
	}
	r := &rsyslog{t: t, dir: t.TempDir(), port: int(porttest.Both(t).Port())}
	pool := r.certificate()
	input := `module(load="imtcp")
input(type="imtcp" port="%d" address="127.0.0.1")`
	switch p {
	case UDP:
		input = `module(load="imudp")
input(type="imudp" port="%d" address="127.0.0.1")`
	case TLS:
		input = `global(DefaultNetstreamDriver="ossl" DefaultNetstreamDriverCAFile="` + r.dir + `/ca.pem" DefaultNetstreamDriverCertFile="` + r.dir + `/cert.pem" DefaultNetstreamDriverKeyFile="` + r.dir + `/key.pem")
module(load="imtcp" StreamDriver.Name="ossl" StreamDriver.Mode="1" StreamDriver.AuthMode="anon")
input(type="imtcp" port="%d" address="127.0.0.1")`
	}
	r.write("rsyslog.conf", fmt.Sprintf(`global(workDirectory="`+r.dir+`" maxMessageSize="16k")
template(name="all" type="string" string="%%pri%%|%%timestamp:::date-rfc3339%%|%%hostname%%|%%app-name%%|%%procid%%|%%msgid%%|%%structured-data%%|%%msg%%\n")
`+input+`
action(type="omfile" file="`+r.dir+`/log" template="all" asyncWriting="off" flushOnTXEnd="on")
`, r.port))
	r.process = exec.Command(program)
	return r, pool
}

func (r *rsyslog) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// certificate makes a certificate for 127.0.0.1, and returns its authority.
func (r *rsyslog) certificate() *x509.CertPool {
	ca := certstest.NewAuthority(r.t, "logs", time.Now())
	leaf := ca.Issue("logs", func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} })
	r.write("ca.pem", ca.CertPEM())
	r.write("cert.pem", leaf.CertPEM())
	r.write("key.pem", leaf.KeyPEM())
	pool := x509.NewCertPool()
	pool.AddCert(ca.Cert)
	return pool
}

func (r *rsyslog) start() {
	r.t.Helper()
	r.process = exec.Command(r.process.Path, "-n", "-f", r.dir+"/rsyslog.conf", "-i", r.dir+"/pid")
	out, err := os.Create(r.dir + "/out")
	if err != nil {
		r.t.Fatal(err)
	}
	defer out.Close()
	r.process.Stdout, r.process.Stderr = out, out
	if err := r.process.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(r.kill)
}

func (r *rsyslog) kill() {
	if r.process.Process != nil {
		_ = r.process.Process.Kill()
		_ = r.process.Wait()
	}
}

func (r *rsyslog) log() string {
	b, _ := os.ReadFile(r.dir + "/log")
	return string(b)
}

func (r *rsyslog) waitFor(text string) {
	r.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !strings.Contains(r.log(), text) {
		if time.Now().After(deadline) {
			out, _ := os.ReadFile(r.dir + "/out")
			r.t.Fatalf("%q did not arrive; the server has\n%s\nand printed %s", text, r.log(), out)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestRsyslogParsesMessagesAndMayRestart(t *testing.T) {
	for _, p := range []Protocol{UDP, TCP, TLS} {
		t.Run(string(p), func(t *testing.T) {
			server, pool := newRsyslog(t, p)
			target := Target{Protocol: p, Address: fmt.Sprintf("127.0.0.1:%d", server.port), Roots: func() (*x509.CertPool, error) { return pool, nil }}
			s := NewSender(target, DropOldest, NewOrigin("lb1", "sluice", "42"), slog.New(slog.DiscardHandler), nil)
			defer s.Close()
			say := func(text string) {
				s.Send(&Message{Facility: Daemon, Severity: Warning, Time: time.Unix(1000, 0), ID: IDEvent, Text: text,
					Data: []Element{{"sluice", []Param{{"farm", `a"]b`}}}}})
			}
			server.start()
			if p == UDP { // readiness of a UDP server is not observable
				enginetest.Eventually(t, "it listens", func() bool { say("are you there?"); return server.log() != "" })
			}
			say("first line\nsecond line \xff")
			server.waitFor(`|sluice|42|event|[sluice@32473 farm="a\"\]b"]|`)
			server.waitFor(`28|`)
			server.waitFor(`first line\x0asecond line \xff` + "\n")
			server.kill()
			if p == UDP { // datagrams sent meanwhile are lost
				server.start()
				enginetest.Eventually(t, "it listens again", func() bool { say("after the kill"); return strings.Contains(server.log(), "after the kill") })
				return
			}
			for i := range 100 {
				say(fmt.Sprintf("while it is away %d.", i))
			}
			server.start()
			for i := range 100 {
				server.waitFor(fmt.Sprintf("while it is away %d.\n", i))
			}
		})
	}
}

func TestUnverifiedServerGetsNoMessage(t *testing.T) {
	server, _ := newRsyslog(t, TLS)
	server.start()
	s := NewSender(Target{Protocol: TLS, Address: fmt.Sprintf("127.0.0.1:%d", server.port)}, DropOldest, Here(), slog.New(slog.DiscardHandler), nil)
	defer s.Close()
	s.Send(numberedMessage(1))
	enginetest.Eventually(t, "it is refused", func() bool { return strings.Contains(s.Stats().Problem, "certificate signed by unknown authority") })
	if strings.Contains(server.log(), "message 1") {
		t.Error("it got the message")
	}
}
