package directory

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-ldap/ldap/v3"

	"github.com/sluicelb/sluice/mgmt/outbound"
	"github.com/sluicelb/sluice/mgmt/sealed"
)

// Security is the protection of a connection.
type Security string

// The kinds of protection.
const (
	StartTLS Security = "starttls" // begins plain, with TLS before any other request
	LDAPS    Security = "ldaps"
	None     Security = "none" // passwords are sent in plain text
)

// The ports of RFC 4516 and of LDAPS.
const (
	port    = 389
	portTLS = 636
)

// The default and limit of Timeout, in seconds: a login waits at most 15.
const (
	DefaultTimeout = 5
	MaxTimeout     = 15
)

// placeholder stands for the name of the user in a filter.
const placeholder = "%s"

// Settings holds the address of the directory, and how to find a user in it.
type Settings struct {
	Host     string   `json:"host"`
	Port     int      `json:"port,omitempty"` // 0: the port of Security
	Security Security `json:"security,omitempty"`
	// CA is the name of the list of CAs that verifies the directory's certificate; empty: the
	// system's CAs.
	CA     string `json:"ca,omitempty"`
	BaseDN string `json:"base_dn"`
	// BindDN is the user for searches; empty: anonymous.
	BindDN string `json:"bind_dn,omitempty"`
	// Filter finds the entry of a user: %s is the name, e.g. (uid=%s).
	Filter  string `json:"filter,omitempty"`
	Scope   string `json:"scope,omitempty"`   // base, one or sub
	Timeout int    `json:"timeout,omitempty"` // seconds
}

// complete sets the defaults.
func (s Settings) complete() Settings {
	for scheme, security := range map[string]Security{"ldap://": s.Security, "ldaps://": LDAPS} {
		if rest, is := strings.CutPrefix(s.Host, scheme); is {
			s.Host, s.Security = strings.TrimSuffix(rest, "/"), security
		}
	}
	s.Security = cmp.Or(s.Security, StartTLS)
	if s.Port == 0 {
		s.Port = port
		if s.Security == LDAPS {
			s.Port = portTLS
		}
	}
	s.Filter, s.Scope, s.Timeout = cmp.Or(s.Filter, "(uid="+placeholder+")"), cmp.Or(s.Scope, "sub"), cmp.Or(s.Timeout, DefaultTimeout)
	return s
}

// address returns host and port of the directory.
func (s Settings) address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

func (s Settings) timeout() time.Duration { return time.Duration(s.Timeout) * time.Second }

// Error is the reason why settings are refused, or why their test failed. It never contains
// a secret.
type Error struct{ Message string }

// Error implements error.
func (e *Error) Error() string { return e.Message }

func invalid(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Options holds the parameters of a Directory.
type Options struct {
	Keeper  sealed.Keeper
	Secrets sealed.Sealer
	// Authority returns a list of CAs in PEM.
	Authority func(name string) ([]byte, error)
	Log       *slog.Logger // nil discards
}

// Directory is the configured directory; make it with New. It may be used from any
// goroutine.
type Directory struct {
	options Options
	kept    sealed.Document[kept]
}

// New returns the directory with the settings from the keeper.
func New(o Options) *Directory {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Directory{options: o, kept: sealed.Document[kept]{Keeper: o.Keeper, Sealer: o.Secrets, Name: "ldap", Purpose: "the directory (ldap)"}}
}

// kept holds the stored settings.
type kept struct {
	Settings
	Password []byte `json:"password,omitempty"` // sealed
}

// Settings returns the settings with their defaults, and whether there is a password for
// searches. Without a host nothing is configured.
func (d *Directory) Settings() (s Settings, password bool, err error) {
	k, err := d.kept.Read()
	return k.Settings.complete(), len(k.Password) > 0, err
}

// Plan returns the settings as Set would store them, or the reason why it would refuse
// them.
func (d *Directory) Plan(s Settings, password *string) (Settings, error) {
	before, err := d.kept.Read()
	if err != nil {
		return s.complete(), err
	}
	return d.plan(&before, s, password)
}

func (d *Directory) plan(before *kept, s Settings, password *string) (Settings, error) {
	s = s.complete()
	if err := s.check(d.options.Authority); err != nil {
		return s, err
	}
	was := before.complete()
	if err := outbound.Guard(outbound.Reachable).CheckHost(s.Host); err != nil && s.Host != was.Host {
		return s, invalid("host: %s", err)
	}
	elsewhere := s.address() != was.address() || s.Security != was.Security || s.CA != was.CA
	switch {
	case s.BindDN != "" && password == nil && len(before.Password) == 0:
		return s, invalid("bind_password is needed with bind_dn")
	case s.BindDN != "" && password == nil && elsewhere:
		return s, invalid("bind_password must be sent again when host, port, security or ca change: it was given for another directory")
	case s.BindDN != "" && password != nil && *password == "":
		return s, invalid("bind_password must not be empty: directories take that for an anonymous bind; leave bind_dn blank to search anonymously")
	case s.BindDN == "" && password != nil && *password != "":
		return s, invalid("bind_dn is needed with bind_password")
	case password != nil && len(*password) > maxPassword:
		return s, invalid("bind_password: at most %d bytes are allowed", maxPassword)
	}
	return s, nil
}

// Set changes the settings for future logins. A nil password keeps the current one. An
// *Error is the reason of a refusal.
func (d *Directory) Set(s Settings, password *string) error {
	return d.kept.Change(func(k *kept) (err error) {
		if k.Settings, err = d.plan(k, s, password); err != nil {
			return err
		}
		switch {
		case k.BindDN == "":
			k.Password = nil
		case password != nil:
			if k.Password, err = d.kept.Seal(*password); err != nil {
				return invalid("bind_password cannot be kept: %s", err)
			}
		}
		return nil
	})
}

// hostForm is the form of a DNS name; addresses are parsed.
var hostForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)
})

