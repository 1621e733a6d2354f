package acme

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/hook"
)

// Directories of Let's Encrypt. The second issues untrusted certificates and has much
// higher limits.
const (
	LetsEncrypt        = "https://acme-v02.api.letsencrypt.org/directory"
	LetsEncryptStaging = "https://acme-staging-v02.api.letsencrypt.org/directory"
)

// Settings holds the account and the authority.
type Settings struct {
	// Email is the contact of the account at the authority. Setting it accepts the
	// authority's terms of service. Orders require it.
	Email string `json:"email"`
	// Directory and Staging are the addresses of the authority and of its test directory;
	// "" means Let's Encrypt.
	Directory string `json:"directory,omitempty"`
	Staging   string `json:"staging,omitempty"`
	// CA names the authority list that verifies the directories' own certificates; "" means
	// the system's list.
	CA string `json:"ca,omitempty"`
	// Hook names the program in hook.Folder that creates the TXT records of DNS01; ""
	// disables that challenge.
	Hook string `json:"hook,omitempty"`
	// DNSWait is the time limit until such records are visible; 0 means DefaultDNSWait.
	DNSWait int `json:"dns_wait,omitempty"` // seconds
	// DNSServers are queried for them, as address:port, instead of the zone's servers.
	DNSServers []string `json:"dns_servers,omitempty"`
}

// DefaultDNSWait is the default wait for records in seconds, MaxDNSWait the maximum.
const (
	DefaultDNSWait = 120
	MaxDNSWait     = 900
)

func (s Settings) dnsWait() time.Duration {
	return time.Duration(cmp.Or(s.DNSWait, DefaultDNSWait)) * time.Second
}

// Patience returns the maximum duration of an order with any challenge.
func (m *Manager) Patience() time.Duration { return m.timeout(DNS01, m.stored()) }

// timeout returns the time limit of an order; with DNS01 it includes the wait for the
// records.
func (m *Manager) timeout(c Challenge, s Settings) time.Duration {
	limit := m.options.Timeout
	if limit == 0 {
		limit = LoadOrderTime(m.options.Store)
	}
	if c == DNS01 {
		return limit + s.dnsWait()
	}
	return limit
}

// directory returns the directory for orders.
func (s Settings) directory(test bool) string {
	switch {
	case test && s.Staging != "":
		return s.Staging
	case test:
		return LetsEncryptStaging
	case s.Directory != "":
		return s.Directory
	}
	return LetsEncrypt
}

const settingsName = "acme.settings"

// Settings returns the settings with defaults filled in.
func (m *Manager) Settings() Settings {
	s := m.stored()
	s.Directory, s.Staging = s.directory(false), s.directory(true)
	s.DNSWait = cmp.Or(s.DNSWait, DefaultDNSWait)
	return s
}

func (m *Manager) stored() Settings {
	var s Settings
	if text, ok := m.options.Store.Setting(settingsName); ok {
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			m.options.Log.Error("the settings of ACME cannot be read: set them again", "error", err)
		}
	}
	return s
}

// SetSettings changes the settings for future orders. *Error if invalid.
func (m *Manager) SetSettings(by apply.Author, s Settings) error {
	if err := m.CheckSettings(s); err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := m.options.Store.SetSetting(settingsName, string(text)); err != nil {
		return err
	}
	m.options.Log.Info("settings of ACME changed", "email", s.Email, "directory", s.directory(false), "staging", s.directory(true), "ca", s.CA, "hook", s.Hook, "by", by.Name, "source", by.Source)
	return nil
}

// CheckSettings validates settings; *Error.
func (m *Manager) CheckSettings(s Settings) error {
	if err := checkEmail(s.Email); err != nil {
		return err
	}
	for name, text := range map[string]string{"directory": s.Directory, "staging": s.Staging} {
		if err := checkDirectory(name, text); err != nil {
			return err
		}
	}
	if s.CA != "" {
		if _, err := m.options.Certificates.DownloadAuthority(s.CA); err != nil {
			return invalid("ca: %s", err)
		}
	}
	if s.Hook != "" {
		if err := (recordHook{Program: hook.Program{Folder: m.options.Hooks, Name: s.Hook}}).check(); err != nil {
			return err
		}
	}
	if s.DNSWait < 0 || s.DNSWait > MaxDNSWait {
		return invalid("dns_wait: a number of seconds from 1 to %d is allowed, got %d", MaxDNSWait, s.DNSWait)
	}
	return checkServers(s.DNSServers)
}

// emailForm is stricter than RFC 5322. The address becomes part of a mailto URL, in which ?
// and , are special (RFC 8555 §7.3).
var emailForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9._+-]{1,64}@([A-Za-z0-9-]{1,63}\.)+[A-Za-z][A-Za-z0-9-]{0,62}$`)
})

func checkEmail(s string) error {
	if _, err := mail.ParseAddress(s); err != nil || len(s) > 254 || !emailForm().MatchString(s) {
		return invalid("email: %q is no mail address", show(s))
	}
	return nil
}

func checkDirectory(name, text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || len(text) > 1024 || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return invalid("%s: %q must be https:// with a host and without a password", name, show(text))
	}
	return nil
}

// domainForm matches a host name of at least two labels, in lower case.
var domainForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
})

// maxDomains is the maximum number of names of a certificate at Let's Encrypt.
const maxDomains = 100

// maxServers bounds the name servers to query.
const maxServers = 8

func checkServers(list []string) error {
	if len(list) > maxServers {
		return invalid("dns_servers: at most %d are asked, got %d", maxServers, len(list))
	}
	for _, s := range list {
		if at, err := netip.ParseAddrPort(s); err != nil || at.Port() == 0 {
			return invalid("dns_servers: %q is no address:port, as 192.0.2.53:53", show(s))
		}
	}
	return nil
}

// checkDomains returns the names in lower case without duplicates. Wildcards require the
// challenge DNS01.
func checkDomains(domains []string, c Challenge) ([]string, error) {
	if len(domains) == 0 || len(domains) > maxDomains {
		return nil, invalid("domains: 1 to %d names are needed", maxDomains)
	}
	seen := map[string]bool{}
	var out []string
	for _, d := range domains {
		d = strings.ToLower(strings.TrimSpace(d))
		switch {
		case strings.HasPrefix(d, "*") && c != DNS01:
			return nil, invalid("domains: %q is a wildcard: authorities issue those for the challenge %s only; order it with that, or name every host", show(d), DNS01)
		case len(d) > 253 || !domainForm().MatchString(strings.TrimPrefix(d, "*.")):
			return nil, invalid("domains: %q is no host name that an authority could ask: as www.example.com", show(d))
		}
		if !seen[d] {
			seen[d] = true
			out = append(out, d)
		}
	}
	return out, nil
}

func accountName(directory string) string {
	return fmt.Sprintf("acme.account.%.16s", sum([]byte(directory)))
}
