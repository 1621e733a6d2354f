package firewall_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/firewall"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

func TestChangesOfForeignFirewallsAreNoticed(t *testing.T) {
	t.Parallel()
	if !sysnettest.Inside(t) {
		return
	}
	programs(t)
	var f firewall.Firewall
	f.Changed()
	changed := func(what string, want bool) {
		t.Helper()
		end := time.Now().Add(10 * time.Second) // legacy tables are listed seldom
		if !want {
			end = time.Now().Add(500 * time.Millisecond)
		}
		got := false
		for ; !got && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			got = f.Changed()
		}
		if got != want {
			t.Fatalf("%s: reported as a change %v, want %v", what, got, want)
		}
	}
	run := func(line string) {
		t.Helper()
		words := strings.Fields(line)
		sysnettest.Run(t, "", words[0], words[1:]...)
		changed(line, true)
	}
	changed("nothing", false)
	for _, program := range []string{"iptables-nft", "ip6tables-nft", "iptables-legacy", "ip6tables-legacy"} {
		run(program + " -P FORWARD DROP")
		if _, err := f.Keep(need); err != nil {
			t.Fatal(err)
		}
		changed(program+": our own rule", true)
		for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			f.Changed() // Keep has changed tables of the other programs, too
		}
		changed(program+": nothing", false)
		run(program + " -A FORWARD -p tcp --dport 22 -j ACCEPT")
		run(program + " -R FORWARD 2 -p tcp --dport 23 -j ACCEPT")
		sysnettest.Run(t, "", program, "-Z", "FORWARD") // counters change with each packet, too
		changed(program+" -Z", false)
		run(program + " -D FORWARD 1")
		run(program + " -P FORWARD ACCEPT")
		run(program + " -P FORWARD DROP")
		run(program + " -F FORWARD")
		run(program + " -N other")
	}
	const strict = `table inet strict {
		chain forward { type filter hook forward priority 0; policy drop; tcp dport 80 accept; }
	}`
	load := func(what string) {
		t.Helper()
		sysnettest.Run(t, strict, "nft", "-f", "-")
		changed(what, true)
	}
	load("a table")
	sysnettest.Run(t, "delete table inet strict\n"+strict, "nft", "-f", "-")
	changed("the table anew", true)
	run("nft add table inet strict { flags dormant ; }")
	run("nft delete table inet strict")
	for _, line := range []string{
		"add table inet sluice_3", "add chain inet sluice_3 farm1", "add rule inet sluice_3 farm1 drop", "delete table inet sluice_3",
	} {
		sysnettest.Run(t, "", "nft", strings.Fields(line)...)
		changed(line, false)
	}
}
