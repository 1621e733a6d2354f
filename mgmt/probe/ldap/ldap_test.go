package ldap_test

import (
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/ldap"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

const entries = `dn: dc=example,dc=com
objectClass: domain
dc: example

dn: cn=check,dc=example,dc=com
objectClass: person
cn: check
sn: check
userPassword: s3cret
`

// directory runs OpenLDAP with two entries.
func directory(t *testing.T) (plain, secure uint16, run *probetest.Running) {
	t.Helper()
	slapd := probetest.Program(t, "slapd")
	dir := probetest.Dir(t)
	plain, secure = porttest.TCP(t).Port(), porttest.TCP(t).Port()
	leaf := certstest.NewAuthority(t, "house", time.Now()).Issue("ldap.example", func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} })
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(data, 0o777); err != nil {
		t.Fatal(err)
	}
	config := probetest.File(t, dir, "slapd.conf", `include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile `+probetest.File(t, dir, "cert.pem", leaf.CertPEM())+`
TLSCertificateKeyFile `+probetest.File(t, dir, "key.pem", leaf.KeyPEM())+`
database mdb
maxsize 10485760
suffix dc=example,dc=com
directory `+data+`
access to attrs=userPassword by anonymous auth by * none
access to dn.exact="cn=check,dc=example,dc=com" by users read by anonymous none
access to * by * read
`)
	probetest.Once(t, dir, slapd, "-T", "add", "-f", config, "-l", probetest.File(t, dir, "entries.ldif", entries))
	run = probetest.Run(t, secure, dir, slapd, "-f", config, "-d", "0", "-h", fmt.Sprintf("ldap://127.0.0.1:%d ldaps://127.0.0.1:%d", plain, secure))
	return plain, secure, run
}

func TestCheckWorksWithOpenLDAP(t *testing.T) {
	plain, secure, run := directory(t)
	ask := func(args ...string) probetest.Asked {
		return probetest.Check(t, "check_ldap", ldap.Check, probetest.At(plain), append([]string{"-p", "PORT", "-t", "5", "-3"}, args...)...)
	}
	const base, user = "dc=example,dc=com", "cn=check,dc=example,dc=com"
	ask("-b", base).Healthy(t)
	ask("-b", base, "-D", user, "-P", "s3cret").Healthy(t)
	ask("-b", base, "-D", user, "-P", "wrong").Down(t, "bind: the directory answered 49 (Invalid Credentials)")
	ask("-b", base, "-D", user, "-P", "s3cret", "-T").Healthy(t)
	ask("-b", base, "-T", "--verify").Down(t, "TLS handshake: tls: failed to verify certificate")
	ask("-b", "dc=none").Down(t, "search: the directory answered 32 (No Such Object)")
	ask("-b", base, "-a", "(cn=check)").Healthy(t) // the base exists, which is enough
	ask("-b", base, "-a", "(cn=nobody)", "-C", "1:").Down(t, "the number of entries is 0, wanted 1:")
	ask("-b", user).Down(t, "32")
	ask("-b", base, "-D", user, "-P", "s3cret", "-C", "2:").Healthy(t)
	ask("-b", base, "-D", user, "-P", "s3cret", "-W", "3:").Down(t, "the number of entries is 2, wanted 3:")
	ask("-b", base, "-D", user, "-P", "s3cret", "-W", "1").Down(t, "the number of entries is 2, wanted 1")
	ask("-b", base, "-D", user, "-P", "s3cret", "-C", "@2:5").Down(t, "wanted @2:5")
	probetest.Check(t, "check_ldaps", ldap.Secure, probetest.At(secure), "-p", "PORT", "-b", base, "-D", user, "-P", "s3cret").Healthy(t)
	probetest.Check(t, "check_ldaps", ldap.Secure, probetest.At(plain), "-p", "PORT", "-b", base).Down(t, "TLS")
	run.Suffers(t, probetest.At(plain), func(within time.Duration, to probe.Target) probetest.Asked {
		return probetest.In(t, within, "check_ldap", ldap.Check, to, "-p", "PORT", "-b", base, "-D", user, "-P", "s3cret")
	})
}
