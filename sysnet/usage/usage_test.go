package usage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/usage"
)

var files = map[string]string{
	"stat":                                 "cpu  200 20 100 3000 40 10 30 0 0 0\ncpu0 100 10 50 1500 20 5 15 0 0 0\ncpu1 100 10 50 1500 20 5 15 0 0 0\nintr 0\nctxt 1\nbtime 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n",
	"meminfo":                              "MemTotal: 1000 kB\nMemFree: 300 kB\nMemAvailable: 500 kB\nBuffers: 50 kB\nCached: 250 kB\nSwapCached: 5 kB\nSwapTotal: 80 kB\nSwapFree: 60 kB\n",
	"loadavg":                              "0.25 0.50 0.75 1/100 1234\n",
	"net/dev":                              "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    lo:     100       1    0    0    0     0          0         0      200       1    0    0    0     0       0          0\n  eth0:    3000       2    0    0    0     0          0         0     4000       2    0    0    0     0       0          0\n",
	"sys/net/netfilter/nf_conntrack_count": "17\n",
	"sys/net/netfilter/nf_conntrack_max":   "20\n",
	"self/mountinfo":                       "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:5 / /proc rw - proc proc rw\n24 22 7:0 / /usr rw - squashfs /dev/loop0 ro\n25 22 8:1 / /etc rw - ext4 /dev/sda1 rw\n",
}

func procfs(t *testing.T, without string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if name == without {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestTrackedConnectionsAreReadWithTheirBound(t *testing.T) {
	if used, most := usage.Tracked(procfs(t, "")); used != 17 || most != 20 {
		t.Errorf("%d of %d", used, most)
	}
	for _, without := range []string{"sys/net/netfilter/nf_conntrack_count", "sys/net/netfilter/nf_conntrack_max"} {
		if used, most := usage.Tracked(procfs(t, without)); used != 0 || most != 0 {
			t.Errorf("%d of %d", used, most)
		}
	}
}

func TestTheMachineIsRead(t *testing.T) {
	at := time.Unix(1000, 0)
	s := usage.Read(procfs(t, ""), at)
	if !s.At.Equal(at) || s.Cores != 2 || s.CPU != (usage.CPU{User: 2, Nice: .2, System: 1, IOWait: .4, IRQ: .1, SoftIRQ: .3, Idle: 30}) {
		t.Errorf("%d cores, %+v", s.Cores, s.CPU)
	}
	const kB = 1024
	want := usage.Memory{Total: 1000 * kB, Free: 300 * kB, Available: 500 * kB, Buffers: 50 * kB, Cached: 250 * kB, SwapTotal: 80 * kB, SwapFree: 60 * kB, SwapCached: 5 * kB}
	if s.Memory != want || s.Memory.Used() != 400*kB || s.Memory.SwapUsed() != 20*kB {
		t.Errorf("%+v: %d and %d used", s.Memory, s.Memory.Used(), s.Memory.SwapUsed())
	}
	if s.Load != [3]float64{.25, .5, .75} || s.Connections != 17 {
		t.Errorf("load %v, %d connections", s.Load, s.Connections)
	}
	if got := fmt.Sprint(s.Interfaces); got != "[{eth0 3000 4000} {lo 100 200}]" {
		t.Errorf("interfaces %s, want %s", got, "[{eth0 3000 4000} {lo 100 200}]")
	}
	if len(s.Disks) != 1 || s.Disks[0].Mount != "/" || s.Disks[0].Total == 0 || s.Disks[0].Used+s.Disks[0].Free > s.Disks[0].Total {
		t.Errorf("disks %+v", s.Disks)
	}
}

func TestUnreadableSourcesAreOmitted(t *testing.T) {
	for name := range files {
		s := usage.Read(procfs(t, name), time.Now())
		missing := map[string]bool{
			"stat": s.Cores == 0, "meminfo": s.Memory.Total == 0, "loadavg": s.Load[0] == 0, "net/dev": len(s.Interfaces) == 0,
			"self/mountinfo": len(s.Disks) == 0, "sys/net/netfilter/nf_conntrack_count": s.Connections == -1,
		}
		for part, is := range missing {
			if is != (part == name) {
				t.Errorf("without %s, %s missing: %t", name, part, is)
			}
		}
	}
	if s := usage.Read("/none", time.Now()); s.Connections != -1 || s.Cores != 0 {
		t.Errorf("without procfs: %+v", s)
	}
}

func TestThisMachineIsRead(t *testing.T) {
	s := usage.Read("/proc", time.Now())
	if s.Cores == 0 || s.Memory.Total == 0 || s.Memory.Used() == 0 || len(s.Interfaces) == 0 || len(s.Disks) == 0 {
		t.Errorf("%+v", s)
	}
}

func TestSharesOfTheProcessorsAddUp(t *testing.T) {
	before := usage.CPU{User: 10, Nice: 1, System: 5, IOWait: 2, IRQ: 1, SoftIRQ: 1, Steal: 1, Idle: 100}
	now := usage.CPU{User: 14, Nice: 2, System: 7, IOWait: 3, IRQ: 1.5, SoftIRQ: 1.25, Steal: 1.25, Idle: 111}
	got := now.Since(before)
	want := usage.Shares{User: 20, Nice: 5, System: 10, IOWait: 5, IRQ: 2.5, SoftIRQ: 1.25, Idle: 55, Usage: 40}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := now.Since(now); got != (usage.Shares{Idle: 100}) {
		t.Errorf("in no time: %+v", got)
	}
	// The kernel's idle counter may decrease.
	if got := (usage.CPU{User: 20, Idle: 95}).Since(usage.CPU{User: 10, Idle: 100}); got.Idle != 0 || got.Usage != 100 || got.User != 100 {
		t.Errorf("a counter that decreased: %+v", got)
	}
}
