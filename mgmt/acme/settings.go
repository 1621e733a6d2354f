package acme

import (
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"regexp"
	"strings"

	"github.com/sluicelb/sluice/mgmt/apply"
)

// The directories of Let's Encrypt; the second issues what nobody trusts and
// has far higher limits.
const (
	LetsEncrypt        = "https://acme-v02.api.letsencrypt.org/directory"
	LetsEncryptStaging = "https://acme-staging-v02.api.letsencrypt.org/directory"
)

// Settings is who orders certificates, and where.
type Settings struct {
	// Email is told the authority as the contact of the account. Setting it
	// accepts the authority's terms of service. Nothing is ordered without it.
	Email string `json:"email"`
	// Directory and Staging are the addresses of the authority and of the one
	// tests go to; empty means Let's Encrypt.
	Directory string `json:"directory,omitempty"`
	Staging   string `json:"staging,omitempty"`
	// CA names the list of authorities the directories' own certificates are
	// verified by; empty means those of the system.
	CA string `json:"ca,omitempty"`
}

// directory is where certificates come from.
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

// Settings returns the settings, the defaults spelled out.
func (m *Manager) Settings() Settings {
	s := m.stored()
	s.Directory, s.Staging = s.directory(false), s.directory(true)
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

// SetSettings changes the settings for orders to come. *Error says what is wrong.
func (m *Manager) SetSettings(by apply.Author, s Settings) error {
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
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := m.options.Store.SetSetting(settingsName, string(text)); err != nil {
		return err
	}
	m.options.Log.Info("settings of ACME changed", "email", s.Email, "directory", s.directory(false), "staging", s.directory(true), "ca", s.CA, "by", by.Name, "source", by.Source)
	return nil
}

// emailForm is narrower than RFC 5322: the address goes into a mailto URL, in
// which ? and , mean something (RFC 8555 section 7.3).
var emailForm = regexp.MustCompile(`^[A-Za-z0-9._+-]{1,64}@([A-Za-z0-9-]{1,63}\.)+[A-Za-z][A-Za-z0-9-]{0,62}$`)

func checkEmail(s string) error {
	if _, err := mail.ParseAddress(s); err != nil || len(s) > 254 || !emailForm.MatchString(s) {
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

// domainForm is a host name of at least two labels, in lower case.
var domainForm = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)

// maxDomains is how many names one certificate may have at Let's Encrypt.
const maxDomains = 100

// checkDomains returns the names in lower case, each once.
func checkDomains(domains []string) ([]string, error) {
	if len(domains) == 0 || len(domains) > maxDomains {
		return nil, invalid("domains: 1 to %d names are needed", maxDomains)
	}
	seen := map[string]bool{}
	var out []string
	for _, d := range domains {
		d = strings.ToLower(strings.TrimSpace(d))
		switch {
		case strings.HasPrefix(d, "*"):
			return nil, invalid("domains: %q is a wildcard: authorities issue those for a DNS challenge only, which is not supported; name every host, or upload a certificate", show(d))
		case len(d) > 253 || !domainForm.MatchString(d):
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
