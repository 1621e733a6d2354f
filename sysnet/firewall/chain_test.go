package firewall

import (
	"os"
	"strings"
	"testing"
)

// reading returns a reader of the output of iptables-save.
func reading(rules string) reader {
	return func(name string) (chain, error) {
		var lines []string
		for _, l := range strings.Split(rules, "\n") {
			if policy, ok := strings.CutPrefix(l, ":"+name+" "); ok {
				lines = append(lines, "-P "+name+" "+strings.Fields(policy)[0])
			}
			if strings.HasPrefix(l, "-A "+name+" ") {
				lines = append(lines, l)
			}
		}
		return parseChain(lines), nil
	}
}

func file(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const head = ":FORWARD ACCEPT [0:0]\n"

func TestRulesPrecedeCatchAllVerdicts(t *testing.T) {
	for _, c := range []struct {
		name, rules string
		want        position
	}{
		{"nothing", head, position{chain: forward}},
		{"one source refused", head + "-A FORWARD -s 203.0.113.1/32 -j DROP", position{chain: forward, before: 1}},
		{"one that only counts", head + "-A FORWARD -p tcp\n-A FORWARD -i eth0\n-A FORWARD -m comment --comment\n-A FORWARD -j", position{chain: forward}},
		{"dropping policy", ":FORWARD DROP [0:0]\n-A FORWARD -s 203.0.113.1/32 -j DROP", position{true, forward, 1}},
		{"last word rejects", head + "-A FORWARD -p icmp -j ACCEPT\n-A FORWARD -j REJECT --reject-with icmp-host-prohibited\n-A FORWARD -p udp -j ACCEPT", position{true, forward, 1}},
		{"all accepted first", head + "-A FORWARD -j ACCEPT\n-A FORWARD -j DROP", position{chain: forward}},
		{"one zone accepted first", head + "-A FORWARD -i eth0 -j ACCEPT\n-A FORWARD -j DROP", position{true, forward, 1}},
		{"zones", ":FORWARD DROP [0:0]\n-A FORWARD -s 192.0.2.1 -j DROP\n-A FORWARD -i eth0 -j net_fwd\n-A net_fwd -o eth1 -j net2loc\n-A net2loc -p tcp -j ACCEPT\n-A net2loc -j DROP", position{true, forward, 1}},
		{"a chain that returns", head + "-A FORWARD -j x\n-A x -j RETURN\n-A x -j DROP", position{chain: forward, before: 1}},
		{"a chain of one protocol", head + "-A FORWARD -p tcp -j x\n-A x -j DROP", position{chain: forward, before: 1}},
		{"ours are not counted", ":FORWARD DROP [0:0]\n-A FORWARD -m comment --comment sluice-farms -j ACCEPT\n-A FORWARD -s 192.0.2.1 -j DROP", position{true, forward, 1}},
		{"a comment that names ours", ":FORWARD DROP [0:0]\n-A FORWARD -m comment --comment \"not sluice-farms\" -j ACCEPT", position{chain: forward}},
		{"docker", file(t, "docker.rules"), position{true, dockerUser, 1}},
		{"docker behind a drop", head + "-A FORWARD -j DROP\n-A FORWARD -j DOCKER-USER", position{true, forward, 0}},
		{"ufw", file(t, "ufw.rules"), position{true, forward, 3}},
	} {
		got, err := find(reading(c.rules))
		if err == nil && !got.needed {
			got, c.want = position{}, position{needed: c.want.needed} // chain and before are not valid
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

func FuzzParseChain(f *testing.F) {
	f.Add("-P FORWARD DROP\n-A FORWARD -i eth0 ! -o eth1 -m comment --comment \"a \\\"b\\\" \\\\\" -j x\n-A FORWARD -g y")
	f.Add("-A FORWARD -m comment --comment sluice-farms -j ACCEPT\n-A x")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		c := parseChain(lines)
		if len(c.rules) > len(lines) {
			t.Errorf("%d rules in %d lines", len(c.rules), len(lines))
		}
		// Every chain is this one: following endless jumps must terminate.
		if _, err := find(func(string) (chain, error) { return c, nil }); err != nil {
			t.Error(err)
		}
	})
}
