package directory_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/directory"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
)

// slapd is OpenLDAP with a few users.
type slapd struct {
	plain, tls uint16 // ports of 127.0.0.1
	pem        []byte // verifies its certificate, for localhost
}

const searchPassword = `se$arch "1" \ pass`

// people are the entries below ou=people,dc=example,dc=com.
const people = `dn: dc=example,dc=com
objectClass: domain
dc: example

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: cn=search,dc=example,dc=com
objectClass: person
cn: search
sn: search
userPassword: ` + searchPassword + `

dn: uid=ann,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: One
userPassword: pa$$w:rd 1

dn: uid=a*(b)\5c,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: a*(b)\
cn: Odd
sn: Two
userPassword: odd-1

dn: cn=Twin 1,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
cn: Twin 1
uid: twin
sn: Three
userPassword: twin-1

dn: cn=Twin 2,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
cn: Twin 2
uid: twin
sn: Three
userPassword: twin-1

dn: uid=nopass,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: nopass
cn: None
sn: Four
`

func startSlapd(t *testing.T) slapd {
	t.Helper()
	program, err := exec.LookPath("slapd")
	if err != nil {
		if program = "/usr/sbin/slapd"; !exists(program) {
			if os.Geteuid() == 0 {
				t.Fatal("slapd is not installed")
			}
			t.Skip("slapd is not installed")
		}
	}
	dir, err := os.MkdirTemp("", "slapd-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := slapd{plain: porttest.TCP(t).Port(), tls: porttest.TCP(t).Port()}
	var key []byte
	d.pem, key = certificate(t)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, folder := range []string{dir, filepath.Join(dir, "data")} {
		_ = os.Mkdir(folder, 0o755)
		_ = os.Chmod(folder, 0o777) // nothing writes there
	}
	config := write("slapd.conf", `include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile `+write("cert.pem", string(d.pem))+`
TLSCertificateKeyFile `+write("key.pem", string(key))+`
database mdb
maxsize 10485760
suffix dc=example,dc=com
directory `+filepath.Join(dir, "data")+`
access to attrs=userPassword by anonymous auth by * none
access to dn.subtree=ou=people,dc=example,dc=com by dn=cn=search,dc=example,dc=com read by anonymous none by * none
access to * by * read
`)
	run := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if os.Geteuid() == 0 {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
		}
		return cmd
	}
	if out, err := run("-T", "add", "-f", config, "-l", write("people.ldif", people)).CombinedOutput(); err != nil {
		t.Fatalf("slapadd: %v\n%s", err, out)
	}
	cmd := run("-f", config, "-d", "0", "-h", fmt.Sprintf("ldap://127.0.0.1:%d ldaps://127.0.0.1:%d", d.plain, d.tls))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	enginetest.Eventually(t, "slapd to listen", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", d.tls))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return d
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// certificate makes a self-signed certificate for localhost.
func certificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

// openDirectory returns a directory without settings that has the CA "house".
func openDirectory(authority []byte) (*directory.Directory, *rbactest.Memory) {
	m := &rbactest.Memory{}
	return directory.New(directory.Options{Keeper: m, Secrets: rbactest.Sealer{}, Authority: func(name string) ([]byte, error) {
		if name != "house" {
			return nil, fmt.Errorf("the authority list %q does not exist", name)
		}
		return authority, nil
	}}), m
}

func text(s string) *string { return &s }

// settings returns the settings for a slapd with searches as cn=search.
func (d slapd) settings(security directory.Security) directory.Settings {
	s := directory.Settings{Host: "localhost", Port: int(d.plain), Security: security, CA: "house", BaseDN: "ou=people,dc=example,dc=com", BindDN: "cn=search,dc=example,dc=com"}
	switch security {
	case directory.LDAPS:
		s.Port = int(d.tls)
	case directory.None:
		s.CA = ""
	}
	return s
}

func TestUsersOfARealDirectoryLogIn(t *testing.T) {
	server := startSlapd(t)
	for _, security := range []directory.Security{directory.StartTLS, directory.LDAPS, directory.None} {
		d, _ := openDirectory(server.pem)
		if err := d.Set(server.settings(security), text(searchPassword)); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			user, password string
			right          bool
			says           string // the error
		}{
			{"ann", "pa$$w:rd 1", true, ""}, {"ann", "wrong", false, ""}, {"ann", "", false, ""}, {"ann", "pa$$w:rd 1\x00", false, ""},
			{"nobody", "pa$$w:rd 1", false, ""}, {"", "pa$$w:rd 1", false, ""}, {"nopass", "any", false, ""},
			{`a*(b)\`, "odd-1", true, ""}, {"a*", "odd-1", false, ""}, {"*", "pa$$w:rd 1", false, ""}, {"ann)(uid=*", "pa$$w:rd 1", false, ""}, {"ann\x00", "pa$$w:rd 1", false, ""},
			{"twin", "twin-1", false, "finds several entries"},
		} {
			right, err := d.Right(t.Context(), c.user, c.password)
			if right != c.right || (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %q with %q: %t, %v", security, c.user, c.password, right, err)
			}
		}
		if found, err := d.Test(t.Context()); err != nil || found.Users != 5 || found.More {
			t.Errorf("%s: the test finds %+v, %v", security, found, err)
		}
	}
}

func TestDirectoryErrorsAreExplained(t *testing.T) {
	server := startSlapd(t)
	other, _ := certificate(t)
	for name, c := range map[string]struct {
		authority []byte
		change    func(*directory.Settings)
		password  string
		says      string
	}{
		"another authority": {authority: other, says: "certificate signed by unknown authority"},
		"another name":      {change: func(s *directory.Settings) { s.Host = "127.0.0.1" }, says: "doesn't contain any IP SANs"},
		"wrong password":    {password: "wrong", says: "bind as cn=search"},
		"no such base":      {change: func(s *directory.Settings) { s.BaseDN = "ou=none,dc=example,dc=com" }, says: "look at ou=none"},
		"nobody found":      {change: func(s *directory.Settings) { s.Filter = "(mail=%s)" }, says: "finds nobody"},
		"one level":         {change: func(s *directory.Settings) { s.BaseDN, s.Scope = "dc=example,dc=com", "one" }, says: "finds nobody"},
		"not there":         {change: func(s *directory.Settings) { s.Port = int(porttest.TCP(t).Port()) }, says: "connection refused"},
		"LDAPS on plain":    {change: func(s *directory.Settings) { s.Security = directory.LDAPS }, says: "connect"},
	} {
		if c.authority == nil {
			c.authority = server.pem
		}
		if c.password == "" {
			c.password = searchPassword
		}
		d, _ := openDirectory(c.authority)
		s := server.settings(directory.StartTLS)
		s.Timeout = 2
		if c.change != nil {
			c.change(&s)
		}
		if err := d.Set(s, text(c.password)); err != nil {
			t.Fatal(name, err)
		}
		if _, err := d.Test(t.Context()); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), searchPassword) {
			t.Errorf("%s: %v", name, err)
		}
		if right, err := d.Right(t.Context(), "ann", "pa$$w:rd 1"); right || err == nil && c.says != "finds nobody" {
			t.Errorf("%s: %t, %v", name, right, err)
		}
	}
}

func TestAnonymousSearchFindsVisibleEntries(t *testing.T) {
	server := startSlapd(t)
	d, m := openDirectory(server.pem)
	s := server.settings(directory.StartTLS)
	s.BaseDN, s.BindDN, s.Filter = "dc=example,dc=com", "", "(cn=%s)"
	if err := d.Set(s, nil); err != nil {
		t.Fatal(err)
	}
	if right, err := d.Right(t.Context(), "search", searchPassword); !right || err != nil {
		t.Errorf("%t, %v", right, err)
	}
	if right, err := d.Right(t.Context(), "Ann", "pa$$w:rd 1"); right || err != nil {
		t.Errorf("an entry it may not see: %t, %v", right, err)
	}
	if strings.Contains(string(m.Kept["ldap"]), `"password"`) {
		t.Errorf("kept: %s", m.Kept["ldap"])
	}
}
