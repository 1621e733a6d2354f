package notify

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sluicelb/sluice/mgmt/notify/mail"
	"github.com/sluicelb/sluice/mgmt/outbound"
)

// Settings defines the notification channels.
type Settings struct {
	Email Email `json:"email,omitzero"`
	// Disabled lists the disabled alerts.
	Disabled []string     `json:"disabled,omitempty"`
	Backends BackendAlert `json:"backends,omitzero"`
	// ClusterPrefix starts the subjects of cluster alerts; Interfaces lists interfaces with
	// alerts. Both are for future functions.
	ClusterPrefix string    `json:"cluster_prefix,omitempty"`
	Interfaces    []string  `json:"interfaces,omitempty"`
	Webhooks      []Webhook `json:"webhooks,omitempty"`
	Syslog        Way       `json:"syslog,omitzero"`
	Scripts       Way       `json:"scripts,omitzero"`
}

// Email is the mail server and the addresses.
type Email struct {
	Server string   `json:"server,omitempty"` // host or host:port; "": nothing is sent
	User   string   `json:"user,omitempty"`
	From   string   `json:"from,omitempty"`
	To     []string `json:"to,omitempty"`
	TLS    bool     `json:"tls,omitempty"`
	// CA names the authority list that verifies the server; "" means the system's roots.
	CA string `json:"ca,omitempty"`
	// Choice selects the mailed events; without kinds, the alerts select them.
	Choice
	// Sealed is the sealed password, which only this package decrypts.
	Sealed []byte `json:"password,omitempty"`
	// Password is a new password to be sealed; nil: unchanged.
	Password *string `json:"-"`
}

// keepsPassword refuses to send the stored password to another server than the one it was given
// for. Otherwise a user who may change the server, but cannot read the password, could get it.
func (e *Email) keepsPassword(old *Email) error {
	if len(old.Sealed) == 0 || e.Password != nil || e.Server == "" || e.Server == old.Server && e.CA == old.CA {
		return nil
	}
	return invalid("password: the stored password is for the server %s; with another server or authority list, send the password too, or null to delete it", cmp.Or(old.Server, "that was set before"))
}

// BackendAlert holds the settings for backends.
type BackendAlert struct {
	Prefix string `json:"prefix,omitempty"`
	// AvoidFlapping is the minimum duration of a state in seconds before it is reported.
	AvoidFlapping *int `json:"avoidflappingtime,omitempty"`
}

// DefaultAvoidFlapping is the default of AvoidFlapping in seconds, MaxAvoidFlapping its
// maximum.
const (
	DefaultAvoidFlapping = 1
	MaxAvoidFlapping     = 3600
)

// Seconds returns AvoidFlapping or its default.
func (b BackendAlert) Seconds() int {
	if b.AvoidFlapping != nil {
		return *b.AvoidFlapping
	}
	return DefaultAvoidFlapping
}

// Limits of settings.
const (
	MaxRecipients = 16
	MaxPrefix     = 64
	maxInterfaces = 64
	maxText       = 255
)

// clone returns a deep copy.
func (s Settings) clone() Settings {
	s.Email.To, s.Email.Sealed, s.Email.Choice = slices.Clone(s.Email.To), slices.Clone(s.Email.Sealed), s.Email.Choice.clone()
	s.Syslog.Choice, s.Scripts.Choice = s.Syslog.Choice.clone(), s.Scripts.Choice.clone()
	s.Disabled, s.Interfaces = slices.Clone(s.Disabled), slices.Clone(s.Interfaces)
	s.Webhooks = slices.Clone(s.Webhooks)
	for i := range s.Webhooks {
		s.Webhooks[i] = s.Webhooks[i].clone()
	}
	return s
}

