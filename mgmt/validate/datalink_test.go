package validate_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// A datalink farm is refused with the statement that it comes later, and with nothing about
// fields that such a farm does not have.
func TestDatalinkComesLater(t *testing.T) {
	create := profile.Named("http").Farm().Create
	for _, word := range []string{"datalink", "DataLink", " datalink "} {
		_, broken := create.DecodeAll("", map[string]any{"farmname": "up", "profile": word, "vip": "192.0.2.1"})
		if len(broken) != 1 || broken[0].Field != "profile" || !strings.Contains(broken[0].Message, "profile datalink is not available in this version; it comes with a later one") {
			t.Errorf("%q: %v", word, broken)
		}
	}
	_, broken := create.DecodeAll("", map[string]any{"farmname": "up", "profile": "data", "vip": "192.0.2.1"})
	if len(broken) != 2 {
		t.Errorf("an unknown one: %v", broken)
	}
}
