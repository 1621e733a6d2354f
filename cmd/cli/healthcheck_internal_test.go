package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
)

func TestTheUsersOfACheckFitIntoItsLine(t *testing.T) {
	for users, want := range map[string]string{"": "", "a": "a", "a b c": "a b c", "a b c d": "a b c and 1 more", "a b c d e": "a b c and 2 more"} {
		if got := someOf(strings.Fields(users)); got != want {
			t.Errorf("%q: %q, want %q", users, got, want)
		}
	}
}

// Each address of a name is shown with its own results.
func TestTheHealthOfANameListsItsAddresses(t *testing.T) {
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	one := func(address, status, reason, result string) string {
		return `{"address":"` + address + `","port":80,"status":"` + status + `","reason":"` + reason + `","probes":{"check":"alive","verdict":"` + status + `","results":[` + result + `]}}`
	}
	raw := `{"params":{"status":"up","reason":"1 of the 2 addresses of pool.example are used, see addresses","addresses":[` +
		one("10.0.0.1", "up", "check alive succeeds", `{"at":"2026-01-02T03:04:05Z","healthy":"true","took":1.5}`) + "," +
		one("fd00::2", "down", "check alive fails", `{"at":"2026-01-02T03:04:05Z","healthy":"false","took":2,"reason":"connect: refused"}`) + `]}}`
	c := &command.Line{Color: "never"}
	if err := printHealth(c, cmd, client.Response{Body: []byte(raw)}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"up: 1 of the 2 addresses", "10.0.0.1:80 up: check alive succeeds", "[fd00::2]:80 down: check alive fails", "connect: refused", "healthy"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not shown:\n%s", want, out.String())
		}
	}
}
