package e2e_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// curl discards cookies with the same rules for Secure and prefixes of names as browsers.
func TestAttributesOfInsertedCookiesReachClients(t *testing.T) {
	needs(t, "curl")
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		url := a.farm("shop", backend(t, "one"))
		a.must("backend", "create", "shop", "all", backend(t, "two"))
		a.must("service", "set", "shop", "all", "cookieinsert=true", "cookiename=LB")
		curl := func(args ...string) string {
			t.Helper()
			out, err := exec.CommandContext(t.Context(), "curl", append([]string{"-sSk", "--max-time", "20"}, args...)...).CombinedOutput()
			if err != nil {
				t.Fatalf("curl %q: %v: %s", args, err, out)
			}
			return string(out)
		}
		attributes := func() string {
			t.Helper()
			for line := range strings.Lines(curl("-i", url)) {
				if value, is := strings.CutPrefix(strings.ToLower(line), "set-cookie: lb="); is {
					_, list, _ := strings.Cut(strings.TrimSpace(value), "; ")
					return list
				}
			}
			return "none"
		}
		for _, c := range []struct{ setting, want, warning string }{
			{"cookiesamesite=strict", "path=/; httponly; samesite=strict", ""},
			{"cookiesamesite=off", "path=/; httponly", ""},
			{"cookiesamesite=lax", "path=/; httponly; samesite=lax", ""},
			{"cookiesamesite=none", "path=/; httponly; samesite=none; secure", "browsers"},
		} {
			if out := a.must("service", "set", "shop", "all", c.setting); !strings.Contains(out, c.warning) || c.warning == "" && strings.Contains(out, "warning") {
				t.Errorf("%s: %s", c.setting, out)
			}
			if got := attributes(); got != c.want {
				t.Errorf("%s: got %q, want %q", c.setting, got, c.want)
			}
		}
		if out, code := a.run("service", "set", "shop", "all", "cookiesamesite="); code == 0 || !strings.Contains(out, "lax, none, strict, off") {
			t.Errorf("without a value: %d %s", code, out)
		}
		if out := a.must("export"); !strings.Contains(out, "cookiesamesite: none") {
			t.Errorf("exported: %s", out)
		}
		if out, code := a.run("service", "set", "shop", "all", "samesite=none"); code == 0 || !strings.Contains(out, `did you mean "cookiesamesite"?`) {
			t.Errorf("the attribute instead of the field: %d %s", code, out)
		}
		a.must("farm", "set", "shop", "listener=https")
		url = strings.Replace(url, "http:", "https:", 1)
		if got, want := attributes(), "path=/; httponly; samesite=none; secure"; got != want {
			t.Errorf("over TLS: got %q, want %q", got, want)
		}
		jar := filepath.Join(t.TempDir(), "jar")
		first := curl("-c", jar, url)
		for range 6 {
			if got := curl("-b", jar, url); got != first {
				t.Errorf("the client came from %s to %s", first, got)
			}
		}
	})
}
