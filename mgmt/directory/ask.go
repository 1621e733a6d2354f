package directory

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"

	"github.com/sluicelb/sluice/mgmt/outbound"
)

// maxAnswer is how much a directory may send on one connection, in bytes: an entry has
// about a hundred, since only its name is requested.
const maxAnswer = 1 << 20

// ErrNotSet: no directory is configured.
var ErrNotSet = errors.New("no LDAP directory is set: sluice user ldap set host=… base_dn=…")

// Right reports whether a password of a user is right. An error is the reason why that is
// unknown: the directory does not answer, or its answer is invalid.
func (d *Directory) Right(ctx context.Context, user, password string) (bool, error) {
	if password == "" || user == "" || len(password) > maxPassword {
		return false, nil
	}
	s, c, end, err := d.open(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	dn, err := s.find(c, user)
	if err != nil || dn == "" {
		return false, err
	}
	err = c.Bind(dn, password)
	switch {
	case err == nil:
		return true, nil
	case ldap.IsErrorAnyOf(err, refusals...):
		return false, nil
	}
	return false, s.problem("check the password", err)
}

// refusals are the result codes with which directories refuse a bind: wrong password,
// locked, expired, not allowed to bind.
var refusals = []uint16{ldap.LDAPResultInvalidCredentials, ldap.LDAPResultInappropriateAuthentication, ldap.LDAPResultInsufficientAccessRights,
	ldap.LDAPResultUnwillingToPerform, ldap.LDAPResultConstraintViolation, ldap.LDAPResultNoSuchObject}

// open connects to the directory and binds as the user for searches. end closes the
// connection.
func (d *Directory) open(ctx context.Context) (s Settings, c *ldap.Conn, end func(), err error) {
	k, err := d.kept.Read()
	if s = k.Settings.complete(); err != nil || s.Host == "" {
		return s, nil, nil, errors.Join(err, notSet(s))
	}
	var password []byte
	if s.BindDN != "" {
		if password, err = d.kept.Open(k.Password); err != nil {
			return s, nil, nil, err
		}
		defer clear(password)
	}
	config, err := d.tls(s)
	if err != nil {
		return s, nil, nil, err
	}
	c, end, err = s.dial(ctx, config)
	if err != nil {
		return s, nil, nil, s.problem("connect", err)
	}
	if s.BindDN != "" {
		if err := c.Bind(s.BindDN, string(password)); err != nil {
			end()
			return s, nil, nil, s.problem("bind as "+s.BindDN, err)
		}
	}
	return s, c, end, nil
}

func notSet(s Settings) error {
	if s.Host == "" {
		return ErrNotSet
	}
	return nil
}

// problem adds the address of the directory to an error.
func (s Settings) problem(what string, err error) error {
	return fmt.Errorf("LDAP directory %s: %s: %w", s.address(), what, err)
}

func (d *Directory) tls(s Settings) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.Host}
	if s.CA == "" {
		return config, nil
	}
	pem, err := d.options.Authority(s.CA)
	if err != nil {
		return nil, s.problem("verify its certificate", err)
	}
	config.RootCAs = x509.NewCertPool()
	config.RootCAs.AppendCertsFromPEM(pem)
	return config, nil
}

// BoundAnswers limits the announced size of one packet from a directory, in the whole
// process: the library allocates that much memory.
func BoundAnswers() { bounds() }

var bounds = sync.OnceFunc(func() { ber.MaxPacketLengthBytes = maxAnswer })

// dial makes a protected connection, which ends with the timeout of the settings, or with
// ctx.
func (s Settings) dial(ctx context.Context, config *tls.Config) (*ldap.Conn, func(), error) {
	bounds()
	until := time.Now().Add(s.timeout())
	raw, err := outbound.Guard(outbound.Reachable).Dialer(net.Dialer{Deadline: until}).DialContext(ctx, "tcp", s.address())
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	_ = raw.SetDeadline(until) // never fails on a TCP connection
	var wire net.Conn = &bounded{Conn: raw, left: maxAnswer}
	switch s.Security {
	case LDAPS:
		secure := tls.Client(wire, config)
		wire, err = secure, secure.HandshakeContext(ctx)
	case StartTLS:
		wire, err = BeginTLS(ctx, wire, config)
	}
	if err != nil {
		stop()
		_ = raw.Close()
		return nil, nil, err
	}
	c := ldap.NewConn(Checked(wire), s.Security != None)
	c.SetTimeout(s.timeout())
	c.Start()
	end := func() {
		stop()
		_ = c.Close()
	}
	return c, end, nil
}

// bounded is a connection that ends after a number of bytes.
type bounded struct {
	net.Conn
	left int // the reader's
}

// Read implements net.Conn.
func (b *bounded) Read(to []byte) (int, error) {
	if b.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.Conn.Read(to[:min(len(to), b.left)])
	b.left -= n
	return n, err
}

// find returns the name of a user's entry, empty if there is none.
func (s Settings) find(c *ldap.Conn, user string) (dn string, err error) {
	entries, err := s.search(c, s.BaseDN, scopes[s.Scope], filterFor(s.Filter, user), 2)
	switch {
	case err != nil:
		return "", s.problem("search", err)
	case len(entries) > 1:
		return "", s.problem("search", fmt.Errorf("the filter %s finds several entries for %.80q: it must find one", s.Filter, user))
	case len(entries) == 0:
		return "", nil
	}
	return entries[0], nil
}

// search returns the names of entries, at most most.
func (s Settings) search(c *ldap.Conn, base string, scope int, filter string, most int) (names []string, err error) {
	const noAttributes = "1.1" // RFC 4511 section 4.5.1.8
	found, err := c.Search(ldap.NewSearchRequest(base, scope, ldap.NeverDerefAliases, most, s.Timeout, false, filter, []string{noAttributes}, nil))
	if err != nil && !ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded) {
		return nil, err
	}
	for _, e := range found.Entries {
		if strings.TrimSpace(e.DN) != "" {
			names = append(names, e.DN)
		}
	}
	return names, nil
}

// maxCounted is how many users a test counts at most.
const maxCounted = 100

// Tested is the result of a test.
type Tested struct {
	// Users is how many entries the filter finds for any name, at most maxCounted; More:
	// there are more of them.
	Users int
	More  bool
}

// Test connects, binds and searches as a login does. An *Error is the reason of a failure.
func (d *Directory) Test(ctx context.Context) (Tested, error) {
	s, c, end, err := d.open(ctx)
	if err != nil {
		return Tested{}, invalid("%s", err)
	}
	defer end()
	if _, err := s.search(c, s.BaseDN, ldap.ScopeBaseObject, "(objectClass=*)", 1); err != nil {
		return Tested{}, invalid("%s", s.problem("look at "+s.BaseDN, err))
	}
	names, err := s.search(c, s.BaseDN, scopes[s.Scope], strings.ReplaceAll(s.Filter, placeholder, "*"), maxCounted)
	if err != nil {
		return Tested{}, invalid("%s", s.problem("search", err))
	}
	if len(names) == 0 {
		return Tested{}, invalid("LDAP directory %s: the filter %s finds nobody below %s", s.address(), s.Filter, s.BaseDN)
	}
	return Tested{Users: len(names), More: len(names) == maxCounted}, nil
}
