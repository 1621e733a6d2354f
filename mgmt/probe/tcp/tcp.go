// Package tcp checks servers with plain text. It connects, with TLS if needed, sends a text
// and compares the answer with the expected one. These checks are check_tcp and the checks
// for the greetings of mail, news and chat servers. check_udp does the same with datagrams.
// check_tls checks only the handshake and certificate.
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

// check is a conversation with one request.
type check struct {
	host     probe.Host
	port     probe.Port
	version  string
	send     probe.Text
	quit     probe.Text
	expect   []probe.Text
	anywhere bool // -e: anywhere in the answer; the words of a service are its beginning
	all      bool
	refused  bool // a refused port is healthy
	mismatch bool // another answer is healthy
	most     int
	delay    time.Duration
	secure   bool
	tls      wire.TLS
}

// service holds the settings of a check that is check_tcp under another name.
type service struct {
	port         probe.Port
	expect       []probe.Text
	send, quit   probe.Text
	alwaysSecure bool
}

// Check is check_tcp.
func Check(f *probe.Flags) func() (probe.Probe, error) { return service{}.flags(f) }

// Services returns the checks that are check_tcp with the words of one protocol.
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

// states returns a function that reads the word of -r and -M.
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
	c.flags(f)
	f.Bool(&c.secure, "S ssl")
	c.tls.Flags(f, "D certificate")
	return func() (probe.Probe, error) {
		if len(c.expect) == 0 {
			c.expect = s.expect
		}
		c.secure = c.secure || c.tls != (wire.TLS{}) // -D and --sni imply -S
		return c, nil
	}
}

// flags declares the flags for TCP and UDP. As in the plugin, -E affects only the flags
// after it. Without -E, the text of -q gets a line end.
func (c *check) flags(f *probe.Flags) {
	escape := false
	f.Host(&c.host, "H hostname")
	f.Words(func(word string) error {
		if c.host != "" {
			return errors.New("a word belongs to no flag: quote values that have blanks")
		}
		return probe.HostWord(&c.host, word)
	})
	f.Port(&c.port, "p port")
	f.Version(&c.version)
	f.Value("s send", func(v string) error { c.send = unescaped(v, escape, ""); return nil })
	f.Value("q quit", func(v string) error { c.quit = unescaped(v, escape, "\r\n"); return nil })
	f.Value("e expect", func(v string) error { c.expect, c.anywhere = append(c.expect, probe.Text(v)), true; return nil })
	f.Bool(&escape, "E escape")
	f.Bool(&c.all, "A all")
	f.Ignore("j jail")
	f.Value("r refuse", states(&c.refused))
	f.Value("M mismatch", states(&c.mismatch))
	f.Int(&c.most, 1, 1<<20, "m maxbytes")
	f.Seconds(&c.delay, "d delay")
	f.Times()
}

// unescaped returns a text with the escapes of \ replaced if escape, otherwise with end
// added.
func unescaped(v string, escape bool, end string) probe.Text {
	if !escape {
		return probe.Text(v + end)
	}
	var out strings.Builder
	for i := 0; i < len(v); i++ {
		c := v[i]
		if c == '\\' && i+1 < len(v) {
			i++
			switch c = v[i]; c {
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			case 't':
				c = '\t'
			}
		}
		out.WriteByte(c)
	}
	return probe.Text(out.String())
}

// Run executes the probe once.
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
		stream = wire.Heard(ctx, secured)
	}
	c.step(ctx)
	if err := c.ask(ctx, stream, to); err != nil {
		return err
	}
	if err := c.hear(ctx, conn, stream, to, say); err != nil {
		return err
	}
	if c.quit != "" {
		_, _ = io.WriteString(stream, c.quit.For(to)) // for an orderly end
	}
	return nil
}

// step sets the name of the step after the connection: the greeting of a server that speaks
// first, or the answer to the sent text.
func (c *check) step(ctx context.Context) {
	switch {
	case c.send != "":
		probe.Step(ctx, "answer")
	case len(c.expect) > 0:
		probe.Step(ctx, "greeting")
	}
}

// ask sends the text of the check and waits for its delay.
func (c *check) ask(ctx context.Context, to io.Writer, target probe.Target) error {
	if _, datagram := to.(*wire.Datagrams); c.send != "" || datagram {
		if _, err := io.WriteString(to, c.send.For(target)); err != nil {
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

// patience is how long the check waits for more of an answer after it has received a part
// of it.
const patience = 2 * time.Second

// hear reads until the answer is the expected one, or cannot become it. If nothing is
// received, the server is down, even with -M.
func (c *check) hear(ctx context.Context, conn *wire.Conn, from io.Reader, to probe.Target, say probe.Say) error {
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
		case len(heard) == 0 && errors.Is(err, io.EOF):
			return errors.New("the server closed without an answer")
		case err != nil && (len(heard) == 0 || ctx.Err() != nil):
			return err
		case verdict == differs || len(heard) >= c.most || err != nil:
			say("answered %q", first(heard))
			if c.mismatch {
				return nil
			}
			return fmt.Errorf("answered %q, wanted %s", first(heard), c.wanted())
		}
		conn.Patience(ctx, patience)
	}
}

type verdict int8

const (
	open verdict = iota // more of the answer may decide
	matches
	differs
)

// judge compares the answer as the plugin does. The text of -e may be anywhere in it. The
// words of a service must be its beginning. An empty text still requires an answer.
func (c *check) judge(heard string, to probe.Target) verdict {
	if heard == "" {
		return open
	}
	found, undecided := 0, 0
	for _, e := range c.expect {
		switch want := e.For(to); {
		case c.anywhere && strings.Contains(heard, want), strings.HasPrefix(heard, want):
			found++
		case c.anywhere, strings.HasPrefix(want, heard):
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
	if c.anywhere {
		how = ""
	}
	if c.all {
		by = " and "
	}
	return how + strings.Join(words, by)
}

// first returns the part of an answer that fits into a reason.
func first(heard []byte) string {
	const enough = 80
	if len(heard) > enough {
		return string(heard[:enough]) + "…"
	}
	return strings.TrimRight(string(heard), "\r\n")
}
