package resolve

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// As in libc, at most three servers are queried, at most five times, for ten seconds.
func TestTheConfigurationOfTheSystemHasBounds(t *testing.T) {
	s := System{Config: filepath.Join(t.TempDir(), "resolv.conf")}
	for text, want := range map[string]string{
		"nameserver 192.0.2.1\nnameserver 2001:db8::1\nnameserver 192.0.2.1:5353\nnameserver 192.0.2.4": "[192.0.2.1:53 [2001:db8::1]:53 192.0.2.1:5353] 5s 2",
		"nameserver 192.0.2.1\noptions timeout:30 attempts:9":                                           "[192.0.2.1:53] 10s 5",
		"nameserver 192.0.2.1\noptions timeout:0 attempts:0":                                            "[192.0.2.1:53] 1s 1",
		"nameserver 192.0.2.1\noptions timeout:3 attempts:4":                                            "[192.0.2.1:53] 3s 4",
	} {
		if err := os.WriteFile(s.Config, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := s.config()
		if got := fmt.Sprint(c.servers, c.timeout, c.attempts); err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestWaitsAreShortenedByATenthAtMost(t *testing.T) {
	for range 1000 {
		if d := spread(1000); d <= 900 || d > 1000 {
			t.Fatalf("1000 became %d", d)
		}
	}
}
