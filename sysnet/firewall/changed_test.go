package firewall_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/firewall"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

func TestForeignFirewallChangesAreDetected(t *testing.T) {
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

// Listing legacy tables is bounded in time, whether it fails or another program changes them.
func TestFailedLegacyListingsAreThrottled(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	programs(t)
	path := filepath.Join(t.TempDir(), "lock")
	t.Setenv("XTABLES_LOCKFILE", path)
	for _, program := range []string{"iptables-legacy", "ip6tables-legacy"} {
		sysnettest.Run(t, "", program, "-P", "FORWARD", "DROP")
	}
	lock, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	var f firewall.Firewall
	begin := time.Now()
	for range 10 {
		if f.Changed() {
			break // tables of nf_tables
		}
	}
	if took := time.Since(begin); took > 900*time.Millisecond {
		t.Errorf("with the lock held by another program: %v", took)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if !f.Changed() {
		t.Error("the tables were not listed as soon as the lock was free")
	}
	const version = `[ "$*" != --version ] || { echo 'iptables v1.8.9 (legacy)'; exit; }` + "\n"
	const works, fails = version + `echo "-P FORWARD DROP"`, version + "exit 4"
	f = firewall.Firewall{}
	for _, c := range []struct {
		what, script string
		want         int
	}{
		{"the other table is new", fails, 1},
		{"the table is new", works, 1},
		{"the table cannot be listed any longer", fails, 0},
	} {
		asked := installed(t, map[string]string{"iptables-legacy": c.script, "ip6tables-legacy": works})
		changes, lists := 0, 0
		begin := time.Now()
		for lists < 2 && time.Since(begin) < 20*time.Second || time.Since(begin) < time.Second {
			if f.Changed() {
				changes++
			}
			b, _ := os.ReadFile(asked)
			lists = strings.Count(string(b), "-t filter -S")
			time.Sleep(time.Millisecond)
		}
		if changes != c.want || lists < 2 || lists > 30 {
			t.Errorf("%s: %d changes, want %d; tables were listed %d times in %v", c.what, changes, c.want, lists, time.Since(begin))
		}
	}
}
