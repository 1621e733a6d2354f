package certs_test

import (
	"bytes"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

// kinds lists the PEM types of the blocks.
func kinds(raw []byte) string {
	var out []string
	for b, rest := pem.Decode(raw); b != nil; b, rest = pem.Decode(rest) {
		out = append(out, b.Type)
	}
	return strings.Join(out, ", ")
}

// The files in testdata/containers were created with OpenSSL 3.0 and Java's keytool 17.
func TestOtherFormsThanPEMAreRead(t *testing.T) {
	const whole = "PRIVATE KEY, CERTIFICATE, CERTIFICATE"
	for _, c := range []struct{ name, password, want string }{
		{"modern.p12", "s3cret", whole}, {"legacy.p12", "s3cret", whole}, {"umlaut.p12", "pässwörd", whole}, {"java.p12", "s3cret-2", whole},
		{"empty.p12", "", whole}, {"plain.p12", "", whole}, {"alone.p12", "s3cret", "PRIVATE KEY, CERTIFICATE"},
		{"javatrust.p12", "s3cret-2", "CERTIFICATE"},
		{"leaf.der", "", "CERTIFICATE"}, {"leaf.key.der", "", "PRIVATE KEY"}, {"leaf.sec1.der", "", "PRIVATE KEY"}, {"leaf.csr.der", "", "CERTIFICATE REQUEST"},
		{"leaf.enc.der", "", "ENCRYPTED PRIVATE KEY"}, {"../dhparams.pem", "", "X9.42 DH PARAMETERS"},
	} {
		at := "containers/" + c.name
		got, err := certs.Unpack([]byte(file(t, at)), c.password)
		if err != nil || kinds(got) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.name, kinds(got), err, c.want)
		}
		if got := kinds(got); got == whole {
			if b, err := certs.Parse(must(certs.Unpack([]byte(file(t, at)), c.password)), now.AddDate(5, 0, 0)); err != nil || names(b) != "shop.example Test Intermediate" || b.Key == nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
	// Concatenated DER objects, as `cat` produces them.
	together := file(t, "containers/leaf.der") + file(t, "containers/mid.der") + file(t, "containers/leaf.key.der")
	if got, err := certs.Unpack([]byte(together), ""); err != nil || kinds(got) != "CERTIFICATE, CERTIFICATE, PRIVATE KEY" {
		t.Errorf("together: got %s, %v, want %s", kinds(got), err, "CERTIFICATE, CERTIFICATE, PRIVATE KEY")
	}
	ca := certstest.NewAuthority(t, "root", now)
	if got, err := certs.Unpack(append(bytes.Clone(ca.Cert.Raw), ca.CRL(now, now.AddDate(0, 1, 0))...), ""); err != nil || kinds(got) != "CERTIFICATE, X509 CRL" {
		t.Errorf("an authority: got %s, %v, want %s", kinds(got), err, "CERTIFICATE, X509 CRL")
	}
}

func must[T any](v T, _ error) T { return v }

// Unsupported formats are rejected with the reason, or with the command for conversion.
func TestUnsupportedFormatsAreRefused(t *testing.T) {
	modern := file(t, "containers/modern.p12")
	for _, c := range []struct {
		name, content, password, says string
		needs                         bool // the password
	}{
		{"no password", modern, "", "the PKCS #12 file needs its password", true},
		{"another password", modern, "s3cret-2", "the password does not open the PKCS #12 file", true},
		{"a part", modern[:len(modern)-9], "s3cret", "neither PEM, DER nor PKCS #12", false},
		{"a Java keystore", file(t, "containers/java.jks"), "", "keytool -importkeystore", false},
		{"PKCS #7", file(t, "containers/leaf.p7b"), "", "openssl pkcs7 -inform der", false},
		{"a damaged one", strings.Replace(modern, modern[40:60], strings.Repeat("\x01", 20), 1), "s3cret", "the password does not open the PKCS #12 file", true},
		{"a text", "0123", "", "neither PEM, DER nor PKCS #12", false},
		{"too much", "0" + strings.Repeat("x", certs.MaxAuthorityPEM), "", "bytes, at most", false},
	} {
		_, err := certs.Unpack([]byte(c.content), c.password)
		var wrong *certs.Error
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Message, c.says) || wrong.Password != c.needs || strings.Contains(wrong.Message, "s3cret") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The iterations of a key derivation are limited beforehand, as a file may demand hours.
func TestAPKCS12FileAsksForBoundedWork(t *testing.T) {
	type mac struct {
		Digest     asn1.RawValue
		Salt       []byte
		Iterations int `asn1:"optional,default:1"`
	}
	type pfx struct {
		Version int
		Safe    asn1.RawValue
		Mac     mac
	}
	var file12 pfx
	if _, err := asn1.Unmarshal([]byte(file(t, "containers/modern.p12")), &file12); err != nil {
		t.Fatal(err)
	}
	file12.Mac.Iterations = 1<<31 - 1
	raw, err := asn1.Marshal(file12)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = certs.Unpack(raw, "s3cret"); err == nil || !strings.Contains(err.Error(), "5000000 rounds") {
		t.Errorf("the most rounds: %v", err)
	}
	// Each iteration count matters, including the counts within encrypted parts.
	raw = []byte(file(t, "containers/modern.p12"))
	usual := []byte{0x02, 0x02, 0x08, 0x00} // 2048
	places := 0
	for at := range raw {
		if bytes.HasPrefix(raw[at:], usual) {
			more := bytes.Clone(raw)
			more[at+2], more[at+3] = 0x7f, 0xff
			if places++; certs.Rounds(more) != 0x7fff {
				t.Errorf("the rounds at %d are not seen", at)
			}
		}
	}
	if places != 3 || certs.Rounds(raw) != 2048 {
		t.Errorf("%d places, %d rounds", places, certs.Rounds(raw))
	}
}

// FuzzUnpack checks that reading any upload terminates with an *Error or PEM.
func FuzzUnpack(f *testing.F) {
	for _, name := range []string{"modern.p12", "java.jks", "leaf.p7b", "leaf.der", "leaf.enc.der"} {
		f.Add([]byte(file(f, "containers/"+name)))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, err := certs.Unpack(raw, "")
		var wrong *certs.Error
		if err != nil && !errors.As(err, &wrong) {
			t.Error(err)
		}
	})
}
