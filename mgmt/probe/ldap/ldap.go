// Package ldap asks directories: bind, and a search that finds something.
package ldap

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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
	least          int
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
	for _, names := range []string{"W warn-entries", "C crit-entries"} {
		f.Value(names, c.entries)
	}
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

// entries reads 5 or 5:, so many are to be found at least.
func (c *check) entries(v string) error {
	n, err := strconv.Atoi(trimColon(v))
	if err != nil || n < 0 || n > maxEntries {
		return fmt.Errorf("%q is no number of entries from 0 to %d: write it such as 5", v, maxEntries)
	}
	c.least = max(c.least, n)
	return nil
}

func trimColon(v string) string {
	if n := len(v); n > 0 && v[n-1] == ':' {
		return v[:n-1]
	}
	return v
}

// maxEntries bounds how many entries are counted.
const maxEntries = 500

// noAttributes asks for the names of entries alone (RFC 4511, 4.5.1.8).
const noAttributes = "1.1"

// Run asks once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	directory.BoundAnswers()
	conn, err := c.server.Open(ctx, n, to, say)
	if err != nil {
		return err
	}
	l := ldap.NewConn(conn, c.server.Secure)
	l.SetTimeout(remaining(ctx))
	l.Start()
	defer l.Close()
	defer conn.Close() // Close of the library waits for the connection
	if c.startTLS {
		if err := l.StartTLS(c.server.Config(to)); err != nil {
			return fmt.Errorf("STARTTLS: %w", plain(err))
		}
		say("STARTTLS was accepted")
	}
	if err := c.bind(l, to); err != nil {
		return fmt.Errorf("bind: %w", plain(err))
	}
	say("bound")
	return c.search(l, to, say)
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

// search looks at the base itself, or at all below it when entries are counted.
func (c *check) search(l *ldap.Conn, to probe.Target, say probe.Say) error {
	scope, most := ldap.ScopeBaseObject, 1
	if c.least > 0 {
		scope, most = ldap.ScopeWholeSubtree, maxEntries
	}
	found, err := l.Search(ldap.NewSearchRequest(c.base.For(to), scope, ldap.NeverDerefAliases, most, 0, false, c.filter.For(to), []string{noAttributes}, nil))
	if err != nil && !ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded) {
		return fmt.Errorf("search: %w", plain(err))
	}
	say("%d entries found", len(found.Entries))
	if len(found.Entries) < max(c.least, 1) {
		return fmt.Errorf("%d entries were found, wanted %d", len(found.Entries), max(c.least, 1))
	}
	return nil
}

// plain names the result code of a directory.
func plain(err error) error {
	var l *ldap.Error
	if !errors.As(err, &l) || l.ResultCode >= ldap.ErrorNetwork {
		return err
	}
	return fmt.Errorf("the directory answered %d (%s)", l.ResultCode, ldap.LDAPResultCodeMap[l.ResultCode])
}
