package ldap_test

import (
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe/ldap"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

// message returns an LDAP message with a successful result of a kind.
func message(id, kind byte) string {
	return "\x30\x0c\x02\x01" + string(id) + string([]byte{0x60 | kind}) + "\x07\x0a\x01\x00\x04\x00\x04\x00"
}

const (
	bound, entry, done, modified, extended = 1, 4, 5, 7, 0x18
)

func TestUnexpectedResponsesAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, bind, search, reason string
	}{
		{"as it should be", message(1, bound), message(2, done), ""},
		{"search result for a bind", message(1, done), message(2, done), "Search Result Done"},
		{"modify response for a bind", message(1, modified), message(2, done), "Modify Response"},
		{"extended response for a bind", message(1, extended), message(2, done), "Extended Response"},
		{"no message of LDAP", "\x30\x05\x02\x01\x01\x04\x00", message(2, done), "no LDAP message"},
		{"another request's response", message(9, bound), message(2, done), "to request 9"},
		{"notice of disconnection", message(0, extended), message(2, done), "ends the connection"},
		{"bind response for a search", message(1, bound), message(2, bound), "Bind Response"},
	} {
		to := probetest.Replies(t, "", c.bind, c.search)
		got := probetest.Check(t, "check_ldap", ldap.Check, to, "-p", "PORT", "-b", "dc=a", "-t", "5")
		if c.reason == "" {
			got.Healthy(t)
		} else {
			got.Down(t, c.reason)
		}
	}
	to := probetest.Replies(t, "", message(1, bound))
	probetest.Check(t, "check_ldap", ldap.Check, to, "-p", "PORT", "-b", "dc=a", "-t", "5", "-T").Down(t, "STARTTLS: the directory sent no response")
}
