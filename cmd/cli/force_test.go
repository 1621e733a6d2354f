package cli_test

import (
	"strings"
	"testing"
)

func TestAChangeOfASignedZoneIsForced(t *testing.T) {
	a := ready(t)
	for _, command := range []string{
		"zone set names example.com dnssec=off", "zone delete names example.com", "zone key use names example.com 1", "zone key delete names example.com 1",
		"farm delete shop", "rollback 1",
	} {
		r := a.run(append(strings.Fields(command), "--force", "--show-api")...)
		if r.code != 0 || !strings.Contains(r.stdout, "force=true") {
			t.Errorf("%s: %+v", command, r)
		}
		if r := a.run(append(strings.Fields(command), "--show-api")...); strings.Contains(r.stdout, "force") {
			t.Errorf("%s without --force: %+v", command, r)
		}
	}
}
