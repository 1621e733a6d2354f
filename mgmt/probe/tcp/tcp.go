// Package tcp asks servers in plain words: it connects, with TLS if need be, sends a
// text and compares what comes back with what was expected. That is check_tcp, and
// what mail, news and chat servers greet with; check_udp does it by datagrams, and
// check_tls looks at the handshake and certificate alone.
package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

// check is a conversation of one question.
type check struct {
	host     probe.Host
	port     probe.Port
	version  string
	send     probe.Text
	quit     probe.Text
	expect   []probe.Text
	escape   bool
	all      bool
	refused  bool // a port that is refused is healthy
	mismatch bool // another answer is healthy
	most     int
	delay    time.Duration
	secure   bool
	tls      wire.TLS
}

// service is what a name besides check_tcp stands for.
type service struct {
	port         probe.Port
	expect       []probe.Text
	send, quit   probe.Text
	alwaysSecure bool
}

// Check is check_tcp.
func Check(f *probe.Flags) func() (probe.Probe, error) { return service{}.flags(f) }

// Services are the checks that are check_tcp with words of one protocol.
func Services() map[string]probe.Make {
	out := map[string]probe.Make{}
	for name, s := range map[string]service{
		"check_imap":   {port: 143, expect: []probe.Text{"* OK", "* PREAUTH"}, quit: "a1 LOGOUT\r\n"},
		"check_simap":  {port: 993, expect: []probe.Text{"* OK", "* PREAUTH"}, quit: "a1 LOGOUT\r\n", alwaysSecure: true},
		"check_pop":    {port: 110, expect: []probe.Text{"+OK"}, quit: "QUIT\r\n"},
		"check_spop":   {port: 995, expect: []probe.Text{"+OK"}, quit: "QUIT\r\n", alwaysSecure: true},
		"check_ftp":    {port: 21, expect: []probe.Text{"220"}, quit: "QUIT\r\n"},
		"check_ssmtp":  {port: 465, expect: []probe.Text{"220"}, quit: "QUIT\r\n", alwaysSecure: true},
		"check_nntp":   {port: 119, expect: []probe.Text{"200", "201"}, quit: "QUIT\r\n"},
		"check_nntps":  {port: 563, expect: []probe.Text{"200", "201"}, quit: "QUIT\r\n", alwaysSecure: true},
		"check_clamd":  {port: 3310, send: "PING", expect: []probe.Text{"PONG"}},
		"check_jabber": {port: 5222, send: "<stream:stream to='HOST' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>\n", expect: []probe.Text{"<?xml version='1.0'", "<?xml version=\"1.0\"", "<stream:stream"}, quit: "</stream:stream>\n"},
	} {
		out[name] = s.flags
	}
	return out
}

// states is the word behind -r and -M.
func states(healthy *bool) func(string) error {
	return func(v string) error {
		if v != "ok" && v != "warn" && v != "crit" {
			return fmt.Errorf("%q is no state: ok, warn or crit", v)
		}
		*healthy = v == "ok"
		return nil
	}
}

func (s service) flags(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{port: s.port, send: s.send, quit: s.quit, secure: s.alwaysSecure, most: wire.Most}
	f.Host(&c.host, "H hostname")
	f.Port(&c.port, "p port")
	f.Version(&c.version)
	f.Text(&c.send, "s send")
	f.Text(&c.quit, "q quit")
	f.Texts(&c.expect, "e expect")
	f.Bool(&c.escape, "E escape")
	f.Bool(&c.all, "A all")
	f.Bool(&c.secure, "S ssl")
	f.Ignore("j jail")
	f.Value("r refuse", states(&c.refused))
	f.Value("M mismatch", states(&c.mismatch))
	f.Int(&c.most, 1, 1<<20, "m maxbytes")
	f.Seconds(&c.delay, "d delay")
	c.tls.Flags(f, "D certificate")
	f.Times()
	return func() (probe.Probe, error) {
		if len(c.expect) == 0 {
			c.expect = s.expect
		}
		if c.tls != (wire.TLS{}) && !c.secure {
			return nil, errors.New("a certificate is looked at with TLS only: add -S")
		}
		return c, nil
	}
}

// Run asks once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	conn, err := wire.Open(ctx, n, "tcp"+c.version, probe.Address(c.host, c.port, to), c.most+wire.Most)
	if errors.Is(err, syscall.ECONNREFUSED) && c.refused {
		say("connection refused, which is what is wanted")
		return nil
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	say("connected to %s", conn.RemoteAddr())
	var stream net.Conn = conn
	if c.secure {
		secured, err := c.tls.Client(ctx, conn, c.host, to, say)
		if err != nil {
			return err
		}
		stream = secured
	}
	if err := c.ask(ctx, stream, to); err != nil {
		return err
	}
	if err := c.hear(stream, to, say); err != nil {
		return err
	}
	if c.quit != "" {
		_, _ = io.WriteString(stream, c.text(c.quit, to)) // out of courtesy
	}
	return nil
}

// ask sends what is to be sent, and waits as long as the check says.
func (c *check) ask(ctx context.Context, to io.Writer, target probe.Target) error {
	if c.send != "" {
		if _, err := io.WriteString(to, c.text(c.send, target)); err != nil {
			return err
		}
	}
	if c.delay > 0 {
		wait := time.NewTimer(c.delay)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// hear reads until the answer is the expected one, or cannot be any more.
func (c *check) hear(from io.Reader, to probe.Target, say probe.Say) error {
	if len(c.expect) == 0 {
		return nil
	}
	var heard []byte
	piece := make([]byte, 4096)
	for {
		n, err := from.Read(piece[:min(len(piece), c.most-len(heard))])
		heard = append(heard, piece[:n]...)
		switch verdict := c.judge(string(heard), to); {
		case verdict == matches:
			say("answered %q", first(heard))
			return nil
		case verdict == differs || len(heard) >= c.most || errors.Is(err, io.EOF) && len(heard) > 0:
			say("answered %q", first(heard))
			if c.mismatch {
				return nil
			}
			return fmt.Errorf("answered %q, wanted %s", first(heard), c.wanted())
		case err != nil:
			return err
		}
	}
}

type verdict int8

const (
	open verdict = iota // more of the answer may decide
	matches
	differs
)

// judge compares the beginning of the answer, as the plugin does.
func (c *check) judge(heard string, to probe.Target) verdict {
	found, undecided := 0, 0
	for _, e := range c.expect {
		switch want := c.text(e, to); {
		case strings.HasPrefix(heard, want):
			found++
		case strings.HasPrefix(want, heard):
			undecided++
		case c.all && strings.Contains(heard, want): // several cannot all be the beginning
			found++
		case c.all:
			undecided++
		}
	}
	switch {
	case found == len(c.expect), found > 0 && !c.all:
		return matches
	case undecided > 0:
		return open
	}
	return differs
}

func (c *check) wanted() string {
	var words []string
	for _, e := range c.expect {
		words = append(words, fmt.Sprintf("%q", string(e)))
	}
	how, by := "a beginning of ", " or "
	if c.all {
		how, by = "", " and "
	}
	return how + strings.Join(words, by)
}

// text is a word of the command for a target, with what \ stands for if -E was given.
func (c *check) text(t probe.Text, to probe.Target) string {
	s := t.For(to)
	if c.escape {
		s = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\t`, "\t").Replace(s)
	}
	return s
}

// first is as much of an answer as a reason has room for.
func first(heard []byte) string {
	const enough = 80
	if len(heard) > enough {
		return string(heard[:enough]) + "…"
	}
	return strings.TrimRight(string(heard), "\r\n")
}
