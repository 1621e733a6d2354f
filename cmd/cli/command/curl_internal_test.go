package command

import (
	"strings"
	"testing"
)

// Neither the shell history nor shown calls contain secrets, in any position.
func TestSecretsAreFoundWhereverTheyStand(t *testing.T) {
	for _, c := range []struct {
		words  []string
		secret bool
	}{
		{[]string{"user", "set", "ann", "zapikey=s3cret"}, true},
		{[]string{"farm", "list", "--key", "s3cret"}, true},
		{[]string{"farm", "list", "--key=s3cret"}, true},
		{[]string{"service", "set", "shop", "web", "--auth-users", "ann:s3cret"}, true},
		{[]string{"system", "proxy", "http_proxy=http://joe:s3cret@proxy.example"}, true},
		{[]string{"check", "set", "db", "command=check_mysql -H HOST -u joe -p s3cret"}, true},
		{[]string{"check", "set", "db", "--command", "check_http -I HOST -a joe:s3cret"}, true},
		{[]string{"check", "set", "db", "--command=mine --db-password s3cret"}, true},
		{[]string{"explain", "shop", "/", "-H", "Authorization: Basic s3cret"}, true},
		{[]string{"explain", "shop", "/", "-Hcookie: sid=s3cret"}, true},
		{[]string{"explain", "shop", "/", "--header=X-API-Key:s3cret"}, true},
		{[]string{"explain", "shop", "/", "-H", "Accept: text/html"}, false},
		{[]string{"check", "set", "db", "command=check_tcp -H HOST -p PORT"}, false},
		{[]string{"check", "set", "db", "--command"}, false},
		{[]string{"user", "password", "root"}, false},
	} {
		if IsPrivate(c.words) != c.secret {
			t.Errorf("%q: a secret is in it: %v", c.words, !c.secret)
		}
	}
	for body, want := range map[string]string{
		`{"command":"check_mysql -H HOST -u joe -p s3cret"}`:      `{"command":"check_mysql -H HOST -u joe -p ***"}`,
		`{"headers":["Authorization: Basic s3cret","Accept: a"]}`: `{"headers":["Authorization: <Authorization>","Accept: a"]}`,
		`{"command":"check_tcp -H HOST -p PORT"}`:                 `{"command":"check_tcp -H HOST -p PORT"}`,
		`{"list":[{"secret_key":"s3cret"}],"command":1}`:          `{"command":1,"list":[{"secret_key":"<secret_key>"}]}`,
	} {
		if got := withoutSecrets([]byte(body)); got != want {
			t.Errorf("%s is shown as %s", body, got)
		}
	}
}

// Colours take no space on a terminal; wide characters take two columns.
func TestALookIsAsHighAsWhatIsSeenOfIt(t *testing.T) {
	for line, want := range map[string]int{"": 1, strings.Repeat("x", 30): 1, strings.Repeat("x", 31): 2, "\x1b[31m" + strings.Repeat("x", 30) + "\x1b[0m": 1, strings.Repeat("漢", 16): 2} {
		if got := height(line, 30); got != want {
			t.Errorf("%q takes %d rows, not %d", line, got, want)
		}
	}
}
