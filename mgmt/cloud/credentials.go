package cloud

import (
	"regexp"
	"strings"
	"sync"
)

// Provider is the provider of a cloud.
type Provider string

// The providers.
const (
	AWS   Provider = "aws"
	Azure Provider = "azure"
)

// Credentials holds the credentials of one account; the fields in use depend on Provider.
type Credentials struct {
	Provider Provider `json:"provider"`
	// ID is the access key of AWS, the client (application) of Azure.
	ID string `json:"id"`
	// Place is the region of AWS, the tenant of Azure.
	Place  string `json:"place"`
	Secret string `json:"-"`
	// Sealed is the sealed Secret for the store.
	Sealed []byte `json:"secret,omitempty"`
}

// Error is a fault of credentials, in a sentence.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

var (
	accessKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Z0-9]{16,128}$`)
	})
	region = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z]{2}(-[a-z]+){1,3}-[0-9]{1,2}$`)
	})
	principal = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	})
	tenant = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9.-]{0,251}[a-zA-Z0-9])?$`)
	})
)

// maxSecret is the greatest length of secrets in bytes.
const maxSecret = 256

// check returns an error with the name of an invalid field; the error never contains a
// secret.
func (c *Credentials) check() error {
	ok, where := map[string]bool{}, []string(nil)
	switch c.Provider {
	case AWS:
		ok["access_key"], ok["region"] = accessKey().MatchString(c.ID), region().MatchString(c.Place)
		where = []string{"access_key", "region", "secret_key"}
	case Azure:
		ok["user"], ok["tenant"] = principal().MatchString(c.ID), tenant().MatchString(c.Place) && !strings.Contains(c.Place, "..")
		where = []string{"user", "tenant", "password"}
	default:
		return &Error{"provider must be one of aws and azure"}
	}
	ok[where[2]] = c.Secret != "" && len(c.Secret) <= maxSecret && strings.IndexFunc(c.Secret, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
	must := map[string]string{
		"access_key": "an access key of 16 to 128 capital letters and digits", "region": "a region, as eu-west-1", "secret_key": "the secret key, at most 256 printable ASCII characters without blanks",
		"user": "the ID of an application, as 11111111-2222-3333-4444-555555555555", "tenant": "the ID or domain of a tenant", "password": "its secret, at most 256 printable ASCII characters without blanks",
	}
	for _, name := range where {
		if !ok[name] {
			return &Error{name + " must be " + must[name]}
		}
	}
	return nil
}
