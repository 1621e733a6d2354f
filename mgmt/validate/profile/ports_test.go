package profile_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

func TestPortsAreReadAsTheFamilyWritesThem(t *testing.T) {
	for text, want := range map[string]string{
		"80": "80", "*": "*", " * ": "*", "80,443,8000:8010": "80,443,8000:8010", "443, 80": "80,443", "1:65535": "1:65535", "7:7": "7",
		"8000:8010,80": "80,8000:8010", "080": "80", "80,81": "80,81",
	} {
		ports, err := profile.ParsePorts(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := (&farm.L4{Ports: ports}).PortsText(); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestInvalidPortsAreRefusedWithTheReason(t *testing.T) {
	for text, want := range map[string]string{
		"": "a port is missing", "80,": "a port is missing", ":80": "a port is missing", "80:": "a port is missing", "0": "port 0 is not from 1 to 65535",
		"65536": "port 65536 is not from", "-1": "port -1 is not from", "80-90": `"80-90" is no port; a range is written as 8000:8010`, "http": `"http" is no port`,
		"90:80": `the range "90:80" ends before it begins`, "80,80": "port 80 is in 80 and in 80", "80:90,85": "port 85 is in 80:90 and in 85",
		"*,80": "* means all ports and stands alone", "80:*": "stands alone", "+80": `"+80" is no port`, "1:2:3": `"2:3" is no port`, "8 0": `"8 0" is no port`,
		strings.Repeat("1,", 64) + "1": "it lists 65 ports and ranges, at most 64 are possible", strings.Repeat(" ", 900): "it has 900 bytes",
	} {
		if _, err := profile.ParsePorts(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// FuzzPorts checks that parsed ports have an equivalent text, ascending disjoint ranges,
// and only ports from the input.
func FuzzPorts(f *testing.F) {
	for _, seed := range []string{"80", "*", "80,443,8000:8010", " 1 : 2 ", "1:65535", "65535,1", "0", "+1", "1:2:3", "80-90", ",", "*,1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ports, err := profile.ParsePorts(text)
		if err != nil {
			return
		}
		l := farm.L4{Ports: ports}
		again, err := profile.ParsePorts(l.PortsText())
		if err != nil || (&farm.L4{Ports: again}).PortsText() != l.PortsText() {
			t.Fatalf("%q became %q, which is read as %v, %v", text, l.PortsText(), again, err)
		}
		last := 0
		for _, p := range ports {
			if int(p.First) <= last || p.Last < p.First {
				t.Fatalf("%q: %v are not ascending", text, ports)
			}
			last = int(p.Last)
		}
		if len(ports) == 0 && strings.TrimSpace(text) != "*" {
			t.Fatalf("%q means all ports", text)
		}
	})
}