const (
	maxName     = 253
	maxDN       = 1024
	maxFilter   = 1024
	maxPassword = 512
)

func (s Settings) check(authority func(string) ([]byte, error)) error {
	if _, err := netip.ParseAddr(s.Host); err != nil && (len(s.Host) > maxName || !hostForm().MatchString(s.Host)) {
		return invalid("host: %.80q is neither a host name nor an address", s.Host)
	}
	switch {
	case s.Port < 1 || s.Port > 65535:
		return invalid("port: a number from 1 to 65535 is allowed, got %d", s.Port)
	case s.Security != StartTLS && s.Security != LDAPS && s.Security != None:
		return invalid("security: allowed are starttls, ldaps and none, got %.80q", s.Security)
	case s.Timeout < 1 || s.Timeout > MaxTimeout:
		return invalid("timeout: a number of seconds from 1 to %d is allowed, got %d", MaxTimeout, s.Timeout)
	case scopes[s.Scope] == 0 && s.Scope != "base":
		return invalid("scope: allowed are base, one and sub, got %.80q", s.Scope)
	case s.CA != "" && s.Security == None:
		return invalid("ca: a plain connection has no certificate to verify: set security to starttls or ldaps")
	}
	if s.CA != "" {
		if _, err := authority(s.CA); err != nil {
			return invalid("ca: %s", err)
		}
	}
	if _, err := ldap.ParseDN(s.BaseDN); err != nil || s.BaseDN == "" || len(s.BaseDN) > maxDN {
		return invalid("base_dn: %.80q is no distinguished name, as dc=example,dc=com", s.BaseDN)
	}
	if len(s.BindDN) > maxDN || strings.ContainsFunc(s.BindDN, unicode.IsControl) { // Active Directory accepts other names, too
		return invalid("bind_dn: %.80q is no name of an entry", s.BindDN)
	}
	return checkFilter(s.Filter)
}

var scopes = map[string]int{"base": ldap.ScopeBaseObject, "one": ldap.ScopeSingleLevel, "sub": ldap.ScopeWholeSubtree}

func checkFilter(filter string) error {
	if len(filter) > maxFilter || !strings.Contains(filter, placeholder) {
		return invalid("filter: %.80q does not say where the name of the user goes: write %%s there, as in (uid=%%s)", filter)
	}
	if strings.Contains(strings.ReplaceAll(filter, placeholder, ""), "%") {
		return invalid("filter: a percent sign is allowed in %%s only; write \\25 for others")
	}
	if _, err := ldap.CompileFilter(filterFor(filter, "name")); err != nil {
		var known *ldap.Error
		if errors.As(err, &known) {
			err = known.Err
		}
		return invalid("filter: %.80q is no filter (RFC 4515): %s", filter, err)
	}
	return nil
}

// filterFor returns the filter that finds a user. The name is escaped.
func filterFor(filter, user string) string {
	return strings.ReplaceAll(filter, placeholder, ldap.EscapeFilter(user))
}
