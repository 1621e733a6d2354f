package arena_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/sluicelb/sluice/bench/arena"
)

func TestPortsAreDifferentFreeAndBelowTheEphemeralOnes(t *testing.T) {
	var p arena.Ports
	seen := map[uint16]bool{}
	for range 20 {
		port, err := p.Take()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] || port < 1024 || port >= 10240 {
			t.Errorf("port %d", port)
		}
		seen[port] = true
	}
}

func TestTakenPortIsSkipped(t *testing.T) {
	var first arena.Ports
	if _, err := first.Take(); err != nil {
		t.Fatal(err)
	}
	second := first // both return the same next port
	port, err := first.Take()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(int(port)))
	if err != nil {
		t.Skip("someone was faster:", err)
	}
	defer l.Close()
	got, err := second.Take()
	if err != nil || got == port {
		t.Errorf("port %d was handed out again, %v", got, err)
	}
}
