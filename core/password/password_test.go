package password_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/password"
)

// tea is a hash of "tea" in the format of htpasswd.
const tea = "$2y$05$buP1zTIhCSBwzjbi2G2IveSR91Z/C.SYy3pcsq0fexwERkkwA/UL6"

func TestAPasswordMatchesItsHashOnly(t *testing.T) {
	t.Parallel()
	one, err := password.Hash("open sesame")
	two, _ := password.Hash("open sesame")
	if err != nil || one == two || len(one) != password.HashLength {
		t.Fatalf("%q and %q, %v", one, two, err)
	}
	if is, problem := password.Check(one); !is || problem != "" {
		t.Errorf("a hash of ours: %v, %s", is, problem)
	}
	if !password.Matches([]byte(tea), []byte("tea")) {
		t.Error("tea is no tea")
	}
	if !password.Matches([]byte(one), []byte("open sesame")) {
		t.Error("the password does not match its hash")
	}
	for _, text := range []string{"te", "teas", "", tea} {
		if password.Matches([]byte(tea), []byte(text)) {
			t.Errorf("%q matches", text)
		}
	}
	if _, err := password.Hash(""); err == nil {
		t.Error("a blank password has a hash")
	}
	if _, err := password.Hash(strings.Repeat("x", password.MaxLength+1)); err == nil {
		t.Error("a password bcrypt would cut has a hash")
	}
}

func TestHashesAreJudgedByName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a plain password":                  "",
		"$ecret":                            "",
		tea:                                 "ok",
		"{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk=": "unsalted SHA-1",
		"$apr1$x$y":                         "Apache's MD5",
		"$6$rounds=5000$x$y":                "SHA-512 crypt",
		"$argon2id$v=19$m=65536":            "Argon2",
		"$2x$05$" + tea[7:]:                 "broken",
		"$2y$05$tooshort":                   "none",
		"$2y$05$" + tea[7:59] + "!":         "none",
		tea + "x":                           "none",
		"$2y$04$" + tea[7:]:                 "cost 4",
		"$2y$15$" + tea[7:]:                 "cost 15",
	} {
		is, problem := password.Check(text)
		if is != (want != "") || want == "ok" && problem != "" || want != "ok" && !strings.Contains(problem, want) {
			t.Errorf("%s: %v, %q", text, is, problem)
		}
	}
}

func TestDecoyMatchesNoPassword(t *testing.T) {
	t.Parallel()
	d := password.Decoy(tea)
	if is, problem := password.Check(d); !is || problem != "" || d[:7] != tea[:7] {
		t.Errorf("%s: %v %s", d, is, problem)
	}
	for _, text := range []string{"", "tea", "sluice.decoy", d} {
		if password.Matches([]byte(d), []byte(text)) {
			t.Errorf("%q opens it", text)
		}
	}
}
