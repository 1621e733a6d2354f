package tlsconf_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/tlsconf"
)

// openssl returns the names of the suites that OpenSSL derives from a string, or nil
// for none. supported applies the security level.
func openssl(t *testing.T, s string, supported bool) []string {
	t.Helper()
	args := []string{"ciphers"}
	if supported {
		args = append(args, "-s", "-tls1_2")
	}
	out, err := exec.Command("openssl", append(args, s)...).Output()
	if err != nil {
		return nil
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimSpace(string(out)), ":") {
		if !strings.HasPrefix(name, "TLS_") {
			names = append(names, name)
		}
	}
	return names
}

// builtIn returns the suites supported by both the local OpenSSL and crypto/tls.
func builtIn(t *testing.T) map[string]bool {
	t.Helper()
	version, err := exec.Command("openssl", "version").Output()
	if err != nil {
		t.Skipf("not shown: openssl is not installed: %v", err)
	}
	if !strings.HasPrefix(string(version), "OpenSSL 3.") {
		t.Skipf("not shown: the words are those of OpenSSL 3, this is %s", version)
	}
	ours := make(map[string]bool)
	for _, name := range tlsconf.SuiteNames() {
		ours[name] = true
	}
	both := make(map[string]bool)
	for _, name := range openssl(t, "ALL:COMPLEMENTOFALL:@SECLEVEL=0", false) {
		both[name] = ours[name]
		if !tlsconf.Known(name) {
			t.Errorf("OpenSSL knows %s, which would be refused as unknown", name)
		}
	}
	return both
}

func same(t *testing.T, s string, both map[string]bool, supported bool) {
	t.Helper()
	var want, got []string
	for _, name := range openssl(t, s, supported) {
		if both[name] {
			want = append(want, name)
		}
	}
	ids, err := tlsconf.ParseCiphers(s)
	for _, id := range ids {
		if name := tlsconf.SuiteNames()[id]; both[name] {
			got = append(got, name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%q:\n\tours    %v (%v)\n\topenssl %v", s, got, err, want)
	}
}

func TestCipherStringsMatchOpenSSL(t *testing.T) {
	both := builtIn(t)
	for _, s := range []string{
		pciStyle, nginxDefault, oldMozilla, "DEFAULT", "ALL:!COMPLEMENTOFDEFAULT:!eNULL", "ALL", "HIGH", "HIGH:!kRSA", "AES", "AES:!AESGCM",
		"ECDHE+AESGCM:ECDHE+CHACHA20", "EECDH+AESGCM:EDH+AESGCM", "EECDH:+SHA:!aNULL", "kRSA+AES128:-AES128-SHA:kRSA+SHA",
		"TLSv1.2:!aNULL", "SSLv3+AES", "TLSv1:!AECDH", "SHA256:!PSK", "HIGH+FIPS:CHACHA20", "FIPS:!aNULL", "ECDH+aRSA", "CBC+SHA",
		"DEFAULT!RSA", "DEFAULT-kECDHE", "DEFAULT:+AES", "ALL:-ALL:AES256-SHA", "!AES:ALL", "AES128-SHA+HIGH", "AES128-SHA+ECDHE:AES256-SHA",
		"AES128;AES256", "AES128 AES256,CHACHA20", "RSA+AESGCM:@STRENGTH", "ECDSA:!SHA1", "AES256-SHA+AES128-SHA:AES128-GCM-SHA256",
		"ECDHE-RSA-AES128-SHA256+TLSv1", "kECDHE+eNULL:AES256-SHA",
	} {
		same(t, s, both, false)
	}
}

func TestCipherKeywordsMatchOpenSSL(t *testing.T) {
	both := builtIn(t)
	for _, w := range tlsconf.Words() {
		same(t, w, both, false)
		same(t, "AES256-SHA:ECDHE-RSA-AES128-SHA:CHACHA20:AES128-GCM-SHA256:-"+w, both, false)
	}
}

func TestSecurityLevelsMatchOpenSSL(t *testing.T) {
	both := builtIn(t)
	for level := range 6 {
		same(t, fmt.Sprintf("HIGH:!aNULL:!PSK:!SRP:@SECLEVEL=%d", level), both, true)
	}
}
