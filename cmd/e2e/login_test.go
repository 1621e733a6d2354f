package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ownRoot returns surroundings in which the system's root has the given password.
func ownRoot(t *testing.T, password string) surroundings {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: a password of the system's root that is the test's")
	}
	needs(t, "openssl", "unshare", "unix_chkpwd")
	hash := exec.Command("openssl", "passwd", "-6", "-stdin")
	hash.Stdin = strings.NewReader(password)
	out, err := hash.Output()
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "shadow")
	if err := os.WriteFile(own, fmt.Appendf(nil, "root:%s:20000:0:99999:7:::\n", strings.TrimSpace(string(out))), 0o640); err != nil {
		t.Fatal(err)
	}
	return surroundings{shell: `exec unshare -m sh -c 'mount --bind ` + own + ` /etc/shadow && exec "$0" "$@"' "$0" "$@"`}
}

// Root's password is the system's, and all characters of it are passed literally: no shell
// or other program interprets them.
func TestRootLogsInWithThePasswordOfTheSystem(t *testing.T) {
	const password = `pa$$w0rd "$HOME" \n 'x'`
	a := startIn(t, identity{name: "root"}, dataDir(t, identity{}), ownRoot(t, password))
	login := func(password string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+a.api+"/zapi/v4.0/zapi.cgi/session", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("root", password)
		res, err := insecure.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res
	}
	for _, wrong := range []string{"", "pa", "pa$$w0rd", password + " ", strings.ReplaceAll(password, "$HOME", "/root")} {
		if res := login(wrong); res.StatusCode != http.StatusUnauthorized || len(res.Cookies()) != 0 {
			t.Errorf("%q: %s", wrong, res.Status)
		}
	}
	res := login(password)
	if res.StatusCode != http.StatusOK || len(res.Cookies()) != 1 || !res.Cookies()[0].Secure {
		t.Fatalf("%s, cookies %v", res.Status, res.Cookies())
	}
	a.await(regexp.MustCompile(`msg="(logged in)" role=mgmt user=root`))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+a.api+"/api/v4.0/keys", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(res.Cookies()[0])
	keys, err := insecure.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _ = keys.Body.Close(); keys.StatusCode != http.StatusOK {
		t.Errorf("an operation for root only: %s", keys.Status)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if strings.Contains(a.log.String(), "w0rd") {
		t.Error("the log holds the password")
	}
}
