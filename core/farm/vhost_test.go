package farm_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestHostNamesAreDistinguishedFromPatterns(t *testing.T) {
	for pattern, want := range map[string]bool{
		"www.example.com": true, `www\.example\.com`: true, `WWW\.my\-shop\.test:8443`: true, "_a.test": true, "10.0.0.1": true, "localhost": true, `a.test`: true,
		"www.example.com.": true, `www\.example.com.`: true, "www.example.com.:8443": true, `www\.example\.com\.:8443`: true,
		"": false, `www\.`: false, `www\.example\.com\.`: false, "www.example.com..": false, ".": false, "..": false, "a-b.-.": false, "www.": false, "shop-": false, "a.test:": false, `.*\.example\.com`: false, "www.example.com$": false, "^www.example.com": false, `(a|b)\.test`: false, "[::1]": false,
		`www\`: false, `www\d.test`: false, "a?": false, "a+": false, "a{2}": false, "a b": false, "a/b": false, "a@b": false, "a`b": false, "{a": false, "\u00e9.test": false,
	} {
		if got := farm.IsHostName(pattern); got != want {
			t.Errorf("%q: got %v, want %v", pattern, got, want)
		}
	}
}

// Hosts are matched without a final dot, so HostPattern drops a final dot that a pattern
// requires.
func TestHostPatternsEndWithoutTheFinalDot(t *testing.T) {
	for pattern, want := range map[string]string{
		"www.example.com": "www.example.com$", `www\.example\.com`: `www\.example\.com$`, `www\.example\.com\.$`: `www\.example\.com$`, `.*\.example\.com\.$`: `.*\.example\.com$`,
		`www\.example\.com$`: `www\.example\.com$`, "www.example.com.": "www.example.com$", "www.example.com.:8443": "www.example.com:8443$",
		`www\.example\.com\.:8443`: `www\.example\.com:8443$`, "www.example.com:8443": "www.example.com:8443$", `www\.example\.com\.`: `www\.example\.com\.`, `www\.`: `www\.`, "www.": "www.", `a\\.$`: `a\\.$`, ".$": ".$", `\.$`: "$", "": "",
	} {
		if got := farm.HostPattern(pattern); got != want {
			t.Errorf("%q: %q, want %q", pattern, got, want)
		}
	}
}
