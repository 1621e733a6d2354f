package cli_test

import (
	"crypto/x509"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

// papers are files with a certificate, its key and its CA.
type papers struct{ dir, cert, key, ca, crl, full string }

func newPapers(t *testing.T, host string) papers {
	t.Helper()
	root := certstest.NewAuthority(t, "root", time.Now())
	leaf := root.Issue(host)
	dir := t.TempDir()
	p := papers{dir: dir}
	for _, f := range []struct {
		at            *string
		name, content string
	}{{&p.cert, "shop.crt", strings.TrimSpace(leaf.CertPEM())}, {&p.key, "shop.key", leaf.KeyPEM()}, {&p.ca, "ca.crt", root.CertPEM()}, {&p.full, "full.pem", leaf.FullPEM()},
		{&p.crl, "ca.crl", certstest.PEM("X509 CRL", root.CRL(time.Now().Add(-time.Hour), time.Now().Add(time.Hour)))}} {
		*f.at = filepath.Join(dir, f.name)
		if err := os.WriteFile(*f.at, []byte(f.content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func TestCertificateCommandsDoWhatTheySay(t *testing.T) {
	a := start(t)
	a.shop()
	p := newPapers(t, "shop.example")
	a.must("certificate", "upload", "shop", p.cert, p.key, p.ca)
	if out := a.must("certificate", "upload", "a (b) c", p.full); !strings.Contains(out, "a (b) c.pem has been uploaded") {
		t.Errorf("%s", out)
	}
	a.must("farm", "set", "shop", "listener=https")
	for _, c := range []struct {
		command, shows, want string
	}{
		{"certificate add shop shop.pem", "certificate list", "farm shop"},
		{"certificate move shop shop.pem 0", "farm show shop", "shop.pem"},
		{"certificate remove shop api.pem", "certificate show shop.pem", "used by      farm shop"},
		{"certificate replace shop.pem " + p.full, "certificate show shop.pem", "Subject: CN=shop.example"},
		{"certificate ca upload clients " + p.ca, "certificate ca list", "clients"},
		{"certificate ca replace clients " + p.ca, "certificate ca show clients", "Subject: CN=root"},
		{"certificate ca crl clients --none", "certificate ca list", "valid"},
		{"farm set shop client_auth=required client_ca=clients", "certificate ca list", "farm shop"},
		{"certificate ocsp private_responders=true", "certificate ocsp", "private_responders  true"},
	} {
		if out := a.must(strings.Fields(c.command)...); strings.TrimSpace(out) == "" {
			t.Errorf("%s has no output", c.command)
		}
		if out := a.must(strings.Fields(c.shows)...); !strings.Contains(out, c.want) {
			t.Errorf("after %q, %q does not show %q:\n%s", c.command, c.shows, c.want, out)
		}
	}
	cert, _ := os.ReadFile(p.cert)
	if out := a.must("certificate", "download", "a (b) c.pem"); strings.TrimSpace(out) != string(cert) {
		t.Errorf("download:\n%s", out)
	}
	if out := a.must("certificate", "ca", "download", "clients"); !strings.HasPrefix(out, "-----BEGIN CERTIFICATE-----") {
		t.Errorf("download:\n%s", out)
	}
	a.must("certificate", "delete", "a (b) c.pem")
	if r := a.run("certificate", "delete", "shop.pem"); r.code != 1 || !strings.Contains(r.stderr, "in use: by farm shop") {
		t.Errorf("%+v", r)
	}
	if r := a.run("certificate", "ca", "delete", "clients"); r.code != 1 || !strings.Contains(r.stderr, "in use: by farm shop") {
		t.Errorf("%+v", r)
	}
}

// Files may be PEM, DER or PKCS #12. The password of the latter stays in the command.
func TestCertificatesAreUploadedInOtherForms(t *testing.T) {
	a := start(t)
	root := certstest.NewAuthority(t, "root", time.Now())
	mid := root.Intermediate("mid")
	leaf := mid.Issue("shop.example", func(c *x509.Certificate) { c.IssuingCertificateURL = []string{"http://ca.example/mid.crt"} })
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	p12, password, wrong := file("shop.p12", leaf.PKCS12(t, "s3cret-1")), file("password", []byte("s3cret-1\nmore")), file("wrong", []byte("s3cret-2"))
	cert, key, between := file("shop.der", leaf.Cert.Raw), file("shop.key", []byte(leaf.KeyPEM())), file("mid.cer", mid.Cert.Raw)
	for _, c := range []struct {
		command, says string
		code          int
	}{
		{"certificate upload one " + p12, "shop.p12 is protected by a password: write it into a file and give that with --password-file", 2},
		{"certificate upload one " + p12 + " --password-file " + wrong, "the password does not open", 1},
		{"certificate upload one " + p12 + " --password-file " + password, "one.pem has been uploaded", 0},
		{"certificate upload two " + cert + " " + key + " " + between, "two.pem has been uploaded", 0},
		{"certificate replace two.pem " + cert + " " + key, "no certificate of the issuer mid", 0},
		{"certificate show two.pem", "missing issuer  mid", 0},
		{"certificate ca upload clients " + file("root.cer", root.Cert.Raw), "clients has been uploaded", 0},
		{"certificate upload three " + file("store.jks", []byte{0xfe, 0xed, 0xfe, 0xed, 0}), "keytool -importkeystore", 1},
	} {
		got := a.run(strings.Fields(c.command)...)
		if text := got.stdout + got.stderr; got.code != c.code || !strings.Contains(text, c.says) || strings.Contains(text, "s3cret") {
			t.Errorf("%s: %+v", c.command, got)
		}
	}
}

func TestACSRGoesToStandardOutput(t *testing.T) {
	a := start(t)
	args := []string{"certificate", "csr", "new", "fqdn=new.example", "country=DE", "state=Bayern", "locality=Ulm", "organization=Example Ltd", "division=Web", "--mail", "a@example.com", "san=www.new.example"}
	r := a.run(args...)
	if r.code != 0 || !strings.HasPrefix(r.stdout, "-----BEGIN CERTIFICATE REQUEST-----\n") || !strings.Contains(r.stderr, "new.csr has been created") {
		t.Fatalf("%+v", r)
	}
	signed := certstest.NewAuthority(t, "root", time.Now()).Sign([]byte(r.stdout))
	if r := a.feed(signed, "certificate", "upload", "live", "-"); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if out := a.must("certificate", "list"); !strings.Contains(out, "live.pem") || strings.Contains(out, "new.csr") {
		t.Errorf("list:\n%s", out)
	}
	if r := a.run("certificate", "csr", "bad", "fqdn=new.example"); r.code != 1 || !strings.Contains(r.stderr, "country is required") {
		t.Errorf("%+v", r)
	}
}

func TestCertificatesAsJSON(t *testing.T) {
	a := start(t)
	a.shop()
	p := newPapers(t, "shop.example")
	a.must("farm", "set", "shop", "listener=https")
	for _, command := range []string{
		"certificate upload shop " + p.full, "certificate replace shop " + p.full, "certificate list", "certificate show shop.pem", "certificate download shop.pem",
		"certificate add shop shop.pem", "certificate move shop shop.pem 0", "certificate remove shop shop.pem", "certificate ca upload clients " + p.ca,
		"certificate ca list", "certificate ca show clients", "certificate ca download clients", "certificate ca delete clients", "certificate ocsp", "certificate delete shop.pem",
	} {
		if out := a.must(append(strings.Fields(command), "--json")...); !json.Valid([]byte(out)) {
			t.Errorf("%s --json:\n%s", command, out)
		}
	}
}

func TestCertificateCommandsUsedWrongly(t *testing.T) {
	a := start(t)
	p := newPapers(t, "shop.example")
	empty := filepath.Join(p.dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command string
		code    int
		says    string
	}{
		{"certificate", 2, "list"},
		{"certificate upload shop", 2, "NAME FILE"},
		{"certificate upload shop /nonexistent", 1, "/nonexistent"},
		{"certificate upload shop " + empty, 1, "empty"},
		{"certificate upload ../shop " + p.full, 1, "is not a valid certificate name"},
		{"certificate upload 0 " + p.full, 1, "reserved"},
		{"certificate upload shop " + p.cert, 1, "no private key"},
		{"certificate show none.pem", 1, "none.pem"},
		{"certificate show ..", 1, "is not a valid certificate name"},
		{"certificate ca show ../../keys", 1, "is not a valid certificate name"},
		{"certificate download shop.key", 1, "private keys never leave the appliance"},
		{"certificate add shop none.pem", 1, "does not exist"},
		{"certificate ca crl clients", 2, "--none"},
		{"certificate ca crl clients --none " + p.ca, 2, "--none"},
		{"certificate ocsp enabled=maybe", 1, "true or false"},
		{"certificate csr new", 2, "fqdn"},
	} {
		r := a.run(strings.Fields(c.command)...)
		if r.code != c.code || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%s: exit %d, want %d saying %q\n%s%s", c.command, r.code, c.code, c.says, r.stdout, r.stderr)
		}
	}
}

// The command and the appliance accept the same fields.
func TestSettingsOfACSRAreThoseOfTheAppliance(t *testing.T) {
	a := start(t)
	for path, command := range map[string]string{"/certificates post": "certificate csr new", "/certificates/ocsp put": "certificate ocsp"} {
		out := a.must(append([]string{cobra.ShellCompRequestCmd}, append(strings.Fields(command), "")...)...)
		var known []string
		for line := range strings.Lines(out) {
			if name, ok := strings.CutSuffix(strings.TrimSpace(line), "="); ok {
				known = append(known, name)
			}
		}
		want := a.documented(path)
		want = slices.DeleteFunc(want, func(s string) bool { return s == "name" })
		slices.Sort(known)
		if !slices.Equal(known, want) || len(want) < 2 {
			t.Errorf("%s knows %v, the appliance %v", command, known, want)
		}
	}
}

// Replacing a certificate by one for other names needs confirmation, or --yes in scripts,
// and can be reverted.
func TestACertificateForOtherNamesIsAskedAbout(t *testing.T) {
	mine, other := newPapers(t, "shop.example"), newPapers(t, "other.example")
	for _, c := range []struct {
		flags, answer  string
		terminal, done bool
		shows          string
	}{
		{"", "n", true, false, "-shop.example\n+other.example\n"},
		{"", "", true, false, "Warning: no certificate covers shop.example (service"},
		{"", "y", true, true, "sure? [y/N] "},
		{"--yes", "", true, true, ""},
		{"", "", false, false, "is in use, and the new one lacks names: no certificate covers shop.example"},
		{"--yes", "", false, true, ""},
		{"--dry-run", "", false, false, "-shop.example\n+other.example\n"},
	} {
		a := start(t)
		a.shop()
		a.must("certificate", "upload", "shop", mine.full)
		a.must("farm", "set", "shop", "listener=https", "certificates=shop.pem")
		a.must("service", "set", "shop", "web", "vhost=") // any host
		command := strings.Fields("certificate replace shop.pem " + other.full + " " + c.flags)
		code, shown := 0, ""
		if c.terminal {
			t.Setenv("TERM", "dumb")
			var steps []step
			if c.flags == "" {
				steps = []step{{"[y/N] ", c.answer + "\r"}}
			}
			shown = talk(t, steps, func(tty *os.File) {
				code = cli.Execute(append([]string{"--data", a.data}, command...), tty, tty, tty)
			})
		} else {
			r := a.run(command...)
			code, shown = r.code, r.stdout+r.stderr
		}
		shown = strings.ReplaceAll(shown, "\r\n", "\n")
		names := func() string { return strings.Join(strings.Fields(a.must("certificate", "show", "shop.pem")), " ") }
		replaced := strings.Contains(names(), "names other.example")
		if replaced != c.done || (code == 0) != (c.done || c.flags == "--dry-run") || !strings.Contains(shown, c.shows) {
			t.Errorf("%+v: status %d, replaced %t\n%s", c, code, replaced, shown)
		}
		if !c.done {
			continue
		}
		a.must("certificate", "restore", "shop.pem", "--yes")
		if out := names(); !strings.Contains(out, "names shop.example") || !strings.Contains(out, "replaced other.example, until") {
			t.Errorf("restored:\n%s", out)
		}
	}
}
