package accesslog_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
)

// Logs are searched for these names.
func TestFlagsHaveStableNames(t *testing.T) {
	for flags, want := range map[accesslog.Flags]string{
		0: "", accesslog.Logged | accesslog.Watched: "", // flags of the record have no name
		accesslog.Retried: "retried", accesslog.Reused: "reused", accesslog.Session: "session",
		accesslog.Redirected: "redirected", accesslog.Tunnel: "tunnel", accesslog.AbortedByClient: "aborted-by-client",
		accesslog.AbortedByBackend: "aborted-by-backend", accesslog.AbortedHere: "aborted-here",
		accesslog.Own: "own-answer", accesslog.Truncated: "truncated", accesslog.Cut: "cut",
		accesslog.Cut | accesslog.Own | accesslog.Logged | accesslog.Retried: "retried,own-answer,cut",
	} {
		if got := flags.String(); got != want {
			t.Errorf("%b: %q, want %q", flags, got, want)
		}
	}
	both := accesslog.Retried | accesslog.Cut
	if !both.Has(accesslog.Cut) || !both.Has(both) || accesslog.Cut.Has(both) {
		t.Error("flags are not all that are set")
	}
	for i, want := range []string{"", "HTTP/1.0", "HTTP/1.1", "HTTP/2.0", "TCP", "UDP", "DNS/UDP", "DNS/TCP", "DNS/TLS", "DNS/HTTPS", ""} {
		if got := accesslog.Proto(i).String(); got != want {
			t.Errorf("protocol %d is %q, want %q", i, got, want)
		}
	}
	for i, want := range []string{"", "algorithm", "session", "cookie", "pin", "attempt", "", ""} {
		if got := accesslog.Why(i).String(); got != want {
			t.Errorf("way %d is %q, want %q", i, got, want)
		}
	}
}
