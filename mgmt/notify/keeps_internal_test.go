package notify

import "testing"

// The stored password stays with the server and the authority list that it was given for.
func TestTheStoredPasswordStaysWithItsServer(t *testing.T) {
	old := Email{Server: "mail.example", CA: "own", User: "ann", TLS: true, Sealed: []byte("sealed")}
	password := "new"
	for name, c := range map[string]struct {
		edit func(e *Email)
		ok   bool
	}{
		"nothing":                  {func(*Email) {}, true},
		"other settings":           {func(e *Email) { e.User, e.TLS, e.From = "bob", false, "lb@example.com" }, true},
		"no server":                {func(e *Email) { e.Server = "" }, true},
		"another server":           {func(e *Email) { e.Server = "evil.example" }, false},
		"another port":             {func(e *Email) { e.Server = "mail.example:2525" }, false},
		"another authority list":   {func(e *Email) { e.CA = "" }, false},
		"a server with a password": {func(e *Email) { e.Server, e.Password = "other.example", &password }, true},
	} {
		e := old
		c.edit(&e)
		if err := e.keepsPassword(&old); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	none := Email{}
	if err := (&Email{Server: "mail.example"}).keepsPassword(&none); err != nil {
		t.Errorf("without a stored password: %v", err)
	}
}
