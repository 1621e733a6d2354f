package identity_test

import (
	"crypto/tls"
	"os"
	"testing"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/identity"
)

func TestFilesHoldAWorkingCertificateForTheHostOfTheLoad(t *testing.T) {
	for _, kind := range []cases.Key{cases.ECDSA, cases.RSA} {
		id, err := identity.New(t.TempDir(), kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, files := range [][2]string{{id.Chain, id.Key}, {id.Bundle, id.Bundle}} {
			pair, err := tls.LoadX509KeyPair(files[0], files[1])
			if err != nil {
				t.Fatal(kind, err)
			}
			if err := pair.Leaf.VerifyHostname(cases.PlainHost); err != nil || string(pair.Leaf.Raw) != string(id.Leaf) {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if info, err := os.Stat(id.Key); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: key file %v, %v", kind, info.Mode(), err)
		}
	}
	if _, err := identity.New(t.TempDir(), "dsa"); err == nil {
		t.Error("an unknown kind of key was accepted")
	}
}
