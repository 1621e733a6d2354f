// Package ldap checks directories: a bind, and a search for an entry that exists.
package ldap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-ldap/ldap/v3"

	"github.com/sluicelb/sluice/mgmt/directory"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct {
	server         wire.Server
	startTLS       bool
	base, filter   probe.Text
	user, password probe.Text
	entries        probe.Ranges
}

// Check is check_ldap.
func Check(f *probe.Flags) func() (probe.Probe, error) { return flags(f, 389, false) }

// Secure is check_ldaps: TLS from the first byte on.
func Secure(f *probe.Flags) func() (probe.Probe, error) { return flags(f, 636, true) }

func flags(f *probe.Flags, port probe.Port, secure bool) func() (probe.Probe, error) {
	c := &check{filter: "(objectclass=*)"}
	c.server.Flags(f, "p port")
	c.server.Port, c.server.Secure = port, secure
	f.Bool(&c.startTLS, "T starttls")
	f.Text(&c.base, "b base")
	f.Text(&c.filter, "a attr")
	f.Text(&c.user, "D bind")
	f.Secret(&c.password, "P pass")
	f.Ignore("3 ver3")
	c.entries.Declare(f, "W warn-entries", "C crit-entries")
	return func() (probe.Probe, error) {
		switch {
		case c.base == "":
			return nil, errors.New("what is searched is missing: -b 'dc=example,dc=com'")
		case c.startTLS && c.server.Secure:
			return nil, errors.New("either STARTTLS (-T) or TLS from the beginning")
		case c.user != "" && c.password == "":
			return nil, errors.New("a name to bind as wants a password (-P), since directories take anybody without one")
		}
		if _, err := ldap.CompileFilter(string(c.filter)); err != nil {
			return nil, fmt.Errorf("%q is no filter", string(c.filter))
		}
		return c, nil
	}
}

// ended returns the error of a connection. The library keeps only its text.
func ended(err error) error {
	text := strings.TrimPrefix(err.Error(), "unable to read LDAP response packet: ")
	switch {
	case strings.HasSuffix(text, "EOF"), strings.HasSuffix(text, " closed"):
		return io.EOF
	case strings.HasSuffix(text, syscall.ECONNRESET.Error()):
		return syscall.ECONNRESET
	}
	return errors.New(text)
}

// maxEntries is how many entries are counted at most.
const maxEntries = 500

// noAttributes requests only the names of entries (RFC 4511, 4.5.1.8).
const noAttributes = "1.1"

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	directory.BoundAnswers()
	conn, err := c.server.Open(ctx, n, to, say)
	if err != nil {
		return err
	}
	defer conn.Close()
	stream := conn
	if c.startTLS {
		probe.Step(ctx, "STARTTLS")
		if err := directory.AskTLS(conn); err != nil {
			return plain(err)
		}
		say("STARTTLS was accepted")
		secured, err := c.server.TLS.Client(ctx, conn, c.server.Host, to, say)
		if err != nil {
			return err
		}
		stream = wire.Heard(ctx, secured)
	}
	heard := &remembers{Conn: directory.Checked(stream)}
	l := ldap.NewConn(heard, c.server.Secure || c.startTLS)
	l.SetTimeout(remaining(ctx) + time.Second) // the connection ends with ctx first, which has the better reason
	l.Start()
	defer l.Close()
	defer conn.Close() // Close of the library waits for the connection
	probe.Step(ctx, "bind")
	if err := c.bind(l, to); err != nil {
		return heard.cause(plain(err))
	}
	say("bound")
	probe.Step(ctx, "search")
	return heard.cause(c.search(l, to, say))
}

// remembers is a connection that keeps its first read error. The library reads in a
// goroutine, and a waiting request may get only the consequence: a closed connection.
type remembers struct {
	net.Conn
	first atomic.Pointer[error]
}

// Read reads and keeps the first error.
func (r *remembers) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	if err != nil {
		r.first.CompareAndSwap(nil, &err)
	}
	return n, err
}

// cause returns the first read error if err is only that the connection has ended.
func (r *remembers) cause(err error) error {
	if first := r.first.Load(); errors.Is(err, io.EOF) && first != nil {
		return ended(*first)
	}
	return err
}

func remaining(ctx context.Context) time.Duration {
	if deadline, bounded := ctx.Deadline(); bounded {
		return max(time.Until(deadline), time.Millisecond)
	}
	return time.Minute
}

func (c *check) bind(l *ldap.Conn, to probe.Target) error {
	if c.user == "" {
		return l.UnauthenticatedBind("")
	}
	return l.Bind(c.user.For(to), string(c.password))
}

// search reads the base, or everything below it if entries are counted. Like for the plugin,
// a server whose base exists is healthy even if the filter matches nothing.
func (c *check) search(l *ldap.Conn, to probe.Target, say probe.Say) error {
	scope := ldap.ScopeBaseObject
	if len(c.entries) > 0 {
		scope = ldap.ScopeWholeSubtree
	}
	found, err := l.Search(ldap.NewSearchRequest(c.base.For(to), scope, ldap.NeverDerefAliases, maxEntries, 0, false, c.filter.For(to), []string{noAttributes}, nil))
	if err != nil && !(ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded) && len(c.entries) > 0) {
		return plain(err)
	}
	say("%d entries found", len(found.Entries))
	return c.entries.Judge("the number of entries", float64(len(found.Entries)))
}

// plain returns an error with the result code of a directory, or with the failure of the
// connection.
func plain(err error) error {
	var l *ldap.Error
	if !errors.As(err, &l) {
		return ended(err)
	}
	if l.ResultCode >= ldap.ErrorNetwork {
		return ended(l.Err)
	}
	return fmt.Errorf("the directory answered %d (%s)", l.ResultCode, ldap.LDAPResultCodeMap[l.ResultCode])
}