// check validates the settings.
func (s *Settings) check() error {
	if err := s.Email.check(); err != nil {
		return err
	}
	for _, c := range []Choice{s.Email.Choice, s.Syslog.Choice, s.Scripts.Choice} {
		if err := c.check(); err != nil {
			return err
		}
	}
	for _, prefix := range []string{s.Backends.Prefix, s.ClusterPrefix} {
		if len(prefix) > MaxPrefix || strings.ContainsFunc(prefix, notInPrefix) {
			return invalid("prefix: letters, digits, blanks, _, - and brackets are allowed, %d at most, got %s", MaxPrefix, show(prefix))
		}
	}
	if n := s.Backends.Seconds(); n < 0 || n > MaxAvoidFlapping {
		return invalid("avoidflappingtime: a number of seconds from 0 to %d is allowed, got %d", MaxAvoidFlapping, n)
	}
	if len(s.Interfaces) > maxInterfaces {
		return invalid("interfaces: at most %d are possible, got %d", maxInterfaces, len(s.Interfaces))
	}
	for _, name := range s.Interfaces {
		if name == "" || len(name) > 15 || !alphanumeric(rune(name[0])) || strings.ContainsFunc(name, func(r rune) bool { return !alphanumeric(r) && !strings.ContainsRune(".:-", r) }) {
			return invalid("interfaces: %s is no name of an interface", show(name))
		}
	}
	return s.checkWebhooks()
}

func notInPrefix(r rune) bool {
	return !(r == '_' || r == '-' || r == ' ' || strings.ContainsRune("()[]{}<>", r) || alphanumeric(r))
}

func (e *Email) check() error {
	if e.Server != "" {
		if _, _, err := splitServer(e.Server, e.TLS); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"user": e.User, "password": deref(e.Password)} {
		if len(text) > maxText || strings.ContainsFunc(text, unicode.IsControl) {
			return invalid("%s: at most %d bytes without control characters are allowed", name, maxText)
		}
	}
	if e.From != "" {
		if err := mail.CheckAddress(e.From); err != nil {
			return invalid("from: %s", err)
		}
	}
	if len(e.To) > MaxRecipients {
		return invalid("to: at most %d addresses are possible, got %d", MaxRecipients, len(e.To))
	}
	for i, to := range e.To {
		if err := mail.CheckAddress(to); err != nil {
			return invalid("to: %s", err)
		}
		if slices.Contains(e.To[:i], to) {
			return invalid("to: %s is given twice", to)
		}
	}
	switch {
	case e.Server != "" && e.From == "":
		return invalid("from is required beside server: the address mails come from")
	case e.Server != "" && len(e.To) == 0:
		return invalid("to is required beside server: the addresses mails go to")
	case e.User == "" && (deref(e.Password) != "" || e.Password == nil && len(e.Sealed) > 0):
		return invalid("user is required beside password; send password blank to forget it")
	}
	return nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// hostName reports whether a text is a host name.
func hostName(text string) bool {
	for label := range strings.SplitSeq(strings.TrimSuffix(text, "."), ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || strings.ContainsFunc(label, func(r rune) bool { return r != '-' && !alphanumeric(r) }) {
			return false
		}
	}
	return len(text) <= 253
}

func alphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// reachable refuses a new mail server that would never be connected to.
func reachable(before string, e *Email) error {
	host, _, err := splitServer(e.Server, e.TLS)
	if err != nil || e.Server == before {
		return nil
	}
	if err := outbound.Guard(outbound.Reachable).CheckHost(host); err != nil {
		return invalid("server: %s", err)
	}
	return nil
}

// splitServer parses host or host:port.
func splitServer(text string, secure bool) (host string, port int, err error) {
	host, port = text, mail.DefaultPort(secure)
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		return addr.String(), port, nil
	}
	if h, p, err := net.SplitHostPort(text); err == nil {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return "", 0, invalid("server: %s has no port from 1 to 65535", show(text))
		}
		host, port = h, int(n)
	}
	if addr, err := netip.ParseAddr(host); (err != nil || addr.Zone() != "") && !hostName(host) {
		return "", 0, invalid("server: %s is no address, host name or host:port", show(text))
	}
	return host, port, nil
}
