package farms

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// FuzzQuestions reads arbitrary texts as questions of all profiles. None may panic, and
// every rejection must be a client error.
func FuzzQuestions(f *testing.F) {
	f.Add("/x", "PUT", "A: 1", "192.0.2.7", "", "", "a.test")
	f.Add("", "", "", "192.0.2.7:99", "192.0.2.10:53", "udp", "")
	f.Add("http://a.test/\x00", " ", ":", "::1%eth0", "[::1]:0", "sctp", "\xff")
	f.Fuzz(func(t *testing.T, url, method, header, from, to, protocol, sni string) {
		body := map[string]any{}
		for name, text := range map[string]string{"url": url, "method": method, "from": from, "to": to, "protocol": protocol, "sni": sni} {
			if text != "" {
				body[name] = text
			}
		}
		if header != "" {
			body["headers"] = []any{header}
		}
		for _, p := range farm.Profiles() {
			if _, err := profileNamed(p).question(body); err != nil && rest.RejectionOf(err, false).Status != 400 {
				t.Fatalf("%s: refused with %v", p, err)
			}
		}
	})
}
