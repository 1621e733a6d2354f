package acme

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func pkcs8(t *testing.T, key any, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestLostAccountKeyCreatesANewAccount(t *testing.T) {
	const name = "acme.account.x"
	right, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	der := pkcs8(t, right, err)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	written := func(sealed []byte) string {
		text, err := json.Marshal(savedAccount{Email: "a@b.test", Key: sealed})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	sealed := func(plain []byte) []byte { return append([]byte(name+"|"), plain...) }
	for what, c := range map[string]struct{ text, says string }{
		"right":        {written(sealed(der)), ""},
		"no JSON":      {"{", "unexpected end"},
		"other seal":   {written(der), "sealed for something else"},
		"damaged":      {written(sealed(der[1:])), "it is damaged"},
		"another kind": {written(sealed(pkcs8(t, other, err))), "it is a *rsa.PrivateKey"},
	} {
		m, f := newFakes(nil)
		f.settings[name] = c.text
		saved, key, err := m.accountKey(name)
		if err != nil || key == nil || key.Equal(right) != (c.says == "") || (saved.Email == "a@b.test") != (c.says == "") {
			t.Errorf("%s: %+v, %v", what, saved, err)
			continue
		}
		if lost := strings.Contains(f.log.String(), "a new account is made"); lost != (c.says != "") || !strings.Contains(f.log.String(), c.says) {
			t.Errorf("%s: log:\n%s", what, &f.log)
		}
		if again, next, err := m.accountKey(name); err != nil || !next.Equal(key) || again.Email != saved.Email {
			t.Errorf("%s: the next order has another key: %+v, %v", what, again, err)
		}
	}
}

// A key is only registered if it can be decrypted later.
func TestUnstorableAccountIsNotRegistered(t *testing.T) {
	m, f := newFakes(nil)
	f.full = errors.New("the disk is full")
	if _, err := m.account(t.Context(), nil, LetsEncrypt, "a@b.test"); !errors.Is(err, f.full) {
		t.Errorf("no room: %v", err)
	}
	f.locked = errors.New("the node key is missing")
	_, err := m.account(t.Context(), nil, LetsEncrypt, "a@b.test")
	wants(t, err, Invalid, "the key of the account cannot be kept: the node key is missing")
}
