package measure

import (
	"testing"
	"time"
)

func TestSchedstatGivesTheTimeThatRan(t *testing.T) {
	got, err := parseSchedstat("90062512 9981332 357\n")
	if err != nil || got != 90062512 {
		t.Errorf("got %v, %v, want 90062512", got, err)
	}
	for _, bad := range []string{"", "1 2", "x 2 3", "1 2 3 4"} {
		if _, err := parseSchedstat(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

const statTail = " S 17 42 42 0 -1 4194560 100 0 0 0 131 301 5 6 20 0 4 0 98765 1000 200 18446744073709551615\n"

func TestStatSurvivesAnyCommandName(t *testing.T) {
	for _, name := range []string{"(nginx)", "(a b)", "(evil) R 1 2 3)", "(()"} {
		s, err := parseStat("42 " + name + statTail)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s.parent != 17 || s.start != 98765 || s.user != 1310*time.Millisecond || s.system != 3010*time.Millisecond {
			t.Errorf("%s: %+v", name, s)
		}
	}
	for _, bad := range []string{"", "42 nginx S 1", "42 (x) S 1 2", "42 (x) S y 42 42 0 -1 4194560 100 0 0 0 1 1 5 6 20 0 4 0 9 1 2"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestBusyTimeCountsEverythingButIdling(t *testing.T) {
	got, err := parseBusyStat("cpu  100 20 30 9000 800 5 6 7 50 0\ncpu0 1 1 1 1\n")
	if err != nil || got != (100+20+30+5+6+7)*10*time.Millisecond {
		t.Errorf("stat: %v, %v", got, err)
	}
	got, err = parseBusySched("version 16\ntimestamp 1\ncpu0 0 0 0 0 0 0 1000 5 6\ndomain0 3 1 2 3 4 5 6 7 8\ncpu1 0 0 0 0 0 0 234 5 6\n")
	if err != nil || got != 1234 {
		t.Errorf("schedstat: got %v, %v, want 1234", got, err)
	}
	if _, err := parseBusySched("version 16\n"); err == nil {
		t.Error("schedstat without a processor was accepted")
	}
	if _, err := parseBusyStat("intr 5\n"); err == nil {
		t.Error("stat without the cpu line was accepted")
	}
}

func TestPssIsReadInBytes(t *testing.T) {
	got, err := parsePss("55d0-7ffe ---p 00000000 00:00 0 [rollup]\nRss:  900 kB\nPss:                 512 kB\nPss_Dirty: 9 kB\n")
	if err != nil || got != 512*1024 {
		t.Errorf("%d, %v", got, err)
	}
	if _, err := parsePss("Rss: 5 kB\n"); err == nil {
		t.Error("a text without Pss was accepted")
	}
}

const procNetTCP = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0
   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1 0 100 0 0 10 0
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 333 1 0 100 0 0 10 0
   3: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 444 1 0 100 0 0 10 0
`

func TestListenersAndConnectionsAreDistinguished(t *testing.T) {
	ports := map[uint16][]uint64{}
	if err := parseListening(procNetTCP, ports); err != nil {
		t.Fatal(err)
	}
	if len(ports) != 1 || len(ports[8080]) != 2 || ports[8080][0] != 111 || ports[8080][1] != 222 {
		t.Errorf("%v", ports)
	}
	if n := parseEstablished(procNetTCP, 8080); n != 1 {
		t.Errorf("%d connections on the port", n)
	}
}

func TestAccountingsAgreeWithinTheirResolution(t *testing.T) {
	for _, c := range []struct {
		sched, stat time.Duration
		want        bool
	}{
		{time.Second, time.Second, true},
		{time.Second, 970 * time.Millisecond, true},
		{time.Second, 900 * time.Millisecond, false},
		{15 * time.Millisecond, 0, true},
	} {
		if got := (CPU{Sched: c.sched, User: c.stat}).Agrees(1); got != c.want {
			t.Errorf("%s and %s: got %v, want %v", c.sched, c.stat, got, c.want)
		}
	}
}
